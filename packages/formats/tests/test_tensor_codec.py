import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headrace.formats import dtypes, errors, tensor_codec
from headrace.formats.proto.tensor_pb2 import (
    ResourceHandleProto,
    TensorProto,
    TensorShapeProto,
    VariantTensorDataProto,
)
from headrace.formats.tensor_codec import (
    make_ndarray,
    make_shape_proto,
    make_tensor_proto,
    shape_from_proto,
)

NUMERIC = [
    d for d in (dtypes.as_dtype(n) for n in range(1, 34)) if d.size and d.name != "float4_e2m1fn"
]


def bits(array):
    return (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 0, 3), (2, 3), (65, 130)])
def test_every_numeric_dtype_round_trips_in_both_encodings(dtype, shape):
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 2 if dtype.is_bool or "2" in dtype.name[-1] else 3, shape)
    target = np.dtype(dtype.as_numpy_dtype)
    array = np.asarray(raw.astype(target[0]).view(target) if target.names else raw.astype(target))
    proto = make_tensor_proto(array)
    assert proto.dtype == dtype.as_datatype_enum
    assert bits(make_ndarray(proto)) == bits(array)
    one = np.full(shape, array.flat[0] if array.size else 0, target)
    assert bits(make_ndarray(make_tensor_proto(one))) == bits(one)
    copy = TensorProto.FromString(proto.SerializeToString())
    assert bits(make_ndarray(copy)) == bits(array)


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from(
            [np.float32, np.float64, np.float16, np.complex64, np.complex128, np.bool_, np.int8,
             np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
        ),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6),
    )
)  # fmt: skip
def test_arbitrary_arrays_round_trip_bit_by_bit(array):
    assert bits(make_ndarray(make_tensor_proto(array))) == bits(array)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.binary(max_size=8), max_size=30))
def test_strings_round_trip(strings):
    array = np.empty(len(strings), object)
    array[:] = strings
    back = make_ndarray(make_tensor_proto(array, dtype="string"))
    assert back.tolist() == strings and back.dtype == object


def test_python_scalars_encode_like_numpy_scalars():
    for value in (0, 1, -1, 1.5, -0.0, float("nan"), float("inf"), 3.4e38, 1e-50, True, 2**24 + 1):
        for dtype in ("float32", "float64", "int32", "int64", "bool", "half", "complex64"):
            try:
                proto = make_tensor_proto(value, dtype)
            except TypeError:
                with pytest.raises(TypeError):
                    make_tensor_proto([value], dtype)
                continue
            (same,) = make_ndarray(make_tensor_proto([value], dtype)).reshape(1, 1)
            assert bits(make_ndarray(proto)) == bits(same.reshape(()))


def test_str_and_bytes_can_be_mixed():
    assert make_ndarray(make_tensor_proto(["é", b"\xff"])).tolist() == ["é".encode(), b"\xff"]
    assert make_ndarray(make_tensor_proto(["a", b"b\0"], "string")).tolist() == [b"a", b"b\0"]


def test_special_floats_keep_their_bits():
    array = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf] * 20, np.float32)
    assert bits(make_ndarray(make_tensor_proto(array))) == bits(array)
    zeros = np.zeros(100)
    zeros[:50] = -0.0
    assert bits(make_ndarray(make_tensor_proto(zeros))) == bits(zeros)
    half = np.array(-1.5, ml_dtypes.bfloat16)
    assert make_tensor_proto(half).half_val == [0xBFC0]
    assert bits(make_ndarray(make_tensor_proto(half))) == bits(half)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (1, "int32"),
        (2**40, "int64"),
        (1.5, "float32"),
        (1e300, "float32"),
        (True, "bool"),
        ("a", "string"),
        (b"a", "string"),
        (1j, "complex128"),
        ([1, 2], "int32"),
        ([1, 2.5], "float32"),
        ([], "float32"),
        ([[True], [False]], "bool"),
        (["a", b"b"], "string"),
        (np.float64(1), "float64"),
        (np.arange(3), "int64"),
        ([np.int64(1), np.int64(2)], "int32"),
        ([np.float64(1)], "float32"),
        ([np.int8(1)], "int8"),
        ([True, 1], "int32"),
        ([np.zeros(2)], "float64"),
        (np.array(["x", "yy"]), "string"),
    ],
)
def test_inferred_dtypes_equal_tensorflow(values, dtype):
    with np.errstate(over="ignore"):
        assert dtypes.as_dtype(make_tensor_proto(values).dtype).name == dtype


def test_python_values_take_the_given_dtype():
    for dtype in NUMERIC:
        values = [[True, False]] if dtype.is_bool else [[1, 0]]
        array = make_ndarray(make_tensor_proto(values, dtype))
        assert array.dtype == dtype.as_numpy_dtype and array.shape == (1, 2)
    assert make_ndarray(make_tensor_proto(1, "half")) == np.float16(1)
    assert make_ndarray(make_tensor_proto("é")).item() == "é".encode()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((None,), ValueError, "None has no tensor value"),
        (([[1], [2, 3]],), ValueError, "values do not form a rectangle"),
        ((3.5, "int32"), TypeError, "expected int32, got 3.5 of type 'float'"),
        (("x", "int32"), TypeError, "expected int32, got 'x' of type 'str'"),
        ((1, "string"), TypeError, "expected string, got 1 of type 'int'"),
        ((1, "bool"), TypeError, "expected bool, got 1 of type 'int'"),
        ((1j, "float32"), TypeError, "expected float32, got 1j of type 'complex'"),
        ((300, "uint8"), ValueError, "out of range for uint8"),
        ((2**70, "int64"), ValueError, "out of range for int64"),
        (([1, 2, 3], None, [2]), ValueError, r"shape \[2\] holds 2 values, 3 were given"),
        (([], None, [2]), ValueError, r"shape \[2\] holds 2 values, none were given"),
        (([1], None, [-1]), ValueError, "negative size"),
        (([1, 2], None, [2, 1], True), TypeError, r"expected values of shape \[2, 1\], got \[2\]"),
        ((object(),), TypeError, "no dtype holds values of type 'object'"),
    ],
)
def test_values_that_do_not_fit_raise(arguments, error, text):
    with pytest.raises(error, match=text):
        make_tensor_proto(*arguments)


def test_repeated_last_value_is_stored_once():
    proto = make_tensor_proto(np.zeros((1000, 1000), np.float32))
    assert proto.float_val == [0.0] and not proto.tensor_content
    array = np.full(1000, 7, np.int32)
    array[:3] = [1, 2, 3]
    proto = make_tensor_proto(array)
    assert proto.int_val == [1, 2, 3, 7] and proto.ByteSize() < 20
    assert bits(make_ndarray(proto)) == bits(array)
    assert make_tensor_proto(["a"] * 50).string_val == [b"a"]
    assert make_tensor_proto(5, shape=[2, 3]).int_val == [5]
    assert make_ndarray(make_tensor_proto([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]


def test_large_arrays_use_tensor_content():
    array = np.arange(100000, dtype=np.float32)
    proto = make_tensor_proto(array)
    assert len(proto.tensor_content) == 400000 and not proto.float_val


def test_byte_order_and_strides_do_not_change_the_encoding():
    array = np.arange(12, dtype=">i4").reshape(3, 4).T
    assert make_ndarray(make_tensor_proto(array)).tolist() == array.tolist()


def test_decoded_arrays_are_writable_copies():
    for values in ([1, 2, 3], 5, np.zeros(100), np.zeros(3, ml_dtypes.float8_e5m2)):
        array = make_ndarray(make_tensor_proto(values))
        array[...] = 1
        assert array.flags.writeable


def test_proto_without_values_decodes_to_zeros():
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)])
    assert make_ndarray(TensorProto(dtype=1, tensor_shape=shape)).tolist() == [0, 0]
    assert make_ndarray(TensorProto(dtype=7, tensor_shape=shape)).tolist() == [b"", b""]


def test_handles_and_variants_decode_to_messages():
    handle = ResourceHandleProto(name="v")
    back = make_ndarray(make_tensor_proto(np.array([handle, handle], object), "resource"))
    assert [h.name for h in back] == ["v", "v"]
    variant = VariantTensorDataProto(type_name="t")
    array = np.empty((), object)
    array[()] = variant
    assert make_ndarray(make_tensor_proto(array, "variant")).item().type_name == "t"


def _proto(dtype, dims, **fields):
    return TensorProto(dtype=dtype, tensor_shape=make_shape_proto(dims), **fields)


@pytest.mark.parametrize(
    ("proto", "text"),
    [
        (_proto(0, []), "dtype 0 is unknown"),
        (_proto(99, []), "dtype 99 is unknown"),
        (_proto(1, None), "the shape has unknown rank"),
        (_proto(1, [2, -1]), r"dimension 1 of shape \[2, -1\] is negative"),
        (_proto(1, [2**62, 2**62], float_val=[1]), "too many elements"),
        (_proto(1, [2**62, 0, 2**62]), "too many elements"),
        (_proto(1, [1] * 65, float_val=[1]), "rank 65 is above"),
        (_proto(1, [2**40], float_val=[1]), "would expand 1 values to 4398046511104 bytes"),
        (_proto(7, [2**40], string_val=[b"a"]), "would expand 1 values"),
        (_proto(1, [2**40]), "would expand 0 values"),
        (_proto(1, [2], float_val=[1, 2, 3]), r"holds 3 values but shape \[2\] takes 2"),
        (_proto(1, [0], float_val=[1]), "holds 1 values but"),
        (_proto(8, [2], scomplex_val=[1, 2, 3]), "an odd count for complex64"),
        (_proto(1, [2], tensor_content=b"abc"), "has 3 bytes but shape"),
        (_proto(1, [2**50], tensor_content=b"abcd"), "has 4 bytes but shape"),
        (_proto(7, [1], tensor_content=b"abc"), "tensor_content cannot hold a string tensor"),
        (_proto(20, [1]), "no value for shape"),
    ],
)
def test_invalid_messages_raise_before_allocating(proto, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        make_ndarray(proto)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(-3, 2**62), max_size=4), st.integers(0, 40))
def test_arbitrary_messages_decode_or_raise_invalid_argument_error(data, dims, dtype):
    proto = TensorProto(dtype=dtype, tensor_content=data, tensor_shape=make_shape_proto(dims))
    try:
        assert make_ndarray(proto, max_expanded_bytes=10**6).nbytes <= 10**6
    except errors.InvalidArgumentError:
        pass


def test_shapes_round_trip():
    for shape in (None, (), (2, None, 0)):
        assert shape_from_proto(make_shape_proto(shape)) == shape
    with pytest.raises(errors.InvalidArgumentError, match="dimension 0 of the shape is -2"):
        shape_from_proto(TensorShapeProto(dim=[TensorShapeProto.Dim(size=-2)]))


def test_max_expanded_bytes_raises_the_limit():
    proto = _proto(1, [1000], float_val=[2])
    with pytest.raises(errors.InvalidArgumentError):
        make_ndarray(proto, max_expanded_bytes=100)
    assert make_ndarray(proto).sum() == 2000
    assert tensor_codec.MAX_EXPANDED_BYTES == 2**31 - 1
