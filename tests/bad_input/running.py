"""Invalid input that is detected when a session runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bad_case import Case, Section

import headrace.graph as hr
from headrace.formats.services import SESSIONS, find_service

CASES: list[Case] = []
calling = Section("When a session is called", CASES)
running = Section("When a step runs", CASES)
bytes_in = Section("When a session is extended", CASES)


def _run(fetch: Any, feeds: Any = None, **config: Any) -> Any:
    with hr.Session(config=hr.ConfigProto(**config)) as session:
        return session.run(fetch, feeds)


@calling("a placeholder that is not fed")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [None, 3], name="images")
    _run(x + 1.0)


@calling("a fetch that is not in the graph")
def _(folder: Path) -> None:
    hr.constant(1.0, name="loss")
    _run("Loss:0")


@calling("an output that the node does not have")
def _(folder: Path) -> None:
    hr.constant(1.0, name="loss")
    _run("loss:1")


@calling("a fetch that is not a tensor")
def _(folder: Path) -> None:
    hr.constant(1.0)
    _run(3.0)


@calling("a tensor of another graph")
def _(folder: Path) -> None:
    hr.constant(1.0)
    with hr.Graph().as_default():
        stranger = hr.constant(2.0)
    _run(stranger)


@calling("a fed array of another shape")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [None, 3], name="images")
    _run(x + 1.0, {x: np.zeros([2, 4])})


@calling("a fed value of another dtype")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [], name="rate")
    _run(x + 1.0, {x: "fast"})


@calling("a feed that is not in the graph")
def _(folder: Path) -> None:
    x = hr.constant(1.0)
    _run(x, {"missing:0": 1.0})


@calling("an empty graph")
def _(folder: Path) -> None:
    _run([])


@calling("a closed session")
def _(folder: Path) -> None:
    x = hr.constant(1.0)
    session = hr.Session()
    session.close()
    session.run(x)


@calling("a target that no installed package supports")
def _(folder: Path) -> None:
    hr.Session("carrier-pigeon://loft")


@calling("a device that the session does not have")
def _(folder: Path) -> None:
    with hr.device("/cpu:3"):
        x = hr.constant(1.0) + 1.0
    _run(x)


@calling("an op with only a reference kernel, if those are disabled")
def _(folder: Path) -> None:
    config = hr.ConfigProto()
    config.experimental.refuse_reference_kernels = True
    integral = hr.raw_ops.Dawsn(x=hr.placeholder(hr.float32, []), name="integral")
    with hr.Session(config=config) as session:
        session.make_callable(integral, [integral.op.inputs[0]])


@running("shapes that differ only at run time")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32)
    logits = hr.matmul(x, hr.zeros([785, 10]), name="logits")
    _run(logits, {x: np.zeros([32, 784])})


@running("a reshape to another number of elements")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [None])
    _run(hr.reshape(x, [-1, 4]), {x: np.zeros(6)})


@running("an uninitialised variable, by reference")
def _(folder: Path) -> None:
    v = hr.Variable(1.0, name="weights")
    _run(v)


@running("an uninitialised variable, by resource")
def _(folder: Path) -> None:
    v = hr.get_variable("weights", [2], use_resource=True)
    _run(v.read_value())


@running("a value of another shape for a variable")
def _(folder: Path) -> None:
    v = hr.get_variable("weights", initializer=[1.0, 2.0])
    x = hr.placeholder(hr.float32)
    _run(hr.assign(v, x), {x: [1.0, 2.0, 3.0]})


@running("an index out of range")
def _(folder: Path) -> None:
    i = hr.placeholder(hr.int32, [None])
    _run(hr.gather([1.0, 2.0, 3.0], i), {i: [0, 7]})


@running("a division of integers by zero")
def _(folder: Path) -> None:
    i = hr.placeholder(hr.int32, [])
    _run(hr.floordiv(1, i), {i: 0})


@running("a NaN found by check_numerics")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [2])
    _run(hr.check_numerics(x, "loss is not a number"), {x: [1.0, np.nan]})


@running("a failed assertion")
def _(folder: Path) -> None:
    x = hr.placeholder(hr.float32, [2])
    _run(hr.Assert(hr.reduce_all(x > 0.0), [x]), {x: [1.0, -1.0]})


@running("a closed and empty queue")
def _(folder: Path) -> None:
    queue = hr.FIFOQueue(3, [hr.int32], name="examples")
    closed, taken = queue.close(), queue.dequeue()
    with hr.Session() as session:
        session.run(closed)
        session.run(taken)


@running("a step that exceeds its timeout")
def _(folder: Path) -> None:
    taken = hr.FIFOQueue(3, [hr.int32], name="examples").dequeue()
    with hr.Session() as session:
        session.run(taken, options=hr.RunOptions(timeout_in_ms=50))


@running("a tensor larger than any memory")
def _(folder: Path) -> None:
    n = hr.placeholder(hr.int32, [3])
    _run(hr.zeros(n) + 1.0, {n: [2_000_000, 2_000_000, 2_000_000]})


@running("a negative size")
def _(folder: Path) -> None:
    n = hr.placeholder(hr.int32, [1])
    _run(hr.fill(n, 1.0), {n: [-5]})


@running("a fetch from a branch that did not run")
def _(folder: Path) -> None:
    p = hr.placeholder(hr.bool, [])
    off, _ = hr.raw_ops.Switch(data=1.0, pred=p)
    _run(off, {p: True})


@running("bytes that are not an image")
def _(folder: Path) -> None:
    _run(hr.image.decode_png(hr.constant(b"not a PNG")))


def _extended(graph_def: hr.GraphDef | bytes, fetch: str = "x:0") -> None:
    wire = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    session = find_service(SESSIONS, "local")("", b"")
    try:
        session.extend(wire)
        session.prepare([], [fetch], [])([])
    finally:
        session.close()


def _const(**fields: Any) -> hr.GraphDef:
    graph_def = hr.GraphDef()
    node = graph_def.node.add(name="x", op="Const")
    node.attr["dtype"].type = hr.float32.as_datatype_enum
    tensor = node.attr["value"].tensor
    tensor.dtype = fields.pop("dtype", hr.float32.as_datatype_enum)
    for size in fields.pop("shape", []):
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = fields.pop("content", b"")
    return graph_def


@bytes_in("a GraphDef that is cut off")
def _(folder: Path) -> None:
    _extended(_const(shape=[2], content=bytes(8)).SerializeToString()[:-5])


@bytes_in("bytes that are not a GraphDef")
def _(folder: Path) -> None:
    _extended(b"\xff" * 20)


@bytes_in("a name that is not valid UTF-8")
def _(folder: Path) -> None:
    _extended(b"\x0a\x08\x0a\x02\xff\xfe\x12\x02No")


@bytes_in("a cycle")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    for name, other in (("x", "y"), ("y", "x")):
        node = graph_def.node.add(name=name, op="Neg", input=[other])
        node.attr["T"].type = hr.float32.as_datatype_enum
    _extended(graph_def)


@bytes_in("an unknown op")
def _(folder: Path) -> None:
    graph_def = hr.GraphDef()
    graph_def.node.add(name="x", op="Konst")
    _extended(graph_def)


@bytes_in("a tensor larger than its bytes")
def _(folder: Path) -> None:
    _extended(_const(shape=[1 << 40], content=b"12345678"))


@bytes_in("a tensor whose size overflows")
def _(folder: Path) -> None:
    _extended(_const(shape=[1 << 40, 1 << 40], content=b"1234"))


@bytes_in("a tensor of a negative size")
def _(folder: Path) -> None:
    _extended(_const(shape=[-4], content=b"1234"))


@bytes_in("a tensor of an unknown dtype")
def _(folder: Path) -> None:
    _extended(_const(dtype=77, content=b"1234"))


@bytes_in("a tensor of another dtype than its node's")
def _(folder: Path) -> None:
    _extended(_const(dtype=hr.int32.as_datatype_enum, content=b"1234"))


@bytes_in("an empty value of huge rank")
def _(folder: Path) -> None:
    _extended(_const(shape=[1] * 300, content=b"1234"))


@bytes_in("more inputs than any node has")
def _(folder: Path) -> None:
    graph_def = _const(content=bytes(4))
    node = graph_def.node.add(name="y", op="Pack", input=["x"])
    node.attr["T"].type = hr.float32.as_datatype_enum
    node.attr["N"].i = 1 << 40
    _extended(graph_def, "y:0")
