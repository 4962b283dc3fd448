"""The one node of each case, read from a GraphDef's text: its shapes hold when it runs."""

from __future__ import annotations

import numpy as np
import pytest
from cases import ALL, Case
from google.protobuf import text_format
from one_node import one_node
from tolerances import assert_same

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.kernels.reference import oracle


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.name)
def test_a_case_runs_after_a_reload_with_the_shapes_of_the_graph(case: Case) -> None:
    dtype = case.types()[0]
    node = one_node(case, dtype)
    message, read = GraphDef.FromString(node.graph_def), GraphDef()
    text_format.Parse(text_format.MessageToString(message), read)
    with hr.Graph().as_default() as graph:
        hr.import_graph_def(read.SerializeToString(), name="")
        operation = graph.get_operation_by_name("it")
        with hr.Session() as session:
            found = session.run(list(operation.outputs) or operation, node.feeds)
        again = GraphDef.FromString(graph.as_graph_def().SerializeToString())
        (ours,) = [one for one in again.node if one.name == "it"]
        (given,) = [one for one in message.node if one.name == "it"]
        assert list(ours.input) == list(given.input)
    if not operation.outputs:
        return
    expected = oracle.run(case.op, *case.values(dtype), **case.attributes(dtype))
    for number, (tensor, value) in enumerate(zip(operation.outputs, found, strict=True)):
        assert tensor.shape.is_compatible_with(np.shape(value)), (tensor, np.shape(value))
        if case.exact and number not in case.undefined:
            one = np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
            assert_same(case.op, one, expected[number])
