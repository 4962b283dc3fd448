"""A session call that fails raises an OpError, for any graph.

Modules: memory/call_error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headrace.graph as hr
from headrace.formats.errors import OpError, ResourceExhaustedError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.services import SESSIONS, find_service
from headrace.runtime import load_graph


@pytest.mark.parametrize("dtype", [hr.float32, hr.string])
@pytest.mark.parametrize("shape", [(0, 2**40, 2**40), (0, 2**62), (2**40, 2**40, 0)])
def test_fetching_a_shape_beyond_numpys_limits_is_an_op_error(
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


@pytest.mark.parametrize("part", range(8))
def test_no_attribute_of_any_op_brings_another_exception_than_an_operror(part: int) -> None:
    # In another process: some request more memory than a machine has.
    script = Path(__file__).with_name("absurd_attributes.py")
    command = [sys.executable, str(script), str(part)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
