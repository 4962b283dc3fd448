"""A Send or Recv with an invalid rendezvous key is rejected, with the name of the node.

Modules: state/rendezvous.
"""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.tensor_codec import make_tensor_proto

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _sent(name: str, send: str = DEVICE, recv: str = DEVICE, op: str = "_Send") -> None:
    graph = GraphDef()
    x = graph.node.add(name="x", op="Const")
    x.attr["dtype"].type = int(as_dtype("float32"))  # type: ignore[assignment]
    x.attr["value"].tensor.CopyFrom(make_tensor_proto(1.0, "float32"))
    node = graph.node.add(name="it", op=op, input=["x"])
    node.attr["T"].type = int(as_dtype("float32"))  # type: ignore[assignment]
    for key, value in (("tensor_name", name), ("send_device", send), ("recv_device", recv)):
        node.attr[key].s = value.encode()
    node.attr["send_device_incarnation"].i = 1
    with hr.Graph().as_default() as result:
        hr.import_graph_def(graph, name="")
        with hr.Session(graph=result) as session:
            session.run(result.get_operation_by_name("it"))


@pytest.mark.parametrize("op", ["_Send", "_HostSend"])
def test_a_tensor_name_that_is_empty_or_has_a_semicolon_is_rejected(op: str) -> None:
    for name in ("", "a;b"):
        with pytest.raises(InvalidArgumentError, match="Invalid rendezvous key: tensor_name"):
            _sent(name, op=op)
    for name in ("t", "a/b:0", " "):
        _sent(name, op=op)


@pytest.mark.parametrize("device", ["cpu:0", "a,b,c", "*", DEVICE + ";x"])
def test_an_invalid_device_is_rejected(device: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid rendezvous key: send_device"):
        _sent("t", send=device)
    with pytest.raises(InvalidArgumentError, match="Invalid rendezvous key: recv_device"):
        _sent("t", recv=device)


def test_devices_may_be_named_in_part() -> None:
    for device in ("", "/cpu:0", "/device:CPU:0", "/job:localhost", "/job:a/task:0/device:GPU:*"):
        _sent("t", send=device)
        _sent("t", recv=device)
