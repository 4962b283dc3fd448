"""TensorFlow reads Headrace's tensors, records and events, and the other way round."""

import ml_dtypes
import numpy as np
import pytest

from headrace.formats import dtypes, errors
from headrace.formats.event_file import EventFileWriter, read_events
from headrace.formats.ordered_code import encode_slice_key
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.record_file import RecordWriter, read_records
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

pytestmark = pytest.mark.peer


def test_dtypes_equal_tensorflow(tf):
    for number in range(1, 34):
        ours = dtypes.as_dtype(number)
        if ours.name in ("resource", "variant"):
            continue
        theirs = tf.as_dtype(number)
        assert ours.name == theirs.name
        assert (ours.size, ours.is_floating, ours.is_integer) == (
            theirs.size,
            theirs.is_floating,
            theirs.is_integer,
        )
        assert (ours.is_complex, ours.is_bool, ours.is_quantized, ours.is_unsigned) == (
            theirs.is_complex,
            theirs.is_bool,
            theirs.is_quantized,
            theirs.is_unsigned,
        )
        if ours.is_floating or ours.is_integer:
            assert (float(ours.min), float(ours.max)) == (float(theirs.min), float(theirs.max))
        assert np.dtype(ours.as_numpy_dtype) == np.dtype(theirs.as_numpy_dtype)
        if number <= 23 and (ours.is_integer or ours.is_bool):
            assert ours.limits == theirs.limits


# TensorFlow's Python API can neither encode nor decode these.
FEW_READERS = {"float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"}


def same(got, array):
    got = np.asarray(got)
    assert (got.dtype, got.shape, got.tolist()) == (array.dtype, array.shape, array.tolist())


def arrays():
    rng = np.random.default_rng(0)
    for number in range(1, 29):
        dtype = dtypes.as_dtype(number)
        if not dtype.size or dtype.is_quantized:
            continue
        for shape in ((), (1,), (3, 2), (0, 2), (100,)):
            for values in (rng.integers(0, 2, shape), np.ones(shape)):
                yield np.asarray(values).astype(dtype.as_numpy_dtype)


def test_tensorflow_decodes_headrace_tensors(tf):
    from tensorflow.core.framework.tensor_pb2 import TensorProto as Theirs

    for array in arrays():
        if array.dtype.name in FEW_READERS:
            continue
        proto = Theirs.FromString(make_tensor_proto(array).SerializeToString())
        same(tf.make_ndarray(proto), array)
        same(tf.io.parse_tensor(proto.SerializeToString(), proto.dtype).numpy(), array)
    strings = Theirs.FromString(make_tensor_proto([["a", b"\xff"]] * 3).SerializeToString())
    assert tf.make_ndarray(strings).tolist() == [[b"a", b"\xff"]] * 3


def test_headrace_decodes_tensorflow_tensors(tf):
    for array in arrays():
        if array.dtype.name in FEW_READERS:
            continue
        encoded = [tf.make_tensor_proto(array).SerializeToString()]
        if not array.dtype.name.startswith("float8"):
            encoded.append(tf.io.serialize_tensor(tf.constant(array)).numpy())
        for data in encoded:
            same(make_ndarray(TensorProto.FromString(data)), array)


PYTHON_VALUES = [
    1, 1.5, True, "a", 1j, [1, 2], [[1.5]], [], np.float64(1), np.arange(3), [np.float64(1)],
    np.array(["x"]), [True], (1, 2.5), np.float32([1]), 2**40, [np.int64(1), 2],
    [True, 1], [np.int8(1)], [np.float16(1)], [2**40], [2, np.float64(1)],
]  # fmt: skip


def test_inferred_dtypes_equal_tensorflow(tf):
    for values in PYTHON_VALUES:
        assert make_tensor_proto(values).dtype == tf.make_tensor_proto(values).dtype, values


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_are_readable_both_ways(tf, tmp_path, compression):
    records = [b"a", b"", b"x" * 100000]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with RecordWriter(ours, compression) as writer:
        for record in records:
            writer.write(record)
    with tf.io.TFRecordWriter(theirs, tf.io.TFRecordOptions(compression)) as writer:
        for record in records:
            writer.write(record)
    dataset = tf.data.TFRecordDataset(ours, compression_type=compression)
    assert [r.numpy() for r in dataset] == records
    assert list(read_records(theirs, compression)) == records


def test_events_are_readable_both_ways(tf, tmp_path):
    event = Event(wall_time=1.5, step=3)
    event.summary.value.add(tag="loss", simple_value=0.25)
    with EventFileWriter(tmp_path / "ours") as writer:
        writer.write(event)
    first, second = tf.compat.v1.train.summary_iterator(writer.path)
    assert first.file_version == "brain.Event:2"
    assert (second.step, second.summary.value[0].simple_value) == (3, 0.25)
    with tf.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter(str(tmp_path / "theirs"))
        summary = tf.compat.v1.Summary()
        summary.value.add(tag="a", simple_value=2.0)
        writer.add_summary(summary, 5)
        writer.close()
    (path,) = (tmp_path / "theirs").iterdir()
    _, event = read_events(path)
    assert event.step == 5 and event.summary.value[0].simple_value == 2.0


def test_error_classes_have_the_codes_of_tensorflow(tf):
    for code in range(1, 17):
        theirs = tf.compat.v1.errors.exception_type_from_error_code(code)
        assert errors.exception_type_from_error_code(code).__name__ == theirs.__name__


def test_slice_keys_equal_tensorflow_for_any_extent(tf, tmp_path):
    from headrace.formats.sorted_table import TableReader

    sizes = [2, 63, 64, 65, 127, 128, 8191, 8192, 8193, 2**20, 2**27]
    for i, size in enumerate(sizes):
        prefix = str(tmp_path / str(i))
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=["a\xffé"],
            shape_and_slices=[f"{size + 1} 1 {size},1:-"],
            tensors=[tf.zeros((1, 1))],
        )
        keys = dict(TableReader.open(prefix + ".index").items())
        assert encode_slice_key("a\xffé", [(size, 1), (0, -1)]) in keys


def test_half_precision_lists_decode(tf):
    proto = tf.make_tensor_proto(np.array([1.5], ml_dtypes.bfloat16))
    assert proto.half_val and make_ndarray(proto).tolist() == [1.5]
