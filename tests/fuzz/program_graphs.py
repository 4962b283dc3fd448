"""Graphs with branches, loops, variables, queues and TensorArrays (kind `programs`).

They are built from nodes, since headrace.graph rejects many of them: loop variables change their
shape, variables change their shape, predicates are not scalars.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import random_tensors as draw
from fuzz_case import Case, Run

from headrace.formats.proto.graph_pb2 import GraphDef, NodeDef
from headrace.formats.tensor_codec import make_shape_proto, make_tensor_proto

FLOAT, INT, BOOL, RESOURCE = 1, 3, 10, 20
UNARY = ("Neg", "Tanh", "Abs", "Relu", "Square", "Exp", "Identity", "Sigmoid", "Floor", "Sign")
BINARY = ("Add", "Sub", "Mul", "Maximum", "Minimum", "AddV2", "SquaredDifference", "RealDiv")
REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod")
Value = tuple[str, int]  # the name of a tensor, and its dtype


def make_case(dice: random.Random) -> Case:
    """A program of 3 to 25 statements, run a few times with feeds of several shapes."""
    program = Program(dice)
    for _ in range(dice.choice((3, 5, 8, 12, 25))):
        program.statement(2)
    if dice.random() < 0.25:
        program.corruption()
    return program.case()


class Program:
    """A graph under construction; `values` are what a statement may use."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.graph = GraphDef()
        self.graph.versions.producer = 20
        self.values: list[Value] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.targets: list[str] = []
        self.controls: list[str] = []  # nodes that a statement may wait for
        self.variables: list[tuple[str, int, bool, tuple[int, ...]]] = []
        self.queues: list[tuple[str, int]] = []
        self.random = False
        self.frames: list[tuple[str, str]] = []  # the loops around: name, a node inside
        self.shapes = [draw.shape(dice, dice.choice((0, 1, 2, 2, 3))), draw.shape(dice)]
        for _ in range(dice.choice((1, 2, 3))):
            self.placeholder(dice.choice((FLOAT, FLOAT, INT)))
        self.constant(FLOAT)
        for _ in range(dice.choice((0, 1, 2))):
            self.new_variable()
        if dice.random() < 0.25:
            self.new_queue()

    # ---- parts ----

    def node(self, op: str, inputs: list[str], **attrs: Any) -> NodeDef:
        """Adds a node; the Python type of an attribute determines the field of AttrValue."""
        result = self.graph.node.add(name=f"n{len(self.graph.node)}", op=op, input=inputs)
        if self.frames and not inputs:
            result.input.append(f"^{self.frames[-1][1]}")  # else it is outside of the loop
        for key, value in attrs.items():
            attr = result.attr[key]
            if key in ("T", "dtype", "Index", "Tidx", "Tshape", "DstT", "SrcT", "Tperm", "TI",
                       "Tparams", "Tindices", "Taxis", "element_dtype", "out_type"):  # fmt: skip
                attr.type = value
            elif isinstance(value, bool):
                attr.b = value
            elif isinstance(value, int):
                attr.i = value
            elif isinstance(value, str):
                attr.s = value.encode()
            elif isinstance(value, np.ndarray):
                attr.tensor.CopyFrom(make_tensor_proto(value))
            elif isinstance(value, list):
                attr.list.type.extend(value)
            else:
                attr.shape.CopyFrom(make_shape_proto(value[0]))
        return result

    def array(self, dtype: int, dims: tuple[int, ...] | None = None) -> np.ndarray:
        """Values for a shape; those of the program, if it has no dims."""
        if dims is None:
            dims = self.shapes[0]
            if self.dice.random() < 0.3:
                dims = draw.shape_like(self.dice, self.dice.choice(self.shapes))
        return draw.tensor(self.dice, dtype, dims)

    def constant(self, dtype: int, dims: tuple[int, ...] | None = None) -> Value:
        value = self.array(dtype, dims)
        return self._made(self.node("Const", [], dtype=dtype, value=value), dtype)

    def literal(self, value: Any, dtype: int = INT) -> str:
        """The name of a constant that is not a value of the program."""
        kind = {INT: np.int32, BOOL: np.bool_, FLOAT: np.float32, 9: np.int64}[dtype]
        return self.node("Const", [], dtype=dtype, value=np.array(value, kind)).name

    def placeholder(self, dtype: int) -> Value:
        value = self.array(dtype)
        known: Any = None if self.dice.random() < 0.5 else list(value.shape)
        if known and self.dice.random() < 0.5:
            known[self.dice.randrange(len(known))] = None
        result = self.node("Placeholder", [], dtype=dtype, shape=(known,))
        self.feeds[f"{result.name}:0"] = value
        return self._made(result, dtype)

    def new_variable(self) -> None:
        """A variable of either kind, with an initialiser that runs in the same step."""
        dims = self.dice.choice(self.shapes)
        dtype = self.dice.choice((FLOAT, FLOAT, FLOAT, INT))
        known = None if self.dice.random() < 0.2 else dims
        resource = self.dice.random() < 0.5
        op = "VarHandleOp" if resource else "VariableV2"
        around, self.frames = self.frames, []
        result = self.node(op, [], dtype=dtype, shape=(known,))
        self.frames = around
        if resource:  # all handles without a name are one variable in TensorFlow
            result.attr["shared_name"].s = result.name.encode()
        if self.dice.random() < 0.1:
            result.attr["shared_name"].s = b"shared"
        self.variables.append((result.name, dtype, resource, dims))
        if self.dice.random() < 0.9:
            self.assign(self.variables[-1], self.constant(dtype, dims)[0])

    def assign(self, variable: tuple[str, int, bool, tuple[int, ...]], value: str) -> None:
        name, dtype, resource, _ = variable
        name = self.entered(name, dtype, resource)
        waits = self._waits()
        if resource:
            result = self.node("AssignVariableOp", [name, value, *waits], dtype=dtype)
        else:
            validate = self.dice.random() < 0.6
            result = self.node("Assign", [name, value, *waits], T=dtype, validate_shape=validate)
            self._made(result, dtype)
        self.controls.append(result.name)
        self.targets.append(result.name)

    def entered(self, name: str, dtype: int, resource: bool) -> str:
        """A handle or a reference from outside, passed into the enclosing loops."""
        for frame, _ in self.frames:
            kind = RESOURCE if resource else dtype
            name = self.node("Enter" if resource else "RefEnter", [name], T=kind,
                             frame_name=frame, is_constant=True).name  # fmt: skip
        return name

    def new_queue(self) -> None:
        dtype = self.dice.choice((FLOAT, INT))
        op = self.dice.choice(("FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2"))
        around, self.frames = self.frames, []
        result = self.node(op, [], component_types=[dtype], capacity=self.dice.choice((-1, 1, 5)))
        self.frames = around
        if op == "PaddingFIFOQueueV2" or self.dice.random() < 0.3:
            result.attr["shapes"].list.shape.append(make_shape_proto(self.dice.choice(self.shapes)))
        self.queues.append((result.name, dtype))

    def _made(self, node: NodeDef, dtype: int, index: int = 0) -> Value:
        value = (node.name if index == 0 else f"{node.name}:{index}", dtype)
        self.values.append(value)
        return value

    def pick(self, dtype: int) -> str:
        """A value of a dtype, usually one of the latest."""
        fitting = [name for name, other in self.values if other == dtype]
        if not fitting:
            return self.constant(dtype)[0]
        return self.dice.choice(fitting[-4:] if self.dice.random() < 0.7 else fitting)

    def _waits(self) -> list[str]:
        if self.controls and self.dice.random() < 0.7:
            return [f"^{self.controls[-1]}"]
        return []

    # ---- statements ----

    def statement(self, depth: int) -> None:
        """Adds one statement, which may contain others."""
        choices: list[tuple[int, Callable[[int], None]]] = [
            (6, self._arithmetic), (3, self._shaping), (2, self._indexing), (3, self._state),
            (2, self._cond if depth else self._arithmetic),
            (2, self._loop if depth else self._arithmetic),
            (1, self._queue), (1, self._array if self.dice.random() < 0.05 else self._predicate),
        ]  # fmt: skip
        weights = [weight for weight, _ in choices]
        self.dice.choices([choice for _, choice in choices], weights)[0](depth)

    def _arithmetic(self, depth: int) -> None:
        dtype = self.dice.choice((FLOAT, FLOAT, FLOAT, INT))
        roll = self.dice.random()
        if roll < 0.4:
            op = self.dice.choice(UNARY if dtype == FLOAT else ("Neg", "Abs", "Square", "Identity"))
            result = self.node(op, [self.pick(dtype)], T=dtype)
        elif roll < 0.8:
            op = self.dice.choice(BINARY if dtype == FLOAT else BINARY[:-1])
            result = self.node(op, [self.pick(dtype), self.pick(dtype)], T=dtype)
        elif roll < 0.85:
            result = self.node("MatMul", [self.pick(FLOAT), self.pick(FLOAT)], T=FLOAT,
                             transpose_b=self.dice.random() < 0.5)  # fmt: skip
            dtype = FLOAT
        else:
            result = self.node("Cast", [self.pick(dtype)], SrcT=dtype, DstT=INT + FLOAT - dtype)
            dtype = INT + FLOAT - dtype
        self._made(result, dtype)

    def _shaping(self, depth: int) -> None:
        x = self.pick(FLOAT)
        roll = self.dice.random()
        axis = self.literal(self.dice.choice((0, 0, 1, -1, 2)))
        if roll < 0.3:
            op = self.dice.choice(REDUCTIONS)
            keep = self.dice.random() < 0.5
            result = self.node(op, [x, axis], T=FLOAT, Tidx=INT, keep_dims=keep)
        elif roll < 0.45:
            dims = self.dice.choice(([-1], [-1, 1], [1, -1], [min(n, 99) for n in self.shapes[0]]))
            result = self.node("Reshape", [x, self.literal(dims)], T=FLOAT, Tshape=INT)
        elif roll < 0.6:
            shape = self.node("Shape", [x], T=FLOAT, out_type=INT)
            self._made(shape, INT)
            result = self.node("Fill", [shape.name, self.literal(0.5, FLOAT)], T=FLOAT)
        elif roll < 0.75:
            many = self.dice.choice((2, 2, 3))
            inputs = [self.pick(FLOAT) for _ in range(many)]
            result = self.node("ConcatV2", [*inputs, axis], T=FLOAT, Tidx=INT, N=many)
        elif roll < 0.85:
            many = self.dice.choice((1, 2, 3))
            result = self.node("Pack", [self.pick(FLOAT) for _ in range(many)], T=FLOAT, N=many)
        elif roll < 0.93:
            result = self.node("ExpandDims", [x, axis], T=FLOAT, Tdim=3)
            result.attr["Tdim"].type = INT
        else:
            result = self.node("Tile", [x, self.pick(INT)], T=FLOAT)
        self._made(result, FLOAT)

    def _indexing(self, depth: int) -> None:
        x, at = self.pick(FLOAT), self.pick(INT)
        roll = self.dice.random()
        one = self.literal([self.dice.choice((0, 1, 1, 2, -1, 5))])
        if roll < 0.4:
            begin = at if self.dice.random() < 0.5 else one
            result = self.node("StridedSlice", [x, begin, self.literal([3]), self.literal([1])],
                             T=FLOAT, Index=INT, shrink_axis_mask=self.dice.choice((0, 1)),
                             end_mask=self.dice.choice((0, 1)))  # fmt: skip
        elif roll < 0.7:
            result = self.node("GatherV2", [x, at, self.literal(0)], Tparams=FLOAT, Tindices=INT,
                             Taxis=INT)  # fmt: skip
        elif roll < 0.85:
            result = self.node("Slice", [x, at, one], T=FLOAT, Index=INT)
        else:
            result = self.node("Range", [self.literal(0), at, self.literal(1)], Tidx=INT)
            self._made(result, INT)
            return
        self._made(result, FLOAT)

    def _predicate(self, depth: int) -> None:
        dtype = self.dice.choice((FLOAT, INT))
        result = self.node(self.dice.choice(("Less", "Greater")), [self.pick(dtype)] * 2, T=dtype)
        result.input[1] = self.pick(dtype)
        self._made(result, BOOL)

    def _state(self, depth: int) -> None:
        if not self.variables:
            return self.new_variable()
        variable = self.dice.choice(self.variables)
        name, dtype, resource, dims = variable
        name = self.entered(name, dtype, resource)
        roll = self.dice.random()
        value = self.pick(dtype) if roll < 0.5 else self.constant(dtype, dims)[0]
        if roll < 0.35:
            op, key = ("ReadVariableOp", "dtype") if resource else ("Identity", "T")
            result = self.node(op, [name, *self._waits()], **{key: dtype})
            self._made(result, dtype)
        elif roll < 0.65:
            self.assign(variable, value)
            return
        elif roll < 0.85:
            op, key = ("AssignAddVariableOp", "dtype") if resource else ("AssignAdd", "T")
            result = self.node(op, [name, value, *self._waits()], **{key: dtype})
            self.targets.append(result.name)
        else:
            op = "ResourceScatterAdd" if resource else "ScatterAdd"
            key = "dtype" if resource else "T"
            result = self.node(op, [name, self.pick(INT), value, *self._waits()], Tindices=INT,
                             **{key: dtype})  # fmt: skip
            self.targets.append(result.name)
        self.controls.append(result.name)

    def _queue(self, depth: int) -> None:
        if not self.queues:
            return self.new_queue()
        self.random = True
        name, dtype = self.dice.choice(self.queues)
        name = self.entered(name, dtype, True)
        roll = self.dice.random()
        waits = self._waits()
        if roll < 0.5:
            result = self.node("QueueEnqueueV2", [name, self.pick(dtype), *waits])
            result.attr["Tcomponents"].list.type.append(dtype)
            self.targets.append(result.name)
        elif roll < 0.6:
            result = self.node("QueueEnqueueManyV2", [name, self.pick(dtype), *waits])
            result.attr["Tcomponents"].list.type.append(dtype)
        elif roll < 0.9:
            op = self.dice.choice(("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2"))
            inputs = [name] if op == "QueueDequeueV2" else [name, self.literal(1)]
            result = self.node(op, [*inputs, *waits], component_types=[dtype])
            self._made(result, dtype)
        elif roll < 0.95:
            result = self.node("QueueSizeV2", [name, *waits])
            self._made(result, INT)
        else:
            result = self.node("QueueCloseV2", [name, *waits])
            self.targets.append(result.name)
        self.controls.append(result.name)

    def _array(self, depth: int) -> None:
        """A TensorArray: some writes, then a read or a gather."""
        result = self.node(
            "TensorArrayV3", [self.literal(self.dice.choice((0, 2, 3)))], dtype=FLOAT
        )
        result.attr["dynamic_size"].b = self.dice.random() < 0.5
        result.attr["clear_after_read"].b = self.dice.random() < 0.5
        flow = f"{result.name}:1"
        for _ in range(self.dice.choice((1, 2, 3))):
            index = self.literal(self.dice.choice((0, 1, 2, 5, -1)))
            flow = self.node("TensorArrayWriteV3", [result.name, index, self.pick(FLOAT), flow],
                             T=FLOAT).name  # fmt: skip
        op, key = self.dice.choice((("TensorArrayReadV3", 0), ("TensorArrayGatherV3", [0, 1])))
        got = self.node(op, [result.name, self.literal(key), flow], dtype=FLOAT)
        self._made(got, FLOAT)

    def _cond(self, depth: int) -> None:
        """Switch and Merge; branches use outside values through Switches only."""
        x = self.pick(FLOAT)
        pred = self.pick(BOOL) if self.dice.random() < 0.3 else self._scalar_predicate(x)
        switch = self.node("Switch", [x, pred], T=FLOAT)
        ends = []
        outside, controls = self.values, self.controls
        for index in (0, 1):
            self.values = [(f"{switch.name}:{index}" if index else switch.name, FLOAT)]
            self.controls = []
            for _ in range(self.dice.choice((0, 1, 2, 4))):
                self.statement(depth - 1)
            ends.append(self.pick(FLOAT))
        self.values, self.controls = outside, controls
        merge = self.node("Merge", ends, T=FLOAT, N=2)
        self._made(merge, FLOAT)
        self._made(merge, INT, 1)

    def _scalar_predicate(self, x: str) -> str:
        total = self.node("Sum", [x, self.literal(list(range(self.dice.choice((0, 1, 2)))))],
                          T=FLOAT, Tidx=INT)  # fmt: skip
        size = self.node("Size", [total.name], T=FLOAT, out_type=INT)
        return self.node("Less", [size.name, self.literal(self.dice.choice((0, 2, 9)))], T=INT).name

    def _loop(self, depth: int) -> None:
        """A while loop over a counter and one or two values."""
        frame = f"frame{len(self.graph.node)}"
        times = self.dice.choice((0, 1, 2, 3, 10, 10, 1000))
        limit = self.literal(times)
        many = self.dice.choice((1, 2))
        starts = [self.literal(0), *(self.pick(FLOAT) for _ in range(many))]
        types = [INT] + [FLOAT] * many
        parallel = self.dice.choice((1, 2, 10, 32))
        enters = [
            self.node("Enter", [s], T=t, frame_name=frame, parallel_iterations=parallel)
            for s, t in zip(starts, types, strict=True)
        ]
        fixed = [
            self.node("Enter", [v], T=t, frame_name=frame, is_constant=True,
                      parallel_iterations=parallel)
            for v, t in ((limit, INT), (self.pick(FLOAT), FLOAT))
        ]  # fmt: skip
        merges = [
            self.node("Merge", [e.name, e.name], T=t, N=2)
            for e, t in zip(enters, types, strict=True)
        ]
        less = self.node("Less", [merges[0].name, fixed[0].name], T=INT)
        taken = self.node("LoopCond", [less.name])
        switches = [
            self.node("Switch", [m.name, taken.name], T=t)
            for m, t in zip(merges, types, strict=True)
        ]
        outside, controls = self.values, self.controls
        self.values = [(f"{s.name}:1", t) for s, t in zip(switches, types, strict=True)]
        self.values.append((fixed[1].name, FLOAT))
        self.controls = []
        inside = self.node("Identity", [f"{switches[0].name}:1"], T=INT)
        self.frames.append((frame, inside.name))
        counted = self.node("Add", [inside.name, self.literal(1)], T=INT)
        for _ in range(self.dice.choice((1, 1, 2, 4))):
            self.statement(depth - 1)
        ends = [counted.name, *(self.pick(FLOAT) for _ in range(many))]
        own = {inside.name, *(switch.name for switch in switches)}
        ends = [self._ending(end, own, inside.name) for end in ends]
        for merge, end, dtype in zip(merges, ends, types, strict=True):
            merge.input[1] = self.node("NextIteration", [end], T=dtype).name
        self.frames.pop()
        self.values, self.controls = outside, controls
        for switch, dtype in zip(switches, types, strict=True):
            self._made(self.node("Exit", [switch.name], T=dtype), dtype)

    def _ending(self, end: str, own: set[str], inside: str) -> str:
        """A value that is dead once the loop is over, like `inside` and the nodes of the loop.

        A value that depends only on loop constants is live in every iteration; after NextIteration
        it starts iterations without end in TensorFlow.
        """
        nodes = {node.name: node for node in self.graph.node}
        ahead, reached = [end], set()
        while ahead:
            name = ahead.pop().lstrip("^").partition(":")[0]
            if name not in reached:
                reached.add(name)
                if name in own:
                    return end
                if not nodes[name].op.endswith("Enter"):
                    ahead += nodes[name].input
        return self.node("Identity", [end, f"^{inside}"], T=FLOAT).name

    # ---- the whole ----

    def corruption(self) -> None:
        """Redirects one or two edges to other nodes, or removes one."""
        for _ in range(self.dice.choice((1, 1, 2))):
            node = self.dice.choice(self.graph.node)
            if not node.input:
                continue
            at = self.dice.randrange(len(node.input))
            roll = self.dice.random()
            if roll < 0.6:
                node.input[at] = self.dice.choice(self.graph.node).name
            elif roll < 0.8:
                node.input.append(f"^{self.dice.choice(self.graph.node).name}")
            else:
                del node.input[at]

    def case(self) -> Case:
        """The case: twice the same run, then other feeds and other fetches."""
        names = [f"{n}:0" if ":" not in n else n for n, t in self.values if t != RESOURCE]
        last = names[-4:]
        if self.dice.random() < 0.3:
            last = [self.dice.choice(names)]
        targets = list(dict.fromkeys(self.targets)) if self.dice.random() < 0.7 else []
        runs = [Run(dict(self.feeds), last, targets)] * 2
        for _ in range(self.dice.choice((0, 1, 3))):
            feeds = {}
            for name, value in self.feeds.items():
                dims = draw.shape_like(self.dice, value.shape)
                number = FLOAT if value.dtype == np.float32 else INT
                feeds[name] = draw.tensor(self.dice, number, dims)
            fetches = last if self.dice.random() < 0.5 else [self.dice.choice(names)]
            runs.append(Run(feeds, fetches, targets))
        changes = bool(self.variables)  # the second run starts from what the first has left
        return Case(self.graph, runs, random=self.random or changes)
