"""What a call cannot do it says by an OpError, whatever the graph is."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.formats.errors import OpError, ResourceExhaustedError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.services import SESSIONS, find_service
from headrace.runtime import load_graph

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))


@pytest.mark.parametrize("dtype", [hr.float32, hr.string])
@pytest.mark.parametrize("shape", [(0, 2**40, 2**40), (0, 2**62), (2**40, 2**40, 0)])
def test_a_fetch_of_a_shape_that_numpy_cannot_count_is_no_error_of_numpy(
    dtype: hr.DType, shape: tuple[int, ...]
) -> None:
    graph = GraphDef()
    node = graph.node.add(name="it", op="Const")
    node.attr["dtype"].type = int(dtype)
    node.attr["value"].tensor.dtype = int(dtype)
    for size in shape:
        node.attr["value"].tensor.tensor_shape.dim.add(size=size)
    session = find_service(SESSIONS, "local")("", b"")
    try:
        session.extend(graph.SerializeToString())
        step = session.prepare([], ["it:0"], [])
        try:
            assert step([])[0].shape == shape
        except ResourceExhaustedError:
            pass
    finally:
        session.close()


def test_ops_that_no_library_has_are_named() -> None:
    graph = GraphDef()
    node = graph.node.add(name="it", op="_ReadVariablesOp")
    node.attr["N"].i = 0
    node.attr["dtypes"].list.SetInParent()
    with pytest.raises(OpError, match="_ReadVariablesOp"):
        load_graph(graph.SerializeToString(), inputs=[], outputs=["it:0"])(**{})
    with hr.Graph().as_default(), pytest.raises((OpError, ValueError), match="_ReadVariablesOp"):
        hr.import_graph_def(graph)
        with hr.Session() as session:
            session.run("import/it")


ABSURD = {
    "int": [2**31, -(2**31), 2**63 - 1, -(2**63), 0, -1],
    "float": [float("nan"), float("inf"), -1e38],
    "string": [b"\xff\x00", b"x" * 5000, b"("],
    "type": [0, 11, 20, 21, 23, 101, 1000],
    "shape": [None, (2**40, 2**40), (0, 2**62), (1,) * 9],
}


@pytest.mark.parametrize("part", range(8))
def test_no_attribute_of_any_op_brings_another_exception_than_an_operror(part: int) -> None:
    from fuzz_child import run_case
    from op_graphs import OpGraph, op_names, set_attr

    names = op_names()[part::8]
    wrong = []
    for op in names:
        if op.startswith("Print"):  # they write to standard error
            continue
        for attr in op_catalogue.signature(op).attrs:
            kind = attr.kind
            element = kind[5:-1] if kind.startswith("list(") else kind
            for value in ABSURD.get(element, [])[part % 3 :: 3]:
                graph = OpGraph(random.Random(f"{op} {attr.name} {value}"))
                node = graph.add(op)
                node.attr.pop(attr.name, None)
                try:
                    set_attr(node.attr[attr.name], kind, [value] * 2 if kind != element else value)
                except (ValueError, OverflowError):
                    continue  # a message cannot hold it
                how, what = run_case(graph.case())[0]
                if how == "raw" or (how == "refused" and what[0] in (2, 13)):
                    wrong.append((op, attr.name, str(value)[:20], str(what)[-200:]))
    assert not wrong
