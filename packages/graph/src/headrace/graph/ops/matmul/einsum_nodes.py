"""How many nodes TensorFlow 1.15 adds for einsum, which it builds of transposes and products."""

from __future__ import annotations

from dataclasses import dataclass

# What is known of a dimension: its size, None, or _TENSOR where its size is a tensor.
_TENSOR = "tensor"


@dataclass
class _Operand:
    """An intermediate value: its labels, its static sizes, and the nodes before it."""

    labels: str
    dims: list[int | None]


class _Counter:
    nodes = 0

    def transposed(self, x: _Operand, labels: str) -> _Operand:
        order = [x.labels.index(label) for label in labels]
        self.nodes += 2 if order != sorted(order) else 0
        return _Operand(labels, [x.dims[i] for i in order])

    def sizes(self, x: _Operand) -> list[int | str]:
        """Sizes of a value; an unknown one is a slice of its shape."""
        unknown = x.dims.count(None)
        self.nodes += 1 + 4 * unknown if unknown else 0
        return [_TENSOR if n is None else n for n in x.dims]

    def product(self, sizes: list[int | str]) -> int | str:
        """Multiplies sizes from the left, beginning with the number 1."""
        result: int | str = 1
        for size in sizes:
            if isinstance(result, int) and isinstance(size, int):
                result *= size
            else:
                self.nodes += 1 if result == size == _TENSOR else 2
                result = _TENSOR
        return result

    def reshaped(self, dims: list[int | None], sizes: list[int | str]) -> list[int | None]:
        if len(dims) == len(sizes) and _TENSOR not in sizes and list(dims) == list(sizes):
            return dims
        tensors = sizes.count(_TENSOR)
        self.nodes += 2 if tensors == 0 else 2 + len(sizes) - tensors
        return [n if isinstance(n, int) else None for n in sizes]

    def contracted(self, x: _Operand, y: _Operand, summed: set[str]) -> _Operand:
        kept = (set(x.labels) & set(y.labels)) - summed
        free_x, free_y = set(x.labels) - kept - summed, set(y.labels) - kept - summed
        x = self.transposed(x, _ordered(x.labels, kept, free_x))
        y = self.transposed(y, _ordered(y.labels, kept, summed))
        labels = x.labels[: len(kept) + len(free_x)] + y.labels[len(y.labels) - len(free_y) :]
        if not summed:
            self.nodes += 2 * (len(free_x) + len(free_y)) + 1
            labels = x.labels + y.labels[len(kept) :]
            known = dict(zip(y.labels, y.dims, strict=True))
            known.update({a: n for a, n in zip(x.labels, x.dims, strict=True) if n is not None})
            return _Operand(labels, [known[label] for label in labels])
        sizes = self.sizes(x)
        wide = self.product(sizes[len(kept) : -len(summed)])
        inner = self.product(sizes[-len(summed) :])
        left = self.reshaped(x.dims, [*sizes[: len(kept)], wide, inner])
        sizes_y = self.sizes(y)
        wide = self.product(sizes_y[len(kept) + len(summed) :])
        right = self.reshaped(y.dims, [*sizes_y[: len(kept)], inner, wide])
        self.nodes += 1
        both = zip(left[:-2], right[:-2], strict=True)
        dims = [a if a is not None else b for a, b in both] + [left[-2], right[-1]]
        full = sizes[: len(kept) + len(free_x)] + sizes_y[len(sizes_y) - len(free_y) :]
        return _Operand(labels, self.reshaped(dims, full))


def _ordered(labels: str, first: set[str], second: set[str]) -> str:
    def place(label: str) -> tuple[int, str]:
        return (0 if label in first else 1 if label in second else 2, label)

    return "".join(sorted(labels, key=place))


def einsum_nodes(equation: str, shapes: list[list[int | None] | None]) -> int | None:
    """Returns the number of nodes, or None where TensorFlow 1.15 has no such einsum.

    Args:
      equation: with "->"; TensorFlow 1.15 knows neither repeated labels nor sums over a label of
        more than two operands in the same way.
      shapes: static sizes of the operands; None for an unknown rank.
    """
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if "." in equation or len(terms) != len(shapes):
        return None
    operands = []
    for term, dims in zip(terms, shapes, strict=True):
        if dims is None and len(terms) == 1:
            dims = [None] * len(term)
        if dims is None or len(dims) != len(term) or len(set(term)) < len(term):
            return None
        operands.append(_Operand(term, list(dims)))
    if any(sum(a in t for t in terms) > 2 for a in set(left) - set(right) - {","}):
        return None
    counter = _Counter()
    value = operands[0]
    for other in operands[1:]:
        summed = (set(value.labels) & set(other.labels)) - set(right)
        value = counter.contracted(value, other, summed)
    rest = [label for label in value.labels if label in right]
    if len(rest) < len(value.labels):
        counter.nodes += 2
        known = dict(zip(value.labels, value.dims, strict=True))
        value = _Operand("".join(rest), [known[label] for label in rest])
    counter.transposed(value, right)
    return counter.nodes
