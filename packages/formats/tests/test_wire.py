"""Protobuf's wire format: numbers and fields, in Python and in C."""

from __future__ import annotations

import struct

import pytest

from headrace.formats import wire
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.op_pb2 import AttrValue

NUMBERS = [0, 1, 127, 128, 300, 2**32 - 1, 2**63, 2**64 - 1]


def _graph() -> bytes:
    graph = GraphDef()
    node = graph.node.add(name="a", op="Const", input=["b", "c:1"])
    node.attr["dtype"].type = 1
    node.attr["values"].list.f.extend([1.0, 2.5])
    graph.versions.producer = 1087
    return graph.SerializeToString()


GROUP = b"\x0b" + b"\x08\x05" + b"\x13\x15" + b"1234" + b"\x14" + b"\x0c"
MESSAGES = {
    "empty": b"",
    "graph": _graph(),
    "negative": AttrValue(i=-1).SerializeToString(),
    "fixed64": b"\x09" + struct.pack("<d", 1.5),
    "group": b"\x08\x01" + GROUP + b"\x10\x02",
    "bits beyond the 64th": b"\x08" + b"\xff" * 9 + b"\x7f",
    "a number cut short": b"\x08\xff",
    "a number of more than ten bytes": b"\x08" + b"\xff" * 10 + b"\x01",
    "a field number out of range": b"\x00\x01",
    "a length beyond the end": b"\x0a\x05abc",
    "an unknown wire type": b"\x0e",
    "a group without an end": b"\x0b\x08\x05",
    "groups nested too deep": b"\x0b" * 101,
}


def _lines(data: bytes) -> list[str]:
    lines = []
    try:
        for number, kind, value, stop in wire.fields(data, 0, len(data)):
            if kind == wire.VARINT:
                lines.append(f"{number} {kind} {value}")
            elif kind in (wire.FIXED64, wire.FIXED32):
                lines.append(f"{number} {kind} = {int.from_bytes(data[value:stop], 'little')}")
            else:
                lines.append(f"{number} {kind} {value} {stop}")
    except wire.MalformedError as error:
        lines.append(str(error))
    return lines


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_round_trip(number):
    data = wire.encode_varint(number)
    assert wire.decode_varint(data, 0, len(data)) == (number, len(data))


def test_negative_numbers_take_ten_bytes_as_in_protobuf():
    assert AttrValue(i=-3).SerializeToString() == b"\x18" + wire.encode_varint(-3)


def test_fields_of_a_message_are_those_that_protobuf_wrote():
    data = AttrValue(s=b"text").SerializeToString()
    [(number, kind, start, stop)] = wire.fields(data, 0, len(data))
    assert (number, kind, data[start:stop]) == (2, wire.BYTES, b"text")


@pytest.mark.parametrize("name", [name for name in MESSAGES if " " in name and "64th" not in name])
def test_malformed_messages_are_rejected_with_a_reason(name):
    assert _lines(MESSAGES[name])[-1] == name


def test_the_c_walker_agrees_with_python_also_on_malformed_messages(native, tmp_path):
    scan = native("wire_scan.c")
    path = tmp_path / "message"
    for data in MESSAGES.values():
        path.write_bytes(data)
        assert scan(path) == _lines(data)


def test_the_c_walker_survives_every_flip_and_cut_under_sanitizers(native, tmp_path):
    scan = native("wire_scan.c", sanitize=True)
    path = tmp_path / "message"
    path.write_bytes(_graph() + GROUP)
    assert scan(path, "corruption")[-1] == "survived 1"
