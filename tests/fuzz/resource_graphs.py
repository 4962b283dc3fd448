"""Ops of one family on one resource, with values that mostly suit it (kind `resources`).

Queues, accumulators, barriers, stages, mutexes, tables, readers, lists, arrays, stacks, handles.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import random_tensors as draw
from fuzz_case import Case, Run
from op_graphs import RESOURCE, VARIANT, OpGraph, op_names
from written_files import FILES

from headrace.formats import op_catalogue
from headrace.formats.op_signature import Arg, Attr, Signature
from headrace.formats.proto.graph_pb2 import NodeDef
from headrace.formats.proto.run_pb2 import ConfigProto

_TEXT, _FIXED = 7, ("n", "num_elements", "index", "size", "handle", "num_required", "capacity")
# Family: the ops that make its handles, and what the names of its other ops begin with.
FAMILIES = {
    "queue": ("FIFOQueueV2 PaddingFIFOQueueV2 RandomShuffleQueueV2 PriorityQueueV2", "Queue"),
    "barrier": ("Barrier", "Barrier"),
    "accumulator": ("ConditionalAccumulator", "Accumulator"),
    "sparse accumulator": ("SparseConditionalAccumulator", "SparseAccumulator Accumulator"),
    "resource accumulator": ("ResourceConditionalAccumulator", "ResourceAccumulator"),
    "stage": ("", "Stage Unstage"),
    "map stage": ("", "MapStage MapPeek MapUnstage MapSize MapIncomplete MapClear"),
    "ordered stage": ("", "OrderedMap"),
    "mutex": ("MutexV2", "MutexLock ConsumeMutexLock"),
    "table": ("HashTableV2", "LookupTable InitializeTable"),
    "mutable table": ("MutableHashTableV2", "LookupTable"),
    "table of tensors": ("MutableHashTableOfTensorsV2", "LookupTable"),
    "dense table": ("MutableDenseHashTableV2", "LookupTable"),
    "reader": (
        "TextLineReaderV2 TFRecordReaderV2 WholeFileReaderV2 IdentityReaderV2"
        " FixedLengthRecordReaderV2",
        "Reader QueueEnqueueV2",
    ),
    "list": ("EmptyTensorList TensorListReserve TensorListFromTensor", "TensorList"),
    "array": ("TensorArrayV3", "TensorArray"),
    "stack": ("StackV2", "Stack"),
    "session handle": ("GetSessionHandle GetSessionHandleV2", "GetSession DeleteSession"),
    "variable": (
        "VarHandleOp",
        "Temporary DestroyTemporary ReadVariable AssignVariable AssignAddVariable VarIsInitialized"
        " ResourceCountUpTo DestroyResource ResourceGather ResourceScatter VariableShape",
    ),
}


def make_case(dice: random.Random) -> Case:
    """Two to ten ops on one or two handles; each run fetches some of them."""
    builder = FamilyGraph(dice, dice.choice(list(FAMILIES)))
    return builder.whole()


class FamilyGraph(OpGraph):
    """A graph whose ops share handles, dtypes and shapes."""

    def __init__(self, dice: random.Random, family: str) -> None:
        super().__init__(dice)
        makers, starts = (tuple(names.split()) for names in FAMILIES[family])
        self.family, self.makers = family, makers
        self.ops = [
            name
            for name in op_names()
            if name.startswith(starts) and name not in makers
            and (self._is_plain(name) or family in ("barrier", "accumulator", "sparse accumulator"))
        ]  # fmt: skip
        self.random = True
        self.base = tuple(dice.choice((1, 2, 3)) for _ in range(dice.choice((0, 0, 1, 2))))
        common = (1, 1, 3, 9, 7, 2) if "table" not in family else (9, 7, 3)
        self.types = [dice.choice(common) for _ in range(dice.choice((1, 1, 1, 2)))]
        if family == "reader":
            self.types, self.base = [_TEXT], ()
        if family == "barrier":
            self.base = ()
        if family == "table of tensors":
            self.base = (dice.choice((1, 2)),)
        if "accumulator" in family:
            self.types = [dice.choice((1, 1, 2, 19))]
        self.key = dice.choice((7, 9)) if "table" in family else self.types[0]
        self.made: list[NodeDef] = []
        self.queue = ""

    @staticmethod
    def _is_plain(name: str) -> bool:
        signature = op_catalogue.signature(name)
        return not any(arg.is_ref for arg in signature.inputs + signature.outputs)

    def whole(self) -> Case:
        """Adds the handle and the ops. Returns: the case."""
        if self.makers:
            self.add(self.dice.choice(self.makers))
        if self.family == "reader":
            self.queue = self._queue()
        for _ in range(self.dice.choice((2, 3, 5, 10))):
            self.base = self.base if self.dice.random() < 0.97 else draw.shape(self.dice)
            node = self.add(self.dice.choice(self.ops))
            if self.made and self.dice.random() < 0.3:
                node.input.append(f"^{self.dice.choice(self.made).name}")
            self.made.append(node)
        ends = [node.name for node in self.made]
        runs = []
        for _ in range(self.dice.choice((2, 3, 4))):
            few = self.dice.choice((0.2, 0.2, 0.8))
            fetches = [f for f in self.fetches if self.dice.random() < few]
            targets = [t for t in ends if self.dice.random() < few] or ends[-1:]
            runs.append(Run(dict(self.feeds), fetches, targets))
        config = ConfigProto()
        if self.dice.random() < 0.1:
            config.experimental.plan_memory_limit_bytes = self.dice.choice((1, 1000, 100_000))
        return Case(self.graph, runs, random=True, config=config.SerializeToString())

    def _queue(self) -> str:
        node = self.graph.node.add(name="files", op="FIFOQueueV2")
        node.attr["component_types"].list.type.append(_TEXT)
        node.attr["capacity"].i = 3
        return node.name

    def input(self, arg: Arg, number: int, op: str, depth: int) -> tuple[str, list[str]]:
        """The handle of the case, or a value that suits it."""
        dice = self.dice
        if dice.random() < 0.03 or number not in (*draw.WITH_ARRAYS, RESOURCE, VARIANT):
            return super().input(arg, number, op, depth)
        if self.queue and ("queue" in arg.name or op.startswith("Queue")) and number == RESOURCE:
            return self.queue, []
        handles = [
            name for name, dtype in self.outputs
            if dtype == number and number in (RESOURCE, VARIANT) or arg.is_ref and dtype > 100
        ]  # fmt: skip
        if handles:
            return handles[-1] if dice.random() < 0.8 else dice.choice(handles), []
        if number in (RESOURCE, VARIANT) or arg.is_ref:
            return super().input(arg, number, op, depth)
        flows = [name for name, dtype in self.outputs if ":1" in name and dtype == 1]
        if "flow" in arg.name and flows:
            return flows[-1], []
        if (
            arg.name == "handle"
            and number == _TEXT
            and self.outputs
            and self.family == "session handle"
        ):
            texts = [name for name, dtype in self.outputs if dtype == _TEXT]
            return (dice.choice(texts) if texts else self.value(_TEXT, ())[0]), []
        return self._suitable(arg, number, op)

    def _suitable(self, arg: Arg, number: int, op: str) -> tuple[str, list[str]]:
        dice = self.dice
        name = arg.name
        if self.queue and number == _TEXT and dice.random() < 0.8:
            return self._constant(np.array(dice.choice(FILES), object), number), []
        if name in ("element_shape", "leading_dims") or "shape" in name:
            dims = [-1 if dice.random() < 0.2 else n for n in self.base]
            return self._constant(
                np.array(dims if dice.random() < 0.8 else -1, np.int64), number
            ), []
        if name in _FIXED and number in (3, 9) or name.startswith(("num", "max_num")):
            return self._constant(np.array(dice.choice((0, 1, 1, 2, 3, -1)), np.int64), number), []
        if name in ("indices", "lengths") and number in (3, 9):
            count = dice.choice((0, 1, 2, 3))
            return self._constant(np.arange(count, dtype=np.int64), number), []
        signature = op_catalogue.signature(op)
        ranks = op_catalogue.input_ranks(op)
        places = [i for i, each in enumerate(signature.inputs) if each.name == name]
        if places and places[0] < len(ranks) and ranks[places[0]] == 1:  # only a scalar fits
            return self.value(number, ())
        batched = "Many" in op or name in ("keys", "key", "tensor") and dice.random() < 0.7
        dims = (dice.choice((1, 2, 3)), *self.base) if batched else self.base
        if "Lookup" in op or "Initialize" in op:
            dims = (3,) if name == "keys" else (3, *self.base)
            dims = self.base if name == "default_value" else dims
        return self.value(number, dims)

    def _constant(self, value: np.ndarray, number: int) -> str:
        from headrace.formats.dtypes import as_dtype
        from headrace.formats.tensor_codec import make_tensor_proto

        node = self.graph.node.add(name=f"n{len(self.graph.node)}", op="Const")
        node.attr["dtype"].type = number
        if number in draw.WITH_ARRAYS and number != _TEXT:
            value = value.astype(as_dtype(number).as_numpy_dtype)
        node.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
        return node.name

    def attribute(self, attr: Attr, signature: Signature) -> Any:
        """The attribute that suits the handle, mostly."""
        dice, name = self.dice, attr.name
        if dice.random() < 0.03:
            return super().attribute(attr, signature)
        if attr.kind == "list(type)":
            return list(self.types)
        if attr.kind == "type":
            if "key" in name.lower() or name in ("Tin",):
                return self.key
            if "ndices" in name:
                return dice.choice((3, 9))
            if attr.allowed and self.types[0] not in attr.allowed:
                return dice.choice(attr.allowed)
            return self.types[0]
        if attr.kind == "list(shape)":
            free = self.family not in ("barrier",) and dice.random() < 0.5
            return [] if free else [self.base] * len(self.types)
        if attr.kind == "shape":
            return None if dice.random() < 0.1 else self.base
        if name in ("shared_name", "container"):
            return "same" if name == "shared_name" and "stage" in self.family else ""
        if self.family == "barrier" and name == "capacity":
            return -1
        if name == "capacity" or name.endswith("_limit"):
            return dice.choice((1, 2, 5, 0, -1)) if attr.minimum is None else dice.choice((0, 1, 3))
        if name == "initial_num_buckets":
            return dice.choice((4, 8, 16, 131072, 5))
        if name in ("key_index", "value_index"):
            return dice.choice((-2, -1, 0, 1))
        return super().attribute(attr, signature)
