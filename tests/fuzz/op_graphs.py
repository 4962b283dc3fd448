"""Graphs of one or a few nodes, of any op of the catalogue (kind `ops`)."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import numpy as np
import random_tensors as draw
from fuzz_case import Case, Run

from headrace.formats import op_catalogue
from headrace.formats.op_signature import NO_DEFAULT, Arg, Attr, Signature, Vector
from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef
from headrace.formats.tensor_codec import make_shape_proto, make_tensor_proto

# Ops that are not tried, each with its reason.
LEFT_OUT = {
    "Abort": "ends the process in TensorFlow",
    "Timestamp": "two runs differ",
}
_FIELD = {"type": "type", "int": "i", "float": "f", "bool": "b", "string": "s"}
RESOURCE, VARIANT = 20, 21
_REF = 100

# For inputs that are handles: which ops' handles an op most likely wants, by a part of its name.
_MAKERS = (
    ("Queue", ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")),
    ("Reader", ("TextLineReader", "WholeFileReader", "IdentityReader", "FixedLengthRecordReader")),
    ("TensorArray", ("TensorArray",)),
    ("Stack", ("Stack",)),
    ("Table", ("HashTable", "MutableHashTable", "MutableDenseHashTable")),
    ("Barrier", ("Barrier",)),
    ("Accumulator", ("ConditionalAccumulator", "SparseConditionalAccumulator")),
    ("Iterator", ("Iterator",)),
    ("Mutex", ("Mutex",)),
)
_SUFFIXES = ("", "V2", "V3", "OfTensors", "OfTensorsV2")


@lru_cache(maxsize=1)
def op_names() -> tuple[str, ...]:
    """All ops that are tried."""
    return tuple(n for n in op_catalogue.names() if n not in LEFT_OUT)


@lru_cache(maxsize=1)
def _variant_makers() -> tuple[str, ...]:
    return tuple(
        name
        for name in op_names()
        if any(arg.dtype == VARIANT for arg in op_catalogue.signature(name).outputs)
    )


def make_case(dice: random.Random) -> Case:
    """One op, or a chain of up to four; each runs twice, and a third time with other feeds."""
    builder = OpGraph(dice)
    count = dice.choice((1, 1, 1, 1, 2, 2, 3, 4))
    for _ in range(count):
        builder.add(dice.choice(op_names()))
    return builder.case()


def make_case_of(dice: random.Random, op: str) -> Case:
    """A case of one given op."""
    builder = OpGraph(dice)
    builder.add(op)
    return builder.case()


class OpGraph:
    """A graph under construction."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.graph = GraphDef()
        self.graph.versions.producer = 6  # TensorFlow took some old ops away after it
        self.outputs: list[tuple[str, int]] = []  # what later nodes may take, with dtypes
        self.feeds: dict[str, np.ndarray] = {}
        self.fetches: list[str] = []
        self.targets: list[str] = []
        self.random = False
        self.fed = dice.choice((0.0, 0.0, 0.5, 1.0))  # how many of the inputs are placeholders
        self.base = draw.shape(dice)

    def case(self) -> Case:
        """The case of what was added."""
        if self.dice.random() < 0.1:
            self.fetches = self.fetches[-1:]
        runs = [Run(dict(self.feeds), list(self.fetches), list(self.targets))] * 2
        if self.feeds:
            other = {}
            for name, value in self.feeds.items():
                dims = value.shape
                if self.dice.random() < 0.3:
                    dims = draw.shape_like(self.dice, dims)
                changed = self.dice.random() < 0.5
                number = self._number(value)
                other[name] = draw.tensor(self.dice, number, dims) if changed else value
            runs.append(Run(other, list(self.fetches), list(self.targets)))
        return Case(self.graph, runs, random=self.random)

    def add(self, op: str, depth: int = 0) -> NodeDef:
        """A node of an op with inputs made for it."""
        signature = op_catalogue.signature(op)
        if signature.stateful or "andom" in op or "Sample" in op:
            self.random = True
        if self.dice.random() < 0.3:
            self.base = draw.shape(self.dice)
        attrs = {attr.name: self.attribute(attr, signature) for attr in signature.attrs}
        inputs, controls = [], []
        for arg in signature.inputs:
            for number in self._types(arg, attrs):
                result, waits = self.input(arg, number, op, depth)
                inputs.append(result)
                controls += waits
        if inputs and self.dice.random() < 0.01:
            inputs.pop(self.dice.randrange(len(inputs)))
        node = self.graph.node.add(name=f"n{len(self.graph.node)}", op=op)
        node.input.extend([*inputs, *dict.fromkeys(controls)])
        for attr in signature.attrs:
            if attrs[attr.name] is not None or attr.kind == "shape":
                set_attr(node.attr[attr.name], attr.kind, attrs[attr.name])
        result = [n for arg in signature.outputs for n in self._types(arg, attrs)]
        is_ref = [arg.is_ref for arg in signature.outputs for _ in self._types(arg, attrs)]
        self._offer(node, result, is_ref, depth)
        return node

    def _offer(self, node: NodeDef, result: list[int], is_ref: list[bool], depth: int) -> None:
        for index, (number, ref) in enumerate(zip(result, is_ref, strict=True)):
            name = node.name if index == 0 else f"{node.name}:{index}"
            self.outputs.append((name, number + _REF if ref else number))
            fetched = number not in (RESOURCE, VARIANT) or self.dice.random() < 0.05
            if depth == 0 and fetched:
                self.fetches.append(f"{node.name}:{index}")
        if depth == 0 and not result:
            self.targets.append(node.name)

    def _number(self, value: np.ndarray) -> int:
        from headrace.formats.dtypes import as_dtype

        return int(as_dtype(value.dtype))

    def _types(self, arg: Arg, attrs: dict[str, Any]) -> list[int]:
        if arg.type_list_attr:
            return list(attrs[arg.type_list_attr] or ())
        number = arg.dtype or attrs[arg.type_attr]
        if not arg.number_attr:
            return [number]
        count = attrs[arg.number_attr]
        return [number] * (count if isinstance(count, int) and 0 <= count <= 8 else 2)

    # ---- inputs ----

    def input(self, arg: Arg, number: int, op: str, depth: int) -> tuple[str, list[str]]:
        """The name of a tensor for an input, and control inputs that make it usable."""
        expected = number + _REF if arg.is_ref else number
        fitting = [name for name, dtype in self.outputs if dtype in (expected, expected + _REF)]
        if fitting and self.dice.random() < 0.25:
            return self.dice.choice(fitting), []
        if self.outputs and self.dice.random() < 0.01:
            return self.dice.choice(self.outputs)[0], []
        if arg.is_ref and number != 7:
            return self.variable(number)
        if number == RESOURCE or arg.is_ref:
            return self.handle(op, arg, depth)
        if number == VARIANT:
            if depth > 2:
                return self.value(9, ())
            maker = self.dice.choice(_variant_makers())
            return self.add(maker, depth + 1).name, []
        if number not in draw.WITH_ARRAYS:
            return self.value(self.dice.choice(draw.ALL), ())
        return self.value(number, self._dims(arg, number))

    def _dims(self, arg: Arg, number: int) -> tuple[int, ...]:
        roll = self.dice.random()
        name = arg.name
        if roll < 0.7 and name in ("axis", "dim", "dimension", "num_segments", "size_scalar",
                                   "concat_dim", "split_dim", "k", "seed", "depth", "start",
                                   "limit", "delta", "lr", "alpha", "rho", "epsilon", "l1", "l2",
                                   "beta1", "beta2", "momentum", "index", "handle"):  # fmt: skip
            return ()
        if number in (3, 9) and roll < 0.35:
            return (len(self.base),) if roll < 0.25 else (self.dice.choice((0, 1, 2, 3, 4)),)
        return draw.shape_like(self.dice, self.base)

    def value(self, number: int, dims: tuple[int, ...]) -> tuple[str, list[str]]:
        """A constant or a fed placeholder."""
        array = draw.tensor(self.dice, number, dims)
        name = f"n{len(self.graph.node)}"
        if self.dice.random() < self.fed:
            node = self.graph.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = number
            known: Any = list(array.shape)
            roll = self.dice.random()
            if roll < 0.5:
                known = None
            elif roll < 0.7:
                known = [n if self.dice.random() < 0.5 else None for n in known]
            node.attr["shape"].shape.CopyFrom(make_shape_proto(known))
            self.feeds[f"{name}:0"] = array
        else:
            node = self.graph.node.add(name=name, op="Const")
            node.attr["dtype"].type = number
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(array))
        self.outputs.append((name, number))
        if self.dice.random() < 0.05:
            through = self.graph.node.add(name=f"{name}_i", op="Identity", input=[name])
            through.attr["T"].type = number
            return through.name, []
        return name, []

    def variable(self, number: int) -> tuple[str, list[str]]:
        """A reference variable, initialised in most graphs."""
        self.random = True  # the second run starts from what the first has left
        dims = draw.shape_like(self.dice, self.base)
        number = number if number in draw.WITH_ARRAYS else 1
        node = self.graph.node.add(name=f"n{len(self.graph.node)}", op="VariableV2")
        node.attr["dtype"].type = number
        known = None if self.dice.random() < 0.1 else dims
        node.attr["shape"].shape.CopyFrom(make_shape_proto(known))
        self._maybe_shared(node)
        if self.dice.random() < 0.05:
            return node.name, []
        value = self.value(number, dims)[0]
        init = self.graph.node.add(name=f"{node.name}_init", op="Assign", input=[node.name, value])
        init.attr["T"].type = number
        init.attr["validate_shape"].b = self.dice.random() < 0.7
        return node.name, [f"^{init.name}"]

    def handle(self, op: str, arg: Arg, depth: int) -> tuple[str, list[str]]:
        """A handle of the kind that the op probably needs, or sometimes of another."""
        self.random = True
        roll = self.dice.random()
        for part, makers in _MAKERS:
            if part.lower() in (op + arg.name).lower() and roll < 0.9:
                expected = [
                    name
                    for maker in makers
                    for suffix in _SUFFIXES
                    if op_catalogue.find(name := maker + suffix) is not None
                    and op_catalogue.signature(name).outputs[0].is_ref == arg.is_ref
                ]
                if expected and depth < 3:
                    return self.add(self.dice.choice(expected), depth + 1).name, []
        if arg.is_ref or roll > 0.97:
            return self.variable(7)
        dims = draw.shape_like(self.dice, self.base)
        number = draw.dtype(self.dice)
        held = number if number in draw.WITH_ARRAYS else 1
        node = self.graph.node.add(name=f"n{len(self.graph.node)}", op="VarHandleOp")
        node.attr["dtype"].type = number
        known = None if self.dice.random() < 0.2 else dims
        node.attr["shape"].shape.CopyFrom(make_shape_proto(known))
        self._maybe_shared(node)
        self.outputs.append((node.name, RESOURCE))
        if self.dice.random() < 0.05:
            return node.name, []
        value = self.value(held, dims)[0]
        init = self.graph.node.add(
            name=f"{node.name}_init", op="AssignVariableOp", input=[node.name, value]
        )
        init.attr["dtype"].type = held
        return node.name, [f"^{init.name}"]

    def _maybe_shared(self, node: NodeDef) -> None:
        if self.dice.random() < 0.1:
            node.attr["shared_name"].s = b"shared"

    # ---- attributes ----

    def attribute(self, attr: Attr, signature: Signature) -> Any:
        """A value for an attribute; None to omit it."""
        dice = self.dice
        if dice.random() < 0.004 and attr.kind not in ("type", "list(type)"):
            return None
        is_type = attr.kind in ("type", "list(type)")
        if attr.default is not NO_DEFAULT and dice.random() < (0.3 if is_type else 0.6):
            return attr.default
        if attr.kind.startswith("list("):
            return self._list(attr)
        return self._one(attr.kind, attr)

    def _list(self, attr: Attr) -> list[Any]:
        dice, kind = self.dice, attr.kind[5:-1]
        if kind == "int":
            if dice.random() < 0.5:  # strides and sizes of windows
                n, m = dice.choice((1, 2, 3)), dice.choice((1, 2, 3))
                return dice.choice(([1, n, m, 1], [1, 1, n, m], [1, n, m, n, 1], [n, m], [n]))
            return [self._one("int", attr) for _ in range(dice.randrange(6))]
        least = attr.minimum or 0
        return [self._one(kind, attr) for _ in range(least + dice.choice((0, 1, 1, 2, 3)))]

    def _one(self, kind: str, attr: Attr) -> Any:
        dice = self.dice
        if kind == "type":
            return draw.dtype(dice, tuple(attr.allowed or ()))
        if kind == "int":
            if dice.random() < 0.06:
                return dice.choice(draw.ABSURD_INTS)
            least = attr.minimum or 0
            return (
                least + dice.choice((0, 0, 1, 1, 2, 3))
                if dice.random() < 0.8
                else dice.choice(draw.INTS)
            )
        if kind == "float":
            return dice.choice(draw.FLOATS if dice.random() < 0.8 else draw.ABSURD_FLOATS)
        if kind == "bool":
            return dice.random() < 0.5
        if kind == "string":
            if attr.allowed and dice.random() < 0.95:
                return dice.choice(attr.allowed)
            return dice.choice(draw.WORDS)
        if kind == "shape":
            roll = dice.random()
            if roll < 0.1:
                return None
            dims = draw.shape_like(dice, self.base)
            return tuple(None if dice.random() < 0.1 else n for n in dims)
        if kind == "tensor":
            return draw.tensor(dice, dice.choice(draw.ALL), draw.shape_like(dice, self.base))
        return None  # functions


def set_attr(attr: Any, kind: str, value: Any) -> None:
    """Writes a value into an AttrValue."""
    if kind.startswith("list("):
        attr.list.SetInParent()
        for one in value or ():
            if kind == "list(shape)":
                attr.list.shape.append(make_shape_proto(one))
            elif kind == "list(func)":
                attr.list.func.add(name=one)
            else:
                one = one.encode() if isinstance(one, str) else one
                getattr(attr.list, _FIELD[kind[5:-1]]).append(one)
    elif kind == "shape":
        attr.shape.CopyFrom(make_shape_proto(value))
    elif kind == "tensor":
        if isinstance(value, Vector):
            value = np.array(value.values, np.uint8)
        attr.tensor.CopyFrom(make_tensor_proto(value))
    elif kind == "func":
        attr.func.name = value or ""
    else:
        setattr(attr, _FIELD[kind], value.encode() if isinstance(value, str) else value)
