"""The numbers of protobuf's wire format as signed numbers."""

from __future__ import annotations


def as_i64(value: int) -> int:
    """Returns a varint as a signed 64-bit number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def as_i32(value: int) -> int:
    """Returns a varint as a signed 32-bit number: its low 32 bits."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value
