"""Corrupted files and messages raise the expected class, code, message, path and offset."""

import shutil
import struct
import zlib
from pathlib import Path

import pytest

from headrace.formats import errors
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.event_file import read_events
from headrace.formats.masked_crc import masked_crc32c
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.record_file import TornRecordError, read_records
from headrace.formats.sorted_table import TableReader
from headrace.formats.tensor_codec import make_ndarray, make_shape_proto

GOLDEN = Path(__file__).parent / "golden"
EVENTS = "events/events.out.tfevents.1700000000.golden"
EVENTS_SIZE = (GOLDEN / EVENTS).stat().st_size
DATA = "model.ckpt-7.data-00000-of-00001"
LENGTH = struct.pack("<Q", 2**40)


def cut(count):
    return lambda data: data[:count]


def flip(offset, bit=0):
    return lambda data: data[:offset] + bytes((data[offset] ^ 1 << bit,)) + data[offset + 1 :]


def hostile_length(data):
    return LENGTH + struct.pack("<I", masked_crc32c(LENGTH)) + data


def records(path):
    return list(read_records(path))


def zipped(path):
    return list(read_records(path, "ZLIB"))


def events(path):
    return list(read_events(path))


def checkpoint(path):
    with BundleReader(str(path).rsplit(".", 1)[0]) as reader:
        return [reader.read(name) for name in reader]


LOSS, TORN = errors.DataLossError, TornRecordError
# file, corruption, reader, class, text, offset
FILES = [
    ("records.tfrecord", cut(5), records, TORN, "truncated record at byte 0: its header", 0),
    (
        "records.tfrecord",
        cut(40),
        records,
        TORN,
        "truncated record at byte 0: its 55 bytes of data",
        0,
    ),
    ("records.tfrecord", cut(80), records, TORN, "truncated record at byte 71: its header", 71),
    ("records.tfrecord", cut(246), records, TORN, "truncated record at byte 231: its 0 bytes", 231),
    ("records.tfrecord", flip(0), records, LOSS, "corrupted record at byte 0: length has CRC", 0),
    ("records.tfrecord", flip(9), records, LOSS, "corrupted record at byte 0: length has CRC", 0),
    ("records.tfrecord", flip(100), records, LOSS, "corrupted record at byte 71: data has CRC", 71),
    ("records.tfrecord", hostile_length, records, LOSS, "length is 1099511627776, above", 0),
    ("records.tfrecord", lambda data: bytes(64), records, LOSS, "length has CRC", 0),
    ("records.gz", lambda data: data, records, LOSS, 'open it with compression="GZIP"', 0),
    ("records.zlib", flip(40), zipped, LOSS, "corrupted", None),
    (
        "records.zlib",
        lambda data: zlib.compress(b"abc"),
        zipped,
        TORN,
        "truncated record at byte 0",
        0,
    ),
    (EVENTS, flip(20), events, LOSS, "corrupted record at byte 0: data has CRC", 0),
    (EVENTS, flip(3), events, LOSS, "corrupted record at byte 0: length has CRC", 0),
    (EVENTS, lambda data: data + data[:11] + b"x", events, LOSS, "length has CRC", EVENTS_SIZE),
    ("model.ckpt-7.index", cut(0), checkpoint, LOSS, "0 bytes are too few for a table", 0),
    ("model.ckpt-7.index", cut(200), checkpoint, LOSS, "a table in 0xdb4775248b80fb57", 152),
    ("model.ckpt-7.index", flip(10), checkpoint, LOSS, "at byte 0: the block has CRC", 0),
    ("model.ckpt-7.index", flip(270), checkpoint, LOSS, "at byte 226: ends in", 226),
    (DATA, cut(0), checkpoint, LOSS, "'global_step' occupies bytes 0 to 8 of 0", 0),
    (DATA, cut(10), checkpoint, LOSS, "'layer/bias' occupies bytes 8 to 28 of 10", 8),
    (DATA, flip(0), checkpoint, LOSS, "at byte 0: 'global_step' has CRC", 0),
    (DATA, flip(11), checkpoint, LOSS, "at byte 8: 'layer/bias' has CRC", 8),
    (DATA, flip(87), checkpoint, LOSS, "at byte 64: 'layer/weights' has CRC", 64),
]


@pytest.mark.parametrize(("name", "corrupt", "read", "kind", "text", "offset"), FILES)
def test_corrupted_file_raises_data_loss_error_with_path_and_offset(
    tmp_path, name, corrupt, read, kind, text, offset
):
    for part in GOLDEN.glob("model.ckpt-7.*"):
        shutil.copy(part, tmp_path)
    path = tmp_path / Path(name).name
    path.write_bytes(corrupt((GOLDEN / name).read_bytes()))
    with pytest.raises(errors.DataLossError) as raised:
        read(path)
    error = raised.value
    assert type(error) is kind
    assert error.code == errors.DATA_LOSS
    assert text in error.message and str(path) in error.message
    assert error.path == str(path)
    assert error.offset == offset if offset is not None else error.offset >= 0


def test_missing_file_raises_not_found_error(tmp_path):
    for read in (records, events, checkpoint):
        with pytest.raises(errors.NotFoundError) as raised:
            read(tmp_path / "none.index")
        assert raised.value.code == errors.NOT_FOUND


def test_missing_shard_raises_data_loss_error(tmp_path):
    shutil.copy(GOLDEN / "model.ckpt-7.index", tmp_path)
    with pytest.raises(errors.DataLossError, match="the shard that holds 'global_step' is missing"):
        checkpoint(tmp_path / "model.ckpt-7.index")


TENSORS = [
    (dict(dtype=1, shape=[2**62, 2**62]), "too many elements"),
    (dict(dtype=1, shape=[-5]), "dimension 0 of shape [-5] is negative"),
    (dict(dtype=1, shape=[2**33], float_val=[0]), "more than the 2147483647 allowed"),
    (dict(dtype=3, shape=[3], tensor_content=b"12345678"), "takes 12"),
    (dict(dtype=1, shape=[1], float_val=[1, 2]), "holds 2 values but shape [1] takes 1"),
    (dict(dtype=200, shape=[]), "dtype 200 is unknown"),
]


@pytest.mark.parametrize(("fields", "text"), TENSORS)
def test_invalid_tensor_proto_raises_invalid_argument_error(fields, text):
    shape = make_shape_proto(fields.pop("shape"))
    with pytest.raises(errors.InvalidArgumentError) as raised:
        make_ndarray(TensorProto(tensor_shape=shape, **fields))
    assert raised.value.code == errors.INVALID_ARGUMENT and text in raised.value.message


def test_every_flipped_bit_of_the_golden_checkpoint_is_detected_or_harmless(tmp_path):
    """A flip raises DataLossError, or it is in unused bytes and all values are correct."""
    index, data = "model.ckpt-7.index", DATA
    whole = {name: (GOLDEN / name).read_bytes() for name in (index, data)}
    for name, content in whole.items():
        (tmp_path / name).write_bytes(content)
    right = [a.tobytes() for a in checkpoint(tmp_path / index)]
    for name, content in whole.items():
        unread = 0
        for position in range(len(content)):
            (tmp_path / name).write_bytes(flip(position, position % 8)(content))
            try:
                assert [a.tobytes() for a in checkpoint(tmp_path / index)] == right
                unread += 1
            except errors.DataLossError as error:
                assert error.offset is not None and error.path.startswith(str(tmp_path))
        # the empty metaindex block, its handle, and the padding of footer and shard
        assert unread < 60
        (tmp_path / name).write_bytes(content)
    assert dict(TableReader.open(tmp_path / index).items())
