"""einsum and its gradient."""

from __future__ import annotations

import string

from headrace.graph.builder.conversion import constant, convert_n_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.op_registry import gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.elementwise.elementwise import conj
from headrace.graph.ops.matmul.einsum_nodes import einsum_nodes
from headrace.graph.typing.aliases import TensorLike

_DOTS = "..."


def einsum(equation: str, *inputs: TensorLike, name: str | None = None) -> Tensor:
    """Computes sums of products by an equation such as "ij,jk->ik".

    Args:
      equation: one label per dimension of each operand, then "->" and the labels of the result.
        Without "->" the result has the labels that occur once, in alphabetical order. "..." stands
        for broadcast dimensions.
      inputs: operands.
    Raises: ValueError for an invalid equation or incompatible shapes.
    """
    tensors = convert_n_to_tensor(inputs)
    full = _with_output(equation.replace(" ", ""))
    shapes = [t.get_shape().as_list() if t.get_shape().ndims is not None else None for t in tensors]
    nodes = einsum_nodes(full, shapes)
    result = op("Einsum", tensors, equation=full, name=name)
    count_nodes(0 if nodes is None else nodes - 1)
    return result


def _with_output(equation: str) -> str:
    if "->" in equation:
        return equation
    letters = equation.replace(_DOTS, "").replace(",", "")
    once = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return f"{equation}->{_DOTS if _DOTS in equation else ''}{once}"


# ---- gradients -----------------------------------------------------------------------------


@gradient("Einsum")
def _einsum_gradient(node: Operation, grad: Tensor) -> list[Tensor]:
    """The gradient of an operand is an einsum of the other operands and the gradient."""
    equation = node.get_attr("equation")
    equation = equation.decode() if isinstance(equation, bytes) else equation
    left, _, right = equation.partition("->")
    terms = left.split(",")
    result = []
    for i, term in enumerate(terms):
        others = [t for j, t in enumerate(terms) if j != i]
        operands = [conj(t) for j, t in enumerate(node.inputs) if j != i]
        result.append(_of_operand(node.inputs[i], term, [right, *others], [grad, *operands]))
    return result


def _of_operand(x: Tensor, term: str, spread: list[str], tensors: list[Tensor]) -> Tensor:
    """Computes the gradient of operand x with the labels `term` from the other tensors."""
    letters = term.replace(_DOTS, "")
    known = "".join(dict.fromkeys(c for c in letters if any(c in other for other in spread)))
    dots = _DOTS if any(_DOTS in other for other in spread) else ""
    part = op("Einsum", tensors, equation=f"{','.join(spread)}->{dots}{known}")
    if dots or _DOTS in term:
        part = _unbroadcast(part, x, term, len(known))
    if known == term:
        return part
    # labels summed in this operand only are broadcast; repeated labels are put on the diagonal
    fresh = iter(c for c in string.ascii_letters if c not in "".join([term, *spread]))
    operands, text, final = [part], [(_DOTS if _DOTS in term else "") + known], ""
    for place, letter in _places(term):
        if letter == _DOTS:
            final += letter
            continue
        ones = op("Fill", op("Shape", x)[place : place + 1 or None], _one(x))
        if letter in final:
            twin = next(fresh)
            operands.append(op("MatrixDiag", ones))
            text.append(letter + twin)
            letter = twin
        elif letter not in known:
            operands.append(ones)
            text.append(letter)
        final += letter
    return op("Einsum", operands, equation=f"{','.join(text)}->{final}")


def _one(x: Tensor) -> Tensor:
    return constant(1, dtype=x.dtype.base_dtype)


def _places(term: str) -> list[tuple[int, str]]:
    """Maps labels (and "...") to dimensions; those after "..." are negative."""
    before, dots, after = term.partition(_DOTS)
    result = list(enumerate(before))
    if dots:
        result.append((len(before), dots))
    return result + [(i - len(after), c) for i, c in enumerate(after)]


def _unbroadcast(part: Tensor, x: Tensor, term: str, known: int) -> Tensor:
    """Sums or broadcasts part [..., known labels] to the "..." dimensions of x."""
    shape = op("Shape", part)
    split = op("Size", shape) - known
    wide, rest = op("Slice", shape, [0], op("Reshape", split, [1])), shape[split:]
    if _DOTS in term:
        before, _, after = term.partition(_DOTS)
        own = op("Shape", x)[len(before) :]
        own = own[: -len(after)] if after else own
    else:
        own = constant([], dtype="int32")
    axes = op("BroadcastGradientArgs", own, wide)[0]
    summed = op("Reshape", op("Sum", part, axes), op("ConcatV2", [_folded(own, wide), rest], 0))
    return op("BroadcastTo", summed, op("ConcatV2", [own, rest], 0))


def _folded(own: Tensor, wide: Tensor) -> Tensor:
    """Returns the shape `own`, with 1 for each dimension that `wide` lacks."""
    missing = op("Maximum", op("Size", own) - op("Size", wide), constant(0))
    ones = op("Fill", op("Reshape", missing, [1]), constant(1))
    return op("ConcatV2", [ones, op("Slice", own, op("Reshape", missing, [1]), [-1])], 0)
