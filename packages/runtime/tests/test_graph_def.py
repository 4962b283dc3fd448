"""The parser of GraphDef messages, on valid and malformed bytes.

Modules: graph/graph_def, memory/wire.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from graph_text import graph
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.formats
from headrace.formats.errors import OpError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.runtime.graph.session_graph import SessionGraph

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src/headrace/runtime"


def rich_graph() -> GraphDef:
    """A graph with attributes of all kinds and constants of many dtypes."""
    message = graph("""
        x = Placeholder(; dtype=float) @/cpu:0
        s = Const(; dtype=int32)
        r = Reshape(x, s)
        v = VariableV2(; dtype=float, container=box, shared_name=name)
        w = Assign(v, r; use_locking=True)
        q = FIFOQueueV2(; component_types=float|int32)
        m = Neg(x, ^w)
    """)
    message.node[0].attr["shape"].shape.dim.add(size=-1, name="batch")
    message.node[0].attr["shape"].shape.dim.add(size=784)
    message.node[5].attr["shapes"].list.shape.add().dim.add(size=3)
    message.node[5].attr["_numbers"].list.i.extend([1, -2, 1 << 40])
    message.node[5].attr["_reals"].list.f.extend([0.5, 2.0])
    message.node[5].attr["_truths"].list.b.extend([True, False])
    message.node[5].attr["_texts"].list.s.extend([b"a", b"", b"long text"])
    message.node[6].attr["_function"].func.name = "f"
    for number, field, value in (
        (1, "float_val", 1.5),
        (2, "double_val", 2.5),
        (3, "int_val", -3),
        (9, "int64_val", 1 << 40),
        (10, "bool_val", True),
        (7, "string_val", b"text"),
        (8, "scomplex_val", 0.5),
        (18, "dcomplex_val", 0.5),
        (19, "half_val", 15360),
        (22, "uint32_val", 7),
        (23, "uint64_val", 1 << 60),
    ):
        node = message.node.add(name=f"c{number}", op="Const")
        node.attr["dtype"].type = number
        tensor = node.attr["value"].tensor
        tensor.dtype = number
        tensor.tensor_shape.dim.add(size=2)
        tensor.tensor_shape.dim.add(size=2)
        getattr(tensor, field).extend([value] * 2)
    node = message.node.add(name="content", op="Const")
    node.attr["dtype"].type = 1
    tensor = node.attr["value"].tensor
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=5)
    tensor.tensor_content = np.arange(5, dtype=np.float32).tobytes()
    node = message.node.add(name="texts", op="Const")
    node.attr["dtype"].type = 7
    tensor = node.attr["value"].tensor
    tensor.dtype = 7
    tensor.tensor_shape.dim.add(size=2)
    tensor.tensor_content = b"\x01\x02abc"
    message.versions.producer = 1087
    message.library.function.add().signature.name = "f"
    return message


def extend(data: bytes) -> SessionGraph:
    session = SessionGraph()
    session.extend(data)
    return session


def test_a_rich_graph_is_read():
    session = extend(rich_graph().SerializeToString())
    assert len(session) == len(rich_graph().node)
    known = session.describe("r")
    assert known["inputs"] == ["x:0", "s:0"]
    assert known["input_dtypes"] == ["float", "int32"]
    assert session.describe("m")["controls"] == ["w"]
    assert session.describe("v")["output_dtypes"] == ["float_ref"]


def test_unknown_fields_are_skipped():
    data = rich_graph().SerializeToString()
    unknown = b"\xa2\x06\x03abc" + b"\xa8\x06\x05" + b"\xb1\x06" + bytes(8) + b"\xbd\x06" + bytes(4)
    group = b"\xc3\x06\x08\x01\xc4\x06"
    assert len(extend(unknown + data + group)) == len(rich_graph().node)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x0a", "a number cut short at byte 1 of 1"),
        (b"\x0a\x05\x0a", "a length beyond the end at byte 0 of 3"),
        (b"\x0a\x03\x0a\x09a", "a length beyond the end at byte 2 of 5"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "a length beyond the end at byte 0 of 11"),
        (b"\xa7\x06", "an unknown wire type at byte 2"),
        (b"\x00", "a field number out of range at byte 1"),
        (b"\x0d\x00\x00\x00\x00", "a field of the wrong wire type at byte 1"),
        (b"\x80" * 11, "a number of more than ten bytes at byte 0"),
        (b"\xc3\x06" * 200, "groups nested too deep"),
    ],
)
def test_bytes_that_are_not_a_graph_def_are_rejected_with_the_offset(data, text):
    with pytest.raises(OpError) as caught:
        extend(data)
    assert caught.value.message.startswith(f"not a GraphDef: {text}")
    assert caught.value.offset is not None


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_graph_or_an_error(data):
    session = SessionGraph()
    try:
        session.extend(data)
    except OpError:
        assert len(session) == 0


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_corrupted_graph_is_parsed_or_rejected(data):
    whole = bytearray(rich_graph().SerializeToString(deterministic=True))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    session = SessionGraph()
    try:
        session.extend(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    except OpError as error:
        assert error.message
        assert len(session) == 0


def test_the_parser_is_clean_under_sanitizers(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++") or "c++"
    include = pathlib.Path(next(iter(headrace.formats.__path__))) / "include"
    program = tmp_path / "wire_fuzz"
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-g", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", f"-I{SOURCE}", f"-I{include}",
         str(pathlib.Path(__file__).with_name("wire_fuzz.cpp")), "-o", str(program)],
        check=True,
    )  # fmt: skip
    (tmp_path / "graph.pb").write_bytes(rich_graph().SerializeToString())
    run = subprocess.run(
        [str(program), str(tmp_path / "graph.pb"), "5000"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    counts = [int(number) for number in re.findall(r"\d+", run.stdout)]
    assert all(count > 500 for count in counts), run.stdout
