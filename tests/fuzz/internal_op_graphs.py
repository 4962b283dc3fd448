"""Graphs that contain ops which only passes make, and functions named like ops (kind `internal`).

Random attributes rarely pass the first check of such ops, so these cases start from valid ones.
"""

from __future__ import annotations

import random
from typing import Any

import known_case_graphs
import random_tensors as draw
from fuzz_case import Case
from op_graphs import OpGraph, op_names

FUSED = ("_FusedConv2D", "_FusedMatMul")
EPILOGUES = (
    b"BiasAdd", b"BiasAdd", b"FusedBatchNorm", b"Relu", b"Relu6", b"Elu", b"Tanh", b"Sigmoid",
    b"LeakyRelu", b"Add", b"GeluExact", b"", b"\xff%n",
)  # fmt: skip
KERNELS_OF_THE_RUNTIME = ("_ReadSlot",)  # registered, but in no catalogue
EDGES = (b"a", b"b", b"")
_SENT = (1, 1, 2, 3, 7, 10)


def make_case(dice: random.Random) -> Case:
    """A fused product, sends and receives, a function with the name of an op, or a random op."""
    roll = dice.random()
    if roll < 0.4:
        return _fused_product(dice, dice.choice(FUSED))
    if roll < 0.65:
        return _sends_and_receives(dice)
    if roll < 0.85:
        return _function_of_an_op_s_name(dice)
    return make_case_of(dice, dice.choice([n for n in op_names() if n.startswith("_")]))


def make_case_of(dice: random.Random, op: str) -> Case:
    """A case of one given op."""
    if op in FUSED:
        return _fused_product(dice, op)
    builder = OpGraph(dice)
    builder.add(op)
    return builder.case()


def _fused_product(dice: random.Random, op: str) -> Case:
    case = known_case_graphs.make_case_of(dice, op)
    (node,) = [n for n in case.graph.node if n.op == op]
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        roll = dice.random()
        arguments = range(2, len(node.input))
        if roll < 0.4:
            fused = [dice.choice(EPILOGUES) for _ in range(dice.choice((0, 1, 2, 2, 3)))]
            node.attr["fused_ops"].list.s[:] = fused
        elif roll < 0.6:
            node.attr["num_args"].i = dice.choice((0, 1, 2, 4, 5, *draw.ABSURD_INTS))
        elif roll < 0.8 and arguments:
            again = node.input[dice.choice(arguments)]
            count = dice.choice((0, 2, 4))
            if op == "_FusedConv2D":
                types = node.attr["TArgs"].list.type
                types[:] = (list(types) * 4)[:count]
            del node.input[2:]
            node.input.extend([again] * count)
            node.attr["num_args"].i = count
        elif op == "_FusedConv2D":
            node.attr["TArgs"].list.type[:] = [
                draw.dtype(dice) for _ in node.attr["TArgs"].list.type
            ]
            node.attr["filter_format"].s = dice.choice((b"HWIO", b"HWIO", b"OIHW", b"OIHW_VECT_I"))
    return case


def _sends_and_receives(dice: random.Random) -> Case:
    builder = OpGraph(dice)
    builder.random = True  # of several sends of one name, any comes first
    dtype = dice.choice(_SENT)
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        result, _ = builder.value(dtype, draw.shape(dice))
        if dice.random() < 0.2:
            result = _through_a_switch(builder, result, dtype)
        node = builder.graph.node.add(name=f"send{len(builder.graph.node)}", op="_Send")
        node.input.append(result)
        _describe_edge(builder, node, "T", dtype)
        builder.targets.append(node.name)
    for _ in range(dice.choice((1, 1, 2, 3))):
        received = dtype if dice.random() < 0.7 else draw.dtype(dice)
        node = builder.graph.node.add(name=f"recv{len(builder.graph.node)}", op="_Recv")
        _describe_edge(builder, node, "tensor_type", received)
        if builder.targets and dice.random() < 0.3:
            node.input.append(f"^{dice.choice(builder.targets)}")
        reader = builder.graph.node.add(name=f"{node.name}_read", op="Identity", input=[node.name])
        reader.attr["T"].type = received
        builder.fetches.append(f"{dice.choice((node, reader)).name}:0")
    return builder.case()


def _describe_edge(builder: OpGraph, node: Any, key: str, dtype: int) -> None:
    node.attr[key].type = dtype
    node.attr["tensor_name"].s = builder.dice.choice(EDGES)
    node.attr["send_device"].s = node.attr["recv_device"].s = b"/cpu:0"
    node.attr["send_device_incarnation"].i = 1
    if builder.dice.random() < 0.2:
        node.op = node.op.replace("_", "_Host")


def _through_a_switch(builder: OpGraph, result: str, dtype: int) -> str:
    """The side of a Switch that may be dead."""
    predicate, _ = builder.value(10, ())
    name = f"switch{len(builder.graph.node)}"
    node = builder.graph.node.add(name=name, op="Switch", input=[result, predicate])
    node.attr["T"].type = dtype
    return f"{name}:1"


def _function_of_an_op_s_name(dice: random.Random) -> Case:
    builder = OpGraph(dice)
    builder.random = True
    op = dice.choice((*op_names(), *KERNELS_OF_THE_RUNTIME))
    if op in KERNELS_OF_THE_RUNTIME or dice.random() < 0.5:
        node = builder.graph.node.add(name="it", op=op)
        for _ in range(dice.choice((0, 1, 2))):
            node.input.append(builder.value(dice.choice(_SENT), draw.shape(dice))[0])
    else:
        node = builder.add(op)
    signature = builder.graph.library.function.add().signature
    signature.name = op if dice.random() < 0.9 else f"{op}_"
    for i in range(dice.choice((0, 1, 2, len(node.input)))):
        signature.input_arg.add(name=f"i{i}", type=dice.choice(_SENT))
    result = dice.choice((0, 1, 2))
    for i in range(result):
        signature.output_arg.add(name=f"o{i}", type=draw.dtype(dice))
    builder.fetches = [f"{node.name}:{i}" for i in range(result)]
    builder.targets = [node.name]
    return builder.case()
