"""Random functions of the library, for ops with a function as attribute."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import random_tensors as draw
from op_graphs import set_attr

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import FunctionDefLibrary

FLOAT, DOUBLE, INT, TEXT, LONG, BOOL, RESOURCE, VARIANT = 1, 2, 3, 7, 9, 10, 20, 21
NUMBERS = (FLOAT, DOUBLE, INT, LONG)
_ONE = ("Neg", "Abs", "Square", "Identity", "Sign", "ZerosLike", "OnesLike")
_TWO = ("Add", "Mul", "Sub", "Maximum", "AddV2", "FloorDiv", "Minimum")
Value = tuple[str, int]  # an input as nodes write it, and its dtype


class Nodes:
    """Adds nodes to a graph, or to the body of a function, which writes inputs another way."""

    def __init__(self, dice: random.Random, nodes: Any, in_function: bool) -> None:
        self.dice = dice
        self._nodes = nodes
        self._in_function = in_function
        self.controls: list[str] = []  # nodes in order of their addition

    def add(self, op: str, *inputs: str, **attrs: Any) -> list[Value]:
        """Adds a node; `attrs` names all attributes without a default. Returns: its outputs."""
        signature = op_catalogue.signature(op)
        node = self._nodes.add(name=f"n{len(self._nodes)}", op=op, input=inputs)
        values = {attr.name: attrs.get(attr.name, attr.default) for attr in signature.attrs}
        for attr in signature.attrs:
            if attr.name in attrs:
                set_attr(node.attr[attr.name], attr.kind, values[attr.name])
        self.controls.append(node.name)
        found: list[Value] = []
        for arg in signature.outputs:
            if arg.type_list_attr:
                types = list(values[arg.type_list_attr])
            else:
                types = [arg.dtype or values[arg.type_attr]]
                types *= values[arg.number_attr] if arg.number_attr else 1
            for i, dtype in enumerate(types):
                at = len(found)
                plain = node.name if at == 0 else f"{node.name}:{at}"
                found.append((f"{node.name}:{arg.name}:{i}" if self._in_function else plain, dtype))
        return found

    def constant(self, dtype: int, dims: tuple[int, ...] = ()) -> str:
        """A constant, mostly of ordinary values."""
        number = dtype if dtype in draw.WITH_ARRAYS else FLOAT
        return self.literal(draw.tensor(self.dice, number, dims), dtype)

    def literal(self, value: Any, dtype: int) -> str:
        """A constant of a value."""
        if dtype in draw.WITH_ARRAYS:
            value = np.asarray(value, as_dtype(dtype).as_numpy_dtype)
        return self.add("Const", dtype=dtype, value=value)[0][0]

    def count(self, *usual: int) -> str:
        """A constant int64: one of the usual numbers, or rarely an absurd one."""
        number = self.dice.choice(usual)
        if self.dice.random() < 0.03:
            number = self.dice.choice((*draw.ABSURD_INTS, *draw.INTS))
        return self.literal(np.int64(number), LONG)

    def of_type(self, values: Sequence[Value], dtype: int, dims: tuple[int, ...] = ()) -> str:
        """A value of a dtype: one of those, or one made from them."""
        fitting = [name for name, other in values if other == dtype]
        if fitting and self.dice.random() < 0.9:
            return self.dice.choice(fitting)
        numbers = [value for value in values if value[1] in NUMBERS]
        if numbers and dtype in NUMBERS:
            name, other = self.dice.choice(numbers)
            return self.add("Cast", name, SrcT=other, DstT=dtype)[0][0]
        if numbers and dtype == TEXT:
            name, other = self.dice.choice(numbers)
            return self.add("AsString", name, T=other)[0][0]
        if numbers and dtype == BOOL:
            name, other = self.dice.choice(numbers)
            return self.add("Less", name, self.constant(other), T=other)[0][0]
        if dtype == VARIANT:
            return self.small_dataset(values)
        return self.constant(dtype, dims)

    def small_dataset(self, values: Sequence[Value]) -> str:
        """A dataset of the values that a function has."""
        longs = [name for name, dtype in values if dtype == LONG]
        roll = self.dice.random()
        if roll < 0.6 or not values:
            stop = self.dice.choice(longs) if longs and roll < 0.3 else self.count(0, 1, 3, 5)
            step = self.count(1, 1, 2)
            return self.add("RangeDataset", self.count(0, 0, 1), stop, step,
                            output_types=[LONG], output_shapes=[()])[0][0]  # fmt: skip
        name, dtype = self.dice.choice(values)
        if dtype == VARIANT:
            return name
        op = self.dice.choice(("TensorDataset", "TensorSliceDataset"))
        return self.add(op, name, Toutput_types=[dtype], output_shapes=[None])[0][0]


def make_function(
    dice: random.Random, library: FunctionDefLibrary, takes: Sequence[int], gives: Sequence[int],
    depth: int = 1,
) -> str:  # fmt: skip
    """Adds a function of these dtypes to the library; a few are invalid. Returns: its name."""
    name = f"f{len(library.function)}"
    function = library.function.add()
    function.signature.name = name
    values: list[Value] = []
    for i, dtype in enumerate(takes):
        function.signature.input_arg.add(name=f"x{i}", type=dtype)
        values.append((f"x{i}", dtype))
    nodes = Nodes(dice, function.node_def, in_function=True)
    for _ in range(dice.choice((0, 0, 1, 2, 4))):
        values += _statement(nodes, library, values, depth)
    for i, dtype in enumerate(gives):
        function.signature.output_arg.add(name=f"y{i}", type=dtype)
        function.ret[f"y{i}"] = nodes.of_type(values, dtype)
    if dice.random() < 0.3 and nodes.controls:
        function.signature.control_output.append("c")
        function.control_ret["c"] = dice.choice(nodes.controls)
    if dice.random() < 0.04:
        _corrupt(dice, function)
    return name


def _statement(
    nodes: Nodes, library: FunctionDefLibrary, values: list[Value], depth: int
) -> list[Value]:
    dice = nodes.dice
    dtype = dice.choice(NUMBERS)
    known = [value[1] for value in values if value[1] in NUMBERS]
    if known and dice.random() < 0.8:
        dtype = dice.choice(known)
    one, roll = nodes.of_type(values, dtype), dice.random()
    if roll < 0.25:
        return nodes.add(dice.choice(_ONE), one, T=dtype)
    if roll < 0.5:
        return nodes.add(dice.choice(_TWO), one, nodes.of_type(values, dtype), T=dtype)
    if roll < 0.6:
        dims = nodes.literal(dice.choice(([-1], [1, -1], [2, 2])), INT)
        return nodes.add("Reshape", one, dims, T=dtype, Tshape=INT)
    if roll < 0.65:
        dims = nodes.add("Shape", one, T=dtype)[0][0]
        return nodes.add("Fill", dims, nodes.constant(FLOAT), T=FLOAT)
    if roll < 0.7:
        return nodes.add("RandomUniform", nodes.literal([2], INT), T=INT, dtype=FLOAT)
    if roll < 0.75:
        yes = nodes.of_type(values, BOOL)
        nodes.add("Assert", yes, one, T=[dtype])
        return []
    if roll < 0.8:
        sides = nodes.add("Switch", one, nodes.of_type(values, BOOL), T=dtype)
        return nodes.add("Merge", sides[0][0], sides[1][0], T=dtype, N=2)
    if roll < 0.82:  # waits until the run is cancelled
        return nodes.add("Unstage", dtypes=[dtype], shared_name="nobody fills it")
    if depth > 0:
        return call_function(nodes, library, values, depth - 1)
    return nodes.add("Identity", one, T=dtype)


def call_function(
    nodes: Nodes, library: FunctionDefLibrary, values: list[Value], depth: int
) -> list[Value]:
    """A node that calls functions made for it."""
    dice = nodes.dice
    takes = [dice.choice(NUMBERS) for _ in range(dice.choice((0, 1, 1, 2, 3)))]
    gives = [dice.choice((*NUMBERS, TEXT, BOOL)) for _ in range(dice.choice((0, 1, 1, 2)))]
    inputs = [nodes.of_type(values, dtype) for dtype in takes]

    def new(results: Sequence[int], also: Sequence[int] = ()) -> str:
        if library.function and dice.random() < 0.04:  # of another signature, or itself
            return dice.choice(library.function).signature.name
        return make_function(dice, library, [*also, *takes], results, depth)

    roll, stateless = dice.random(), dice.choice(("", "Stateless"))
    if roll < 0.3:
        op = dice.choice(("PartitionedCall", "StatefulPartitionedCall"))
        return nodes.add(op, *inputs, Tin=takes, Tout=gives, f=new(gives))
    if roll < 0.5:
        dtype = dice.choice((BOOL, INT, TEXT, FLOAT))
        chosen = nodes.of_type(values, dtype)
        return nodes.add(f"{stateless}If", chosen, *inputs, Tcond=dtype, Tin=takes, Tout=gives,
                         then_branch=new(gives), else_branch=new(gives))  # fmt: skip
    if roll < 0.65:
        branches = [new(gives) for _ in range(dice.choice((1, 2, 3)))]
        index = nodes.of_type(values, INT)
        return nodes.add(f"{stateless}Case", index, *inputs, Tin=takes, Tout=gives,
                         branches=branches)  # fmt: skip
    if roll < 0.8:
        limits = [nodes.literal(np.int32(dice.choice((0, 1, 3, 5))), INT) for _ in range(2)]
        delta = nodes.literal(np.int32(dice.choice((1, 1, 2, -1, 0))), INT)
        body = new(takes, [INT])
        return nodes.add("For", *limits, delta, *inputs, T=takes, body=body)
    if roll < 0.9 and takes:
        decides = dice.choice((BOOL, BOOL, INT, FLOAT))
        cond, body = new([decides]), new(takes)
        return nodes.add(f"{stateless}While", *inputs, T=takes, cond=cond, body=body)
    if takes and gives:
        called = new(gives)
        sides = [*inputs, *(nodes.of_type(values, dtype) for dtype in gives)]
        return nodes.add("SymbolicGradient", *sides, Tin=[*takes, *gives], Tout=takes, f=called)
    return []


def _corrupt(dice: random.Random, function: Any) -> None:
    roll = dice.random()
    signature = function.signature
    if roll < 0.3 and function.node_def:
        node = dice.choice(function.node_def)
        if node.input:
            node.input[dice.randrange(len(node.input))] = dice.choice(
                ("absent:y:0", "x0", "n0:output:7", "^absent", "n0", "")
            )
    elif roll < 0.5 and signature.input_arg:
        dice.choice(signature.input_arg).type = draw.dtype(dice)
    elif roll < 0.7 and signature.output_arg:
        if dice.random() < 0.5:
            dice.choice(signature.output_arg).type = draw.dtype(dice)
        else:
            del function.ret[signature.output_arg[0].name]
    elif roll < 0.85:
        node = function.node_def.add(name="again", op="PartitionedCall")
        node.attr["f"].func.name = signature.name
        node.attr["Tin"].list.SetInParent()
        node.attr["Tout"].list.SetInParent()
        function.control_ret["again"] = "again"
        signature.control_output.append("again")
    elif function.node_def:
        dice.choice(function.node_def).op = dice.choice(("Absent", "Const", signature.name))


def make_case(dice: random.Random) -> Any:
    """A graph that calls functions (kind `functions`), run a few times with other feeds."""
    from fuzz_case import Case, Run

    from headrace.formats.proto.graph_pb2 import GraphDef

    graph = GraphDef()
    nodes = Nodes(dice, graph.node, in_function=False)
    feeds, values = {}, []
    for dtype in NUMBERS:
        ((name, _),) = nodes.add("Placeholder", dtype=dtype, shape=None)
        values.append((name, dtype))
        feeds[f"{name}:0"] = draw.tensor(dice, dtype, dice.choice(((), (), (2,), (2, 3))))
    for _ in range(dice.choice((1, 2, 3, 5))):
        values += call_function(nodes, graph.library, values, depth=2)
    names = [name if ":" in name else f"{name}:0" for name, _ in values[4:]] or ["n0:0"]
    runs = [Run(dict(feeds), names[-4:], nodes.controls[-1:])] * 2
    for _ in range(dice.choice((0, 1, 2))):
        other = {
            name: draw.tensor(dice, values[i][1], draw.shape_like(dice, value.shape))
            for i, (name, value) in enumerate(feeds.items())
        }
        runs.append(Run(other, [dice.choice(names)], []))
    return Case(graph, runs, random=True)
