"""Parses the number of a TensorProto with one element; tensor_number.hpp does it in C++."""

from __future__ import annotations

import struct
from typing import NamedTuple

from headrace.board.reading.signed_numbers import as_i32, as_i64
from headrace.formats.wire import MalformedError, decode_varint, fields

# dtype: (bytes of an element, format of its content, field of its list, whether f32 is too narrow)
_NUMERIC = {
    1: (4, "<f", 5, False),  # float
    2: (8, "<d", 6, True),  # double
    3: (4, "<i", 7, True),  # int32
    4: (1, "<B", 7, False),  # uint8
    5: (2, "<h", 7, False),  # int16
    6: (1, "<b", 7, False),  # int8
    9: (8, "<q", 10, True),  # int64
    10: (1, "<?", 11, False),  # bool
    14: (2, "bfloat16", 13, False),
    17: (2, "<H", 7, False),  # uint16
    19: (2, "<e", 13, False),  # half
    22: (4, "<I", 16, True),  # uint32
    23: (8, "<Q", 17, True),  # uint64
}


class Number(NamedTuple):
    """value: as float64; rank: of the tensor; wide: whether float32 is too narrow for its dtype."""

    value: float
    rank: int
    wide: bool


def tensor_number(data: bytes, start: int, end: int) -> Number | None:
    """Returns the number of a tensor with one element of a numeric dtype; None for any other."""
    try:
        return _number(data, start, end)
    except MalformedError:
        return None


def _number(data: bytes, start: int, end: int) -> Number | None:
    dtype = rank = 0
    one = True
    content: bytes | None = None
    lists: dict[int, int] = {}  # field: its first element, as raw bits
    for field, wire, value, stop in fields(data, start, end):
        if field == 1 and wire == 0:
            dtype = as_i32(value)
        elif field == 2 and wire == 2:
            rank, one = _shape(data, value, stop)
        elif field == 4 and wire == 2:
            content = data[value:stop]
        elif field in (5, 6) and field not in lists:
            size = 4 if field == 5 else 8
            if wire == 2 and stop - value >= size:
                lists[field] = int.from_bytes(data[value : value + size], "little")
            elif wire == (5 if field == 5 else 1):
                lists[field] = int.from_bytes(data[value:stop], "little")
        elif field in (7, 10, 11, 13, 16, 17) and field not in lists:
            if wire == 2 and stop > value:
                lists[field] = decode_varint(data, value, stop)[0]
            elif wire == 0:
                lists[field] = value
    if dtype not in _NUMERIC or not one:
        return None
    size, form, list_field, wide = _NUMERIC[dtype]
    if content:
        if len(content) != size:
            return None
        if form == "bfloat16":
            content, form = b"\0\0" + content, "<f"
        return Number(float(struct.unpack(form, content)[0]), rank, wide)
    return Number(_of_list(dtype, lists.get(list_field, 0)), rank, wide)


def _shape(data: bytes, start: int, end: int) -> tuple[int, bool]:
    rank, one = 0, True
    for field, wire, value, stop in fields(data, start, end):
        if field == 2 and wire == 2:
            rank += 1
            size = 0
            for inner, inner_wire, number, _ in fields(data, value, stop):
                if inner == 1 and inner_wire == 0:
                    size = as_i64(number)
            one = one and size == 1
        elif field == 3 and wire == 0 and value:
            one = False
    return rank, one


def _of_list(dtype: int, bits: int) -> float:
    if dtype == 1:
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    if dtype == 2:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if dtype == 14:
        return float(struct.unpack("<f", struct.pack("<I", (bits & 0xFFFF) << 16))[0])
    if dtype == 19:
        return float(struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0])
    if dtype == 9:
        return float(as_i64(bits))
    if dtype == 10:
        return float(bits != 0)
    if dtype == 22:
        return float(bits & 0xFFFFFFFF)
    if dtype == 23:
        return float(bits)
    return float(as_i32(bits))
