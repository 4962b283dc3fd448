"""Invalid input that is detected at graph construction or import."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bad_case import Case, Section

import headrace.graph as hr

CASES: list[Case] = []
building = Section("When the graph is built", CASES)
importing = Section("When a GraphDef is imported", CASES)


@building("a product of two dtypes")
def _(folder: Path) -> None:
    hr.matmul(hr.constant([[1.0]]), hr.constant([[1]]))


@building("a dtype that the op does not accept")
def _(folder: Path) -> None:
    hr.sqrt(hr.constant([4]))


@building("inner sizes that differ")
def _(folder: Path) -> None:
    hr.matmul(hr.zeros([32, 784]), hr.zeros([785, 10]), name="logits")


@building("shapes that do not broadcast")
def _(folder: Path) -> None:
    hr.add(hr.zeros([3]), hr.zeros([4]), name="sum")


@building("a reshape to another number of elements")
def _(folder: Path) -> None:
    hr.reshape(hr.zeros([6]), [4, 2])


@building("a list that is not rectangular")
def _(folder: Path) -> None:
    hr.constant([[1.0, 2.0], [3.0]])


@building("a value of another dtype than required")
def _(folder: Path) -> None:
    hr.constant("text", hr.float32)


@building("a value of another shape than required")
def _(folder: Path) -> None:
    hr.constant([1.0, 2.0, 3.0], shape=[2])


@building("a tensor of another graph")
def _(folder: Path) -> None:
    with hr.Graph().as_default():
        stranger = hr.constant(1.0)
    hr.add(stranger, hr.constant(2.0))


@building("an invalid device name")
def _(folder: Path) -> None:
    with hr.device("/cpu:zero"):
        hr.constant(1.0)


@building("a name with invalid characters")
def _(folder: Path) -> None:
    hr.constant(1.0, name="my value")


@building("a variable that already exists")
def _(folder: Path) -> None:
    hr.get_variable("v", [2])
    hr.get_variable("v", [2])


@building("a gradient through an op without a gradient")
def _(folder: Path) -> None:
    graph = hr.get_default_graph()
    x = hr.constant([1.0, 2.0])
    with graph.gradient_override_map({"Tanh": "MissingGradient"}):
        y = hr.tanh(x)
    hr.gradients(y, x)


@building("a loop whose variable changes its shape")
def _(folder: Path) -> None:
    hr.while_loop(lambda v: hr.reduce_sum(v) < 9, lambda v: hr.concat([v, v], 0), [hr.ones([2])])


@building("branches of different dtypes")
def _(folder: Path) -> None:
    p = hr.placeholder(hr.bool, [])
    hr.cond(p, lambda: hr.constant(1.0), lambda: hr.constant(1))


@building("a tensor used as a Python bool")
def _(folder: Path) -> None:
    if hr.constant(1.0) > 0.0:
        pass


@building("a name that is not in the graph")
def _(folder: Path) -> None:
    hr.constant(1.0, name="here")
    hr.get_default_graph().get_tensor_by_name("there:0")


def _node(graph_def: hr.GraphDef, name: str, op: str, *inputs: str) -> None:
    node = graph_def.node.add(name=name, op=op)
    node.input.extend(inputs)
    node.attr["T"].type = hr.float32.as_datatype_enum


def _zero(graph_def: hr.GraphDef) -> None:
    node = graph_def.node.add(name="zero", op="Const")
    node.attr["dtype"].type = hr.float32.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(hr.make_tensor_proto(np.float32(0.0)))


@importing("an unknown op")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    graph_def.node.add(name="a", op="MatMull")
    hr.import_graph_def(graph_def, name="")


@importing("a cycle")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    _node(graph_def, "a", "Neg", "b")
    _node(graph_def, "b", "Neg", "a")
    hr.import_graph_def(graph_def, name="")


@importing("an input that no node produces")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    _node(graph_def, "a", "Neg", "missing")
    hr.import_graph_def(graph_def, name="")


@importing("an output that the node does not have")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    _zero(graph_def)
    _node(graph_def, "a", "Neg", "zero:1")
    hr.import_graph_def(graph_def, name="")


@importing("a duplicate name")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    _zero(graph_def)
    _zero(graph_def)
    hr.import_graph_def(graph_def, name="")


@importing("a missing attribute")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    graph_def.node.add(name="p", op="Placeholder")
    hr.import_graph_def(graph_def, name="")


@importing("an attribute of another kind")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    graph_def.node.add(name="p", op="Placeholder").attr["dtype"].s = b"float"
    hr.import_graph_def(graph_def, name="")


@importing("a tensor larger than its bytes")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    _zero(graph_def)
    tensor = graph_def.node[0].attr["value"].tensor
    tensor.ClearField("float_val")
    tensor.tensor_content = b"1234"
    tensor.tensor_shape.dim.add(size=2**40)
    hr.import_graph_def(graph_def, name="")


@importing("bytes that are not a GraphDef")
def _(folder: Path) -> None:
    hr.import_graph_def(b"not a graph")
