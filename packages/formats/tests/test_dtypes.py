import pickle

import ml_dtypes
import numpy as np
import pytest

from headrace.formats import dtypes

ALL = [dtypes.as_dtype(n) for n in range(1, 34)]


def test_numbers_equal_the_datatype_enum():
    assert [d.as_datatype_enum for d in ALL] == list(range(1, 34))
    assert dtypes.float32.as_datatype_enum == 1
    assert dtypes.half.as_datatype_enum == 19
    assert dtypes.uint64.as_datatype_enum == 23
    assert dtypes.float8_e4m3fn.as_datatype_enum == 25


def test_reference_dtype_is_its_base_plus_100():
    for d in ALL:
        assert d._ref.as_datatype_enum == d.as_datatype_enum + 100
        assert d._ref.is_ref_dtype and not d.is_ref_dtype
        assert d._ref.base_dtype is d and d.base_dtype is d
        assert d._ref._ref is d._ref
        assert d._ref != d
    assert dtypes.float32_ref is dtypes.as_dtype(101) is dtypes.as_dtype("float_ref")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (float, "float32"),
        (int, "int64"),
        (bool, "bool"),
        (str, "string"),
        (bytes, "string"),
        (object, "string"),
        (np.float32, "float32"),
        (np.dtype(">i4"), "int32"),
        (np.longlong, "int64"),
        (np.dtype("S7"), "string"),
        (np.dtype("U7"), "string"),
        (np.zeros(2, np.uint16), "uint16"),
        (np.array(["a"]), "string"),
        ("half", "float16"),
        ("double", "float64"),
        (3, "int32"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.dtype(ml_dtypes.float8_e5m2), "float8_e5m2"),
        (np.dtype([("qint8", np.int8)]), "qint8"),
    ],
)
def test_as_dtype_accepts_the_same_values_as_tensorflow(value, name):
    assert dtypes.as_dtype(value).name == name


@pytest.mark.parametrize("value", [0, 34, 200, "float33", None, "", [1], {}, np.datetime64, "S3"])
def test_as_dtype_rejects_other_values(value):
    with pytest.raises(TypeError, match="cannot convert"):
        dtypes.as_dtype(value)


def test_dtype_equals_its_numpy_type_and_name():
    assert dtypes.float32 == np.float32
    assert dtypes.float32 == "float32"
    assert dtypes.float32 == np.dtype("f4")
    assert dtypes.float32 != dtypes.float64
    assert dtypes.float32 != "no such"
    assert dtypes.float32.__eq__(None) is False
    assert {dtypes.int32: 1}[dtypes.as_dtype(np.int32)] == 1


def test_size_equals_the_item_size_of_the_numpy_type():
    for d in ALL:
        if d in (dtypes.string, dtypes.resource, dtypes.variant):
            assert d.as_numpy_dtype is np.object_ and d.size == 0
        else:
            assert np.dtype(d.as_numpy_dtype).itemsize == d.size


def test_min_max_and_limits():
    assert (dtypes.int8.min, dtypes.int8.max) == (-128, 127)
    assert dtypes.float32.max == np.finfo(np.float32).max
    assert float(dtypes.bfloat16.max) == 3.3895313892515355e38
    assert float(dtypes.float8_e4m3fn.max) == 448
    assert dtypes.uint4.max == 15
    assert dtypes.uint8.limits == (0, 255)
    assert dtypes.int16.limits == (0, 32767)
    assert dtypes.float64.limits == (0, 1)
    with pytest.raises(TypeError, match="string has no minimum"):
        _ = dtypes.string.min


def test_kind_flags():
    def names(kind):
        return {d.name for d in ALL if getattr(d, kind)}

    assert names("is_complex") == {"complex64", "complex128"}
    assert names("is_bool") == {"bool"}
    assert names("is_quantized") == {"qint8", "quint8", "qint16", "quint16", "qint32"}
    assert {"bfloat16", "float16", "float32", "float64", "float8_e5m2"} <= names("is_floating")
    assert {"int4", "uint4", "int8", "uint64"} <= names("is_integer")
    assert names("is_unsigned") == {"uint2", "uint4", "uint8", "uint16", "uint32", "uint64"}


def test_unpickled_dtypes_are_the_same_objects():
    for d in ALL:
        assert pickle.loads(pickle.dumps(d)) is d
        assert pickle.loads(pickle.dumps(d._ref)) is d._ref


def test_datatype_name_returns_the_enum_name():
    assert dtypes.datatype_name(dtypes.half) == "DT_HALF"
    assert dtypes.datatype_name(dtypes.float32_ref) == "DT_FLOAT_REF"
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128._ref.real_dtype is dtypes.float64_ref
    assert dtypes.float32.is_compatible_with(dtypes.float32_ref)
    assert not dtypes.float32_ref.is_compatible_with(dtypes.float32)
