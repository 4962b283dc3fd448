"""L1 and L2 regularizers: functions from a weight to a loss."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import absolute, add_n, multiply
from headrace.graph.ops.losses import l2_loss
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.platform import logging
from headrace.graph.typing.aliases import Regularizer, VariableLike


def _checked(scale: Any) -> bool:
    """Returns whether a scale is zero. Raises: ValueError for integers and negative numbers."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if not isinstance(scale, numbers.Real):
        return False
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
    if scale == 0.0:
        logging.info("Scale of 0 disables regularizer.")
        return True
    return False


def _nothing(_: Any, name: str | None = None) -> None:
    return None


def _scaled(
    scale: float, scope: str | None, default: str, norm: Callable[[Any], Tensor]
) -> Callable[..., Any]:
    if _checked(scale):
        return _nothing

    def regularizer(weights: Any, name: str | None = None) -> Tensor:
        with name_scope(scope, default, [weights]) as entered:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return multiply(factor, norm(weights), name=entered)

    return regularizer


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[..., Any]:
    """Returns a regularizer: scale * sum of the absolute values.

    Args:
      scale: float >= 0; 0 disables it.
      scope: name scope.
    Raises: ValueError for an integer or a negative scale.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda w: reduce_sum(absolute(w)))


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[..., Any]:
    """Returns a regularizer: scale * half the sum of the squares; see l1_regularizer."""
    return _scaled(scale, scope, "l2_regularizer", l2_loss)


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Callable[..., Any] | None:
    """Returns the sum of an l1_regularizer and an l2_regularizer."""
    for scale in (scale_l1, scale_l2):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(
    regularizer_list: Sequence[Regularizer | None], scope: str | None = None
) -> Callable[..., Any] | None:
    """Returns the sum of regularizers; None if all are None."""
    used = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not used:
        return None

    def regularizer(weights: Any) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as entered:
            terms = [t for t in [r(weights) for r in used] if t is not None]
            return add_n(terms, name=entered) if terms else None

    return regularizer


def apply_regularization(
    regularizer: Regularizer, weights_list: Sequence[VariableLike] | None = None
) -> Tensor:
    """Adds the sum of a regularizer over weights to GraphKeys.REGULARIZATION_LOSSES.

    Args:
      weights_list: variables; None takes those of GraphKeys.WEIGHTS.
    Returns: the sum, [].
    Raises: ValueError without weights, or if a loss is not a scalar.
    """
    graph = get_default_graph()
    weights = list(weights_list or graph.get_collection(GraphKeys.WEIGHTS))
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights) as scope:
        terms = [regularizer(w) for w in weights]
        terms = [constant(0.0) if t is None else t for t in terms]
        for term in terms:
            if term.get_shape().ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{term.get_shape().ndims}."
                )
        total = add_n(terms, name=scope)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
