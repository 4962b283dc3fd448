"""Shape rules of matrix products."""

from __future__ import annotations

from functools import lru_cache

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import (
    Shape,
    at_least,
    broadcast,
    same,
    show,
    with_rank,
)

Shapes = list[Shape]


@shape_rule("matmul")
def matmul(op: ShapeQuery) -> Shapes:
    a, b = with_rank(op.inputs[0], 2, "a"), with_rank(op.inputs[1], 2, "b")
    rows, inner = (a[1], a[0]) if op.attrs["transpose_a"] else a
    inner_b, columns = (b[1], b[0]) if op.attrs["transpose_b"] else b
    if inner != inner_b and not same(inner, inner_b):
        raise ValueError(f"inner sizes differ: a is {show(a)}, b is {show(b)}")
    return [(rows, columns)]


@shape_rule("batch_matmul")
def batch_matmul(op: ShapeQuery) -> Shapes:
    x, y = at_least(op.inputs[0], 2, "x"), at_least(op.inputs[1], 2, "y")
    if x is None or y is None:
        return [None]
    rows, inner = (x[-1], x[-2]) if op.attrs["adj_x"] else x[-2:]
    inner_y, columns = (y[-1], y[-2]) if op.attrs["adj_y"] else y[-2:]
    if not same(inner, inner_y):
        raise ValueError(f"inner sizes differ: x is {show(x)}, y is {show(y)}")
    try:
        batch = broadcast(x[:-2], y[:-2])
    except ValueError:
        raise ValueError(f"batch sizes do not broadcast: x is {show(x)}, y is {show(y)}") from None
    return [(*batch, rows, columns)]  # type: ignore[misc]


@lru_cache(maxsize=512)
def parse_einsum(equation: str) -> tuple[list[list[str]], list[str]]:
    """Parses an equation to the labels of its inputs and output; "..." is a label.

    Raises: ValueError for an invalid equation.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = [_labels(term, equation) for term in left.split(",")]
    if not arrow:
        raise ValueError(f"equation '{equation}' has no '->'")
    output = _labels(right, equation)
    for label in output:
        if label != "..." and not any(label in labels for labels in inputs):
            raise ValueError(f"label '{label}' of the output of '{equation}' is in no input")
        if output.count(label) > 1:
            raise ValueError(f"label '{label}' stands twice in the output of '{equation}'")
    return inputs, output


def _labels(term: str, equation: str) -> list[str]:
    before, dots, after = term.partition("...")
    labels = [*before, *([dots] if dots else ()), *after]
    for label in labels:
        if label != "..." and not (label.isascii() and label.isalpha()):
            raise ValueError(f"'{label}' in equation '{equation}' is not a label")
    return labels


@shape_rule("einsum")
def einsum(op: ShapeQuery) -> Shapes:
    equation = op.attrs["equation"]
    terms, output = parse_einsum(equation)
    if len(terms) != len(op.inputs):
        raise ValueError(
            f"equation '{equation}' has {len(terms)} terms for {len(op.inputs)} inputs"
        )
    found: dict[str, int | None] = {}
    dots: Shape = ()
    for i, (labels, shape) in enumerate(zip(terms, op.inputs, strict=True)):
        if shape is None:
            if "..." in labels:
                dots = None
            continue
        spread = len(shape) - len(labels) + 1 if "..." in labels else 0
        named = len(labels) - ("..." in labels)
        if spread < 0 or ("..." not in labels and named != len(shape)):
            raise ValueError(f"input {i} of '{equation}' does not fit shape {show(shape)}")
        at = 0
        for label in labels:
            if label == "...":
                if dots is not None:
                    dots = broadcast(dots, shape[at : at + spread])
                at += spread
                continue
            size = shape[at]
            at += 1
            if not same(found.get(label), size):
                raise ValueError(
                    f"label '{label}' of '{equation}' has sizes {found[label]} and {size}"
                )
            if found.get(label) is None:
                found[label] = size
    if "..." in output and dots is None:
        return [None]
    out: list[int | None] = []
    for label in output:
        if label == "...":
            out.extend(dots or ())
        else:
            out.append(found.get(label))
    return [tuple(out)]
