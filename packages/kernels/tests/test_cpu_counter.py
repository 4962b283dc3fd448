"""Counting variables, and numbers out of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Variable, run_kernel

from headrace.formats.errors import InvalidArgumentError, OutOfRangeError


@pytest.mark.parametrize("op", ["CountUpTo", "ResourceCountUpTo"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_counter_counts_up_to_its_limit(op, dtype):
    v = Variable(np.array(3, dtype))
    assert [int(run_kernel(op, v, limit=5, T=dtype)) for _ in range(2)] == [3, 4]
    for _ in range(2):
        with pytest.raises(OutOfRangeError, match="^Reached limit of 5$"):
            run_kernel(op, v, limit=5, T=dtype)
    assert v.value == 5


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64", "bool"])
def test_decode_raw_reads_either_order_of_bytes(dtype):
    x = np.arange(12).reshape(2, 2, 3).astype(dtype)
    for little in (True, False):
        ordered = x.astype(x.dtype.newbyteorder("<" if little else ">"))
        texts = np.array([[m.tobytes() for m in row] for row in ordered], object)
        got = run_kernel("DecodeRaw", texts, out_type=dtype, little_endian=little)
        np.testing.assert_array_equal(got, x)


def test_decode_raw_rejects_bytes_that_do_not_fit():
    with pytest.raises(InvalidArgumentError, match="not a multiple of 4"):
        run_kernel("DecodeRaw", np.array([b"abcde"], object), out_type="int32")
    with pytest.raises(InvalidArgumentError, match="element 1 has 2 bytes, element 0 has 1"):
        run_kernel("DecodeRaw", np.array([b"a", b"bc"], object), out_type="uint8")


def test_decode_padded_raw_cuts_and_fills():
    texts = np.array([b"\x01\x00\x02", b"", b"\x01\x00\x02\x00\x03\x00"], object)
    got = run_kernel("DecodePaddedRaw", texts, np.int32(4), out_type="int16")
    np.testing.assert_array_equal(got, [[1, 2], [0, 0], [1, 2]])
