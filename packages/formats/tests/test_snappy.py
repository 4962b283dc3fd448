from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packed import pack

from headrace.formats.snappy import unpack


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x0a\x00a\x15\x01", b"a" * 10),  # a copy that overlaps what it writes
        (b"\x07\x08abc\x0e\x03\x00", b"abcabca"),
        (b"\x06\x08abc\x0b\x03\x00\x00\x00", b"abcabc"),
        (b"\x3d\xf0\x3c" + b"x" * 61, b"x" * 61),
        (b"\x3d\xf4\x3c\x00" + b"x" * 61, b"x" * 61),
    ],
)
def test_elements_of_every_kind_are_unpacked(packed, plain):
    assert unpack(packed) == plain


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x03\x08ab",  # literal bytes are cut off
        b"\x04\x08abc",  # too few bytes
        b"\x02\x08abc",  # too many
        b"\x05\x00a\x01\x00",  # an offset of zero
        b"\x05\x00a\x01\x02",  # an offset before the begin
        b"\x05\x00a\x02\x01",  # an offset is cut off
        b"\x05\xfc\x01",  # a length is cut off
        b"\xff\xff\xff\x7f\x00a",  # an impossible size
    ],
)
def test_corrupted_data_is_rejected(packed):
    with pytest.raises(ValueError, match="."):
        unpack(packed)


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(1, 40))
def test_what_is_packed_is_unpacked(pieces, times):
    data = b"".join(piece * times for piece in pieces)
    assert unpack(pack(data)) == data


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_unpacked_or_rejected(data):
    try:
        assert len(unpack(data)) <= 22 * len(data)
    except ValueError:
        pass
