"""Datasets, their functions and their iterators (kind `pipelines`)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import random_tensors as draw
from fuzz_case import Case, Run
from random_functions import BOOL, FLOAT, INT, LONG, NUMBERS, TEXT, VARIANT, Nodes, make_function
from written_files import FILES

from headrace.formats.proto.graph_pb2 import FunctionDefLibrary, GraphDef
from headrace.formats.proto.run_pb2 import ConfigProto

Shape = tuple[int | None, ...] | None


def make_case(dice: random.Random) -> Case:
    """A pipeline of up to seven datasets, and runs that read it, save it and begin it anew."""
    graph = GraphDef()
    nodes = Nodes(dice, graph.node, in_function=False)
    read = _Reading(nodes, graph.library)
    if dice.random() < 0.2:
        read.single_value()
    else:
        read.iterators()
    if dice.random() < 0.06:
        node = dice.choice(graph.node)
        if node.input:
            node.input[dice.randrange(len(node.input))] = dice.choice(graph.node).name
    config = ConfigProto()
    if dice.random() < 0.15:
        config.experimental.plan_memory_limit_bytes = dice.choice((1, 1000, 100_000))
    config.inter_op_parallelism_threads = dice.choice((0, 0, 1, 2))
    return Case(graph, read.runs, random=True, config=config.SerializeToString())


class Pipeline:
    """A dataset under construction: its variant and the components of its elements."""

    def __init__(self, nodes: Nodes, library: FunctionDefLibrary) -> None:
        self.nodes, self.dice, self.library = nodes, nodes.dice, library
        self.types: list[int] = []
        self.shapes: list[Shape] = []
        self.variant = ""
        self.source()
        for _ in range(self.dice.choice((0, 1, 2, 3, 5, 7))):
            self.transform()

    def function(self, gives: list[int], also: tuple[int, ...] = ()) -> str:
        return make_function(self.dice, self.library, [*also, *self.types], gives)

    def made(
        self, op: str, *inputs: str, types: list[int], shapes: list[Shape], **attrs: Any
    ) -> None:
        """Adds a dataset whose elements have those types."""
        declared, sizes = types, shapes
        if self.dice.random() < 0.02:
            declared = [*types, draw.dtype(self.dice)] if self.dice.random() < 0.5 else types[1:]
        if self.dice.random() < 0.02:
            sizes = [draw.shape(self.dice) for _ in shapes]
        found = self.nodes.add(op, *inputs, **attrs, output_types=declared, output_shapes=sizes)
        believed = declared if declared and self.dice.random() < 0.7 else types
        self.variant, self.types, self.shapes = found[0][0], believed, shapes

    def source(self) -> None:
        nodes, dice = self.nodes, self.dice
        roll = dice.random()
        if roll < 0.4:
            inputs = (nodes.count(0, 0, 1), nodes.count(0, 3, 10, 50), nodes.count(1, 1, 2, -1))
            self.made("RangeDataset", *inputs, types=[LONG], shapes=[()])
        elif roll < 0.7:
            types = [dice.choice((*NUMBERS, TEXT, BOOL)) for _ in range(dice.choice((1, 1, 2)))]
            slices = dice.random() < 0.8
            dims = [
                tuple(dice.choice((1, 2, 3)) for _ in range(dice.choice((0, 1, 2)))) for _ in types
            ]
            count = (dice.choice((0, 1, 4, 6)),) if slices else ()
            values = [nodes.constant(t, (*count, *d)) for t, d in zip(types, dims, strict=True)]
            op = "TensorSliceDataset" if slices else "TensorDataset"
            self.variant = nodes.add(op, *values, Toutput_types=types, output_shapes=dims)[0][0]
            self.types, self.shapes = types, list(dims)
        elif roll < 0.9:
            self.file_source()
        elif roll < 0.95:
            at = nodes.literal(np.reshape(np.arange(4), (2, 2)), LONG)
            self.variant = nodes.add(
                "SparseTensorSliceDataset", at, nodes.constant(FLOAT, (2,)),
                nodes.literal([dice.choice((3, 5)), 4], LONG), Tvalues=FLOAT,
            )[0][0]  # fmt: skip
            self.types, self.shapes = [LONG, FLOAT, LONG], [(None, 1), (None,), (1,)]
        else:
            self.types = [LONG]
            first = self.function([LONG])
            second, last = self.function([LONG]), self.function([LONG])
            start = nodes.literal(np.int64(0), LONG)
            # Its elements do not end by themselves, unless its function fails.
            self.made("GeneratorDataset", start, types=[LONG], shapes=[None], init_func=first,
                      next_func=second, finalize_func=last, Tinit_func_args=[LONG],
                      Tnext_func_args=[], Tfinalize_func_args=[])  # fmt: skip

    def file_source(self) -> None:
        nodes, dice = self.nodes, self.dice
        names = nodes.literal([dice.choice(FILES) for _ in range(dice.choice((1, 1, 2)))], TEXT)
        packed = nodes.literal(dice.choice((b"", b"", b"GZIP", b"ZLIB", b"odd")), TEXT)
        size = nodes.count(0, 1, 100, 1000)
        op = dice.choice(
            ("TextLineDataset", "TFRecordDataset", "FixedLengthRecordDatasetV2", "CSVDataset")
        )
        self.types, self.shapes = [TEXT], [()]
        if op == "CSVDataset":
            self.types = [dice.choice((*NUMBERS, TEXT)) for _ in range(3)]
            defaults = [nodes.constant(t, dice.choice(((1,), (0,)))) for t in self.types]
            self.made(op, names, packed, size, nodes.literal(dice.random() < 0.5, BOOL),
                      nodes.literal(b",", TEXT), nodes.literal(True, BOOL),
                      nodes.literal(b"", TEXT),
                      nodes.literal(dice.choice(([], [0, 1, 2], [2, 0], [9])), LONG), *defaults,
                      types=self.types, shapes=[()] * 3)  # fmt: skip
            return
        sizes = [nodes.count(0, 0, 2), nodes.count(1, 5, 7), nodes.count(0, 0, 3)]
        inputs = [names, *sizes, size, packed] if op.startswith("Fixed") else [names, packed, size]
        self.variant = nodes.add(op, *inputs)[0][0]

    def transform(self) -> None:
        """Wraps the dataset in another."""
        names = [name for name in dir(self) if name.startswith("_to_")]
        getattr(self, self.dice.choice(names))()

    def _same(self, op: str, *inputs: str, **attrs: Any) -> None:
        self.made(op, self.variant, *inputs, types=self.types, shapes=self.shapes, **attrs)

    def _new_types(self) -> list[int]:
        return [self.dice.choice((*NUMBERS, TEXT)) for _ in range(self.dice.choice((1, 1, 2)))]

    def _to_map(self) -> None:
        gives, arguments = self._new_types(), self.dice.choice(((), (), (LONG,)))
        inputs = [self.nodes.constant(t) for t in arguments]
        f = make_function(self.dice, self.library, [*self.types, *arguments], gives)
        attrs: Any = {"f": f, "Targuments": arguments}
        shapes: list[Shape] = [None] * len(gives)
        roll = self.dice.random()
        if roll < 0.3:
            self.made("MapDataset", self.variant, *inputs, types=gives, shapes=shapes, **attrs)
        elif roll < 0.7:
            calls = self.nodes.count(1, 2, 4, -1)
            ordered = self.dice.choice(("default", "true", "false", "odd"))
            self.made("ParallelMapDatasetV2", self.variant, *inputs, calls, types=gives,
                      shapes=shapes, deterministic=ordered, **attrs)  # fmt: skip
        else:
            sizes = (self.nodes.count(1, 2, 3, 0), self.nodes.count(1, 2, -1))
            whole = self.nodes.literal(self.dice.random() < 0.5, BOOL)
            self.made("MapAndBatchDataset", self.variant, *inputs, *sizes, whole, types=gives,
                      shapes=shapes, **attrs)  # fmt: skip

    def _to_filter(self) -> None:
        self._same("FilterDataset", predicate=self.function([self.dice.choice((BOOL, BOOL, INT))]),
                   Targuments=[])  # fmt: skip

    def _to_flat(self) -> None:
        f, nodes = self.function([VARIANT]), self.nodes
        attrs: Any = {"f": f, "Targuments": [], "types": [LONG], "shapes": [None]}
        cycle, block = nodes.count(1, 2, 3, 0), nodes.count(1, 2)
        roll = self.dice.random()
        if roll < 0.4:
            self.made("FlatMapDataset", self.variant, **attrs)
        elif roll < 0.6:
            self.made("InterleaveDataset", self.variant, cycle, block, **attrs)
        elif roll < 0.8:
            self.made("ParallelInterleaveDatasetV2", self.variant, cycle, block,
                      nodes.count(1, 2, -1), **attrs)  # fmt: skip
        else:
            sloppy = nodes.literal(self.dice.random() < 0.5, BOOL)
            self.made("ParallelInterleaveDataset", self.variant, cycle, block, sloppy,
                      nodes.count(1, 3, 0), nodes.count(1, 2, 0), **attrs)  # fmt: skip

    def _to_batch(self) -> None:
        size = self.nodes.count(1, 2, 3, 0)
        whole = self.nodes.literal(self.dice.random() < 0.5, BOOL)
        shapes = [None if s is None else (None, *s) for s in self.shapes]
        if self.dice.random() < 0.6:
            self.made("BatchDatasetV2", self.variant, size, whole, types=self.types, shapes=shapes)
            return
        padded = [None if s is None else [-1 if n is None else n for n in s] for s in self.shapes]
        sizes = [
            self.nodes.literal(self.dice.choice((p, p, [-1], [5, 5])) or [], LONG) for p in padded
        ]
        values = [self.nodes.constant(t) for t in self.types]
        found = self.nodes.add(
            "PaddedBatchDatasetV2", self.variant, size, *sizes, *values, whole,
            Toutput_types=self.types, output_shapes=shapes, N=len(sizes),
        )  # fmt: skip
        self.variant, self.shapes = found[0][0], shapes

    def _to_unbatch(self) -> None:
        shapes = [None if not s else s[1:] for s in self.shapes]
        self.made("UnbatchDataset", self.variant, types=self.types, shapes=shapes)

    def _to_part(self) -> None:
        op = self.dice.choice(("RepeatDataset", "TakeDataset", "SkipDataset"))
        self._same(op, self.nodes.count(-1, 0, 1, 2, 5))

    def _to_shuffle(self) -> None:
        nodes = self.nodes
        inputs = [nodes.count(1, 3, 100), nodes.count(0, 1), nodes.count(0, 2)]
        if self.dice.random() < 0.5:
            self._same("ShuffleDataset", *inputs)
        else:
            self._same("ShuffleAndRepeatDataset", *inputs, nodes.count(1, 2, -1, 0))

    def _to_prefetch(self) -> None:
        self._same("PrefetchDataset", self.nodes.count(-1, 0, 1, 5))

    def _to_cache(self) -> None:
        name = self.dice.choice((b"", b"", b"cached", b"no/folder"))
        self._same("CacheDataset", self.nodes.literal(name, TEXT))

    def _to_shard(self) -> None:
        self._same("ShardDataset", self.nodes.count(1, 2, 3), self.nodes.count(0, 1))

    def _to_window(self) -> None:
        nodes, many = self.nodes, len(self.types)
        inputs = [nodes.count(1, 2, 3), nodes.count(1, 2), nodes.count(1, 1, 2)]
        whole = nodes.literal(self.dice.random() < 0.5, BOOL)
        self.made("WindowDataset", self.variant, *inputs, whole, types=[VARIANT] * many,
                  shapes=[()] * many)  # fmt: skip

    def _to_group(self) -> None:
        key, size = self.function([LONG]), make_function(self.dice, self.library, [LONG], [LONG])
        reduced = make_function(self.dice, self.library, [LONG, VARIANT], [VARIANT])
        self._same("GroupByWindowDataset", key_func=key, reduce_func=reduced, window_size_func=size,
                   Tkey_func_other_arguments=[], Treduce_func_other_arguments=[],
                   Twindow_size_func_other_arguments=[])  # fmt: skip

    def _to_two(self) -> None:
        if len(self.nodes.controls) > 30:
            return
        other = Pipeline(self.nodes, self.library)
        if self.dice.random() < 0.5:
            self.made("ZipDataset", self.variant, other.variant, types=[*self.types, *other.types],
                      shapes=[*self.shapes, *other.shapes], N=2)  # fmt: skip
        else:
            self._same("ConcatenateDataset", other.variant)


class _Reading:
    """The runs that read pipelines."""

    def __init__(self, nodes: Nodes, library: FunctionDefLibrary) -> None:
        self.nodes, self.dice, self.library = nodes, nodes.dice, library
        self.runs: list[Run] = []

    def single_value(self) -> None:
        """Ops that read a dataset without an iterator."""
        pipe = Pipeline(self.nodes, self.library)
        if self.dice.random() < 0.5:
            found = self.nodes.add("DatasetToSingleElement", pipe.variant, output_types=pipe.types,
                                   output_shapes=pipe.shapes)  # fmt: skip
        else:
            state = [self.dice.choice(NUMBERS)]
            f = make_function(self.dice, self.library, [*state, *pipe.types], state)
            found = self.nodes.add("ReduceDataset", pipe.variant, self.nodes.constant(state[0]),
                                   f=f, Tstate=state, Targuments=[], output_types=state,
                                   output_shapes=[None])  # fmt: skip
        self.runs = [Run({}, self._fetched(found))] * 2

    def _fetched(self, found: list[tuple[str, int]]) -> list[str]:
        return [name if ":" in name else f"{name}:0" for name, t in found if t != VARIANT]

    def iterators(self) -> None:
        nodes, dice = self.nodes, self.dice
        of_elements: Any
        if dice.random() < 0.3:
            function = self.library.function.add()
            function.signature.name = "factory"
            function.signature.output_arg.add(name="handle", type=VARIANT)
            pipe = Pipeline(Nodes(dice, function.node_def, in_function=True), self.library)
            function.ret["handle"] = pipe.variant
            of_elements = {"output_types": pipe.types, "output_shapes": pipe.shapes}
            handle = nodes.add("OneShotIterator", dataset_factory="factory", **of_elements)[0][0]
            starts = []
        else:
            pipe = Pipeline(nodes, self.library)
            of_elements = {"output_types": pipe.types, "output_shapes": pipe.shapes}
            shared = dice.choice(("", "it"))
            handle = nodes.add("IteratorV2", shared_name=shared, container="", **of_elements)[0][0]
            nodes.add("MakeIterator", pipe.variant, handle)
            starts = nodes.controls[-1:]
        self.runs += [Run({}, [], starts)] * (dice.random() < 0.95)
        following = nodes.add(
            dice.choice(("IteratorGetNext", "IteratorGetNextSync")), handle, **of_elements
        )
        optional = nodes.add("IteratorGetNextAsOptional", handle, **of_elements)[0][0]
        has = nodes.add("OptionalHasValue", optional)
        got = nodes.add("OptionalGetValue", optional, **of_elements)
        text = nodes.add("IteratorToStringHandle", handle)
        again = nodes.add("IteratorFromStringHandleV2", text[0][0], **of_elements)[0][0]
        other = nodes.add("IteratorGetNext", again, **of_elements)
        saved = nodes.add("SerializeIterator", handle)[0][0]
        nodes.add("DeserializeIterator", handle, saved)
        moved = nodes.controls[-1:]
        for _ in range(dice.choice((2, 4, 8))):
            roll = dice.random()
            found = (
                following if roll < 0.5 else dice.choice((has, got, text, other, following + other))
            )
            targets = [starts, moved, []][dice.choice((0, 1, 2, 2, 2, 2))]
            self.runs.append(Run({}, self._fetched(found) if roll < 0.9 else [], targets))
