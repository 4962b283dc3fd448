"""The op's definition."""

from __future__ import annotations

from headrace.formats.op_def_signature import to_op_def
from headrace.formats.proto.op_pb2 import OpList
from headrace.formats.signature_language import parse_signature

_LINES = [
    "OuterSine(x: T, y: T, *, frequency: float = 1.0, T: {float, double}) -> (z: T) "
    "[shape=OuterSine]",
]


def op_list() -> bytes:
    """An OpList message."""
    ops = OpList()
    for line in _LINES:
        ops.op.append(to_op_def(parse_signature(line)))
    return ops.SerializeToString()
