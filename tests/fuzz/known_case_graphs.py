"""Graphs of inputs that an op accepts, with one or two things changed (kind `known`).

Random inputs rarely pass the first check of an op, so these cases start from those of tests/ops.
"""

from __future__ import annotations

import random
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import random_tensors as draw
from fuzz_case import Case
from op_graphs import LEFT_OUT, OpGraph, set_attr

from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.proto.graph_pb2 import NodeDef
from headrace.formats.tensor_codec import make_tensor_proto

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))


@lru_cache(maxsize=1)
def _known() -> dict[str, list[Any]]:
    """The cases of tests/ops by op."""
    from cases import ALL

    by_op: dict[str, list[Any]] = {}
    for case in ALL:
        if case.op not in LEFT_OUT:
            by_op.setdefault(case.op, []).append(case)
    return by_op


@cache
def _types(op: str, index: int) -> tuple[str, ...]:
    return _known()[op][index].types()


def make_case(dice: random.Random) -> Case:
    """A known case, unchanged or changed."""
    return make_case_of(dice, dice.choice(sorted(_known())))


def make_case_of(dice: random.Random, op: str) -> Case:
    """A case of one given op."""
    from headrace.kernels.reference import oracle

    index = dice.randrange(len(_known()[op]))
    known = _known()[op][index]
    dtype = dice.choice(_types(op, index) or ("",))
    values = known.values(dtype, dice.randrange(3))
    attrs = dict(oracle.complete_attrs(op, values, known.attributes(dtype)))
    flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
    builder = OpGraph(dice)
    signature = op_catalogue.signature(op)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        if flat and (not signature.attrs or dice.random() < 0.7):
            at = dice.randrange(len(flat))
            flat[at] = _changed(dice, np.asarray(flat[at]))
        elif signature.attrs:
            attr = dice.choice(signature.attrs)
            attrs[attr.name] = builder.attribute(attr, signature)
    if dice.random() < 0.9:  # types follow what the inputs have become
        attrs.update(_types_of_inputs(signature, flat))
    noise = op.startswith("ExtractGlimpse")  # what lies outside of the image is random
    builder.random = signature.stateful or not known.exact or bool(known.undefined) or noise
    inputs = [_place(builder, value) for value in flat]
    node = builder.graph.node.add(name="it", op=op, input=inputs)
    for attr in signature.attrs:
        if attr.name in attrs and (attrs[attr.name] is not None or attr.kind == "shape"):
            set_attr(node.attr[attr.name], attr.kind, attrs[attr.name])
    _fetch_all(builder, node, signature, attrs)
    return builder.case()


def _types_of_inputs(signature: Any, flat: list[np.ndarray]) -> dict[str, int]:
    """The type attributes that follow from the inputs, if no input is a list."""
    if any(arg.is_list for arg in signature.inputs) or len(flat) != len(signature.inputs):
        return {}
    return {
        arg.type_attr: int(as_dtype(np.asarray(value).dtype))
        for arg, value in zip(reversed(signature.inputs), reversed(flat), strict=True)
        if arg.type_attr
    }


def _place(builder: OpGraph, value: np.ndarray) -> str:
    value = np.asarray(value)
    name = f"n{len(builder.graph.node)}"
    number = int(as_dtype(value.dtype))
    if builder.dice.random() < builder.fed:
        node = builder.graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = number
        node.attr["shape"].shape.unknown_rank = True
        builder.feeds[f"{name}:0"] = value
    else:
        node = builder.graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = number
        node.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
    return name


def _fetch_all(builder: OpGraph, node: NodeDef, signature: Any, attrs: dict[str, Any]) -> None:
    result = [n for arg in signature.outputs for n in builder._types(arg, attrs)]
    builder.fetches = [f"{node.name}:{i}" for i in range(len(result))]
    if not result:
        builder.targets = [node.name]


def _changed(dice: random.Random, value: np.ndarray) -> np.ndarray:
    """The value with other elements, another shape, or another dtype."""
    number = int(as_dtype(value.dtype))
    roll = dice.random()
    if roll < 0.45 and value.size:
        changed = value.copy()
        flat = changed.reshape(-1)
        few = draw.tensor(dice, number, (3,))
        if dice.random() < 0.5 and value.dtype.kind in "iu":
            few = np.array([dice.choice(draw.ABSURD_INTS)] * 3, np.int64).astype(value.dtype)
        for _ in range(dice.choice((1, 1, 2, 5))):
            flat[dice.randrange(flat.size)] = dice.choice(list(few))
        return changed
    if roll < 0.75:
        return draw.tensor(dice, number, _other_shape(dice, value.shape))
    if roll < 0.85:
        return draw.tensor(dice, number, value.shape)
    other = draw.dtype(dice)
    return draw.tensor(dice, other if other in draw.WITH_ARRAYS else number, value.shape)


def _other_shape(dice: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    roll = dice.random()
    if roll < 0.15:
        return ()
    if roll < 0.3 and dims:
        return dims[:-1]
    if roll < 0.45:
        return (*dims, dice.choice((0, 1, 2)))
    if roll < 0.7 and dims:
        at = dice.randrange(len(dims))
        sizes = draw.SIZES if dice.random() < 0.8 else draw.WRAPPING
        return (*dims[:at], dice.choice(sizes), *dims[at + 1 :])
    if roll < 0.8 and dims:
        at = dice.randrange(len(dims))
        return (*dims[:at], 0, *dims[at + 1 :])
    return draw.shape_like(dice, dims)
