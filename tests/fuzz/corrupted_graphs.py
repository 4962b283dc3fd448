"""Serialised graphs with changed bytes or fields (kind `corrupted`)."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

from fuzz_case import Case, Run

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef

GOLDEN = Path(__file__).parents[2] / "packages" / "formats" / "tests" / "golden" / "graph.pb"


def make_case(dice: random.Random) -> Case:
    """A corrupted graph of Headrace or TensorFlow; each of its last nodes is run."""
    wire = sources()[dice.randrange(2)]
    corrupted = changed_bytes(wire, dice) if dice.random() < 0.5 else changed_fields(wire, dice)
    try:
        graph = GraphDef.FromString(corrupted)
        names = [f"{node.name}:0" for node in graph.node]
    except Exception:  # protobuf rejects more than a session does
        graph, names = GraphDef(), []
    return Case(
        graph, [Run({}, [name], []) for name in names[-12:]] or [Run()], corrupted, random=True
    )


@lru_cache(maxsize=1)
def sources() -> tuple[bytes, bytes]:
    """The graphs to corrupt: one of Headrace, and one that TensorFlow wrote."""
    return _graph_of_ours(), GOLDEN.read_bytes()


def _graph_of_ours() -> bytes:
    """Constants, arithmetic, a variable, a loop, a branch, a queue, strings: small values."""
    with hr.Graph().as_default() as graph:
        x = hr.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        h = hr.matmul(x, hr.transpose(x)) + hr.reduce_sum(x, 1, keepdims=True)
        h = hr.concat([h, h[:, :1]], 1)
        h = hr.reshape(hr.nn.softmax(h), [-1])
        _, total = hr.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 0.5 + h), (0, h))
        hr.cond(hr.reduce_sum(total) > 1.0, lambda: total * 2.0, lambda: total - 1.0)
        hr.Variable([1, 2, 3]).assign([4, 5, 6])
        queue = hr.FIFOQueue(3, [hr.float32], shapes=[[]])
        with hr.control_dependencies([queue.enqueue(1.0)]):
            queue.size()
        hr.string_join([hr.constant(b"a"), hr.as_string(hr.constant(3))])
        hr.unique(hr.constant([1, 1, 2]))
        hr.gather(hr.range(5), [0, 4])
        hr.strided_slice(x, [0, 1], [2, 3])
        hr.pad(x, [[1, 1], [0, 2]])
        hr.nn.conv2d(hr.ones([1, 4, 4, 1]), hr.ones([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")
        return graph.as_graph_def().SerializeToString()


def changed_bytes(wire: bytes, dice: random.Random) -> bytes:
    """Flips, removes, repeats bytes, or replaces them by extreme values."""
    data = bytearray(wire)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        if not data:
            break
        at = dice.randrange(len(data))
        kind = dice.randrange(6)
        if kind == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[at] = dice.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            del data[at : at + dice.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = data[at : at + dice.randrange(1, 40)]
        elif kind == 4:
            data[at:at] = bytes([0xFF] * 8 + [0x7F])
        else:
            data = data[: max(at, 1)]
    return bytes(data)


def changed_fields(wire: bytes, dice: random.Random) -> bytes:
    """A message that parses, with an input, an attribute or an op of another node."""
    graph = GraphDef.FromString(wire)
    for _ in range(dice.choice([1, 1, 2, 4])):
        node, other = dice.choice(graph.node), dice.choice(graph.node)
        kind = dice.randrange(5)
        if kind == 0 and node.input:
            node.input[dice.randrange(len(node.input))] = dice.choice(
                [other.name, f"{other.name}:1", f"^{other.name}", f"{other.name}:99"]
            )
        elif kind == 1:
            node.op = other.op
        elif kind == 2 and node.attr:
            key = dice.choice(sorted(node.attr))
            if other.attr:
                node.attr[key].CopyFrom(other.attr[dice.choice(sorted(other.attr))])
        elif kind == 3:
            for value in node.attr.values():
                if value.HasField("i"):
                    value.i = dice.choice([0, -1, 2**31, 2**62, -(2**62), 7])
                elif value.HasField("type"):
                    value.type = dice.choice([0, 1, 3, 7, 9, 20, 21, 101, 1000])
                elif value.HasField("shape"):
                    value.shape.dim.add(size=dice.choice([-5, -1, 0, 2**31, 2**62]))
                elif value.HasField("tensor"):
                    value.tensor.tensor_shape.dim.add(size=dice.choice([-1, 0, 2, 2**40]))
        elif node.input:
            del node.input[dice.randrange(len(node.input))]
    return graph.SerializeToString()
