"""Losses over many classes that use only a sample of them."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.candidate_sampling.candidate_sampling import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.embedding import embedding_lookup, table_parts
from headrace.graph.ops.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.typing.aliases import TensorLike

_INT64 = as_dtype("int64")


def _logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Returns logits and labels [batch, num_true + num_sampled] of true and sampled classes."""
    parts = table_parts(weights)
    with name_scope(name, "compute_sampled_logits", [*parts, biases, inputs, labels]):
        inputs = convert_to_tensor(inputs)
        kind = inputs.dtype.base_dtype
        labels = cast(labels, _INT64)
        flat = op("Reshape", labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed=seed
            )
        sampled, true_count, sampled_count = (op("StopGradient", s) for s in sampled_values)
        sampled = cast(sampled, _INT64)
        every = op("ConcatV2", [flat, sampled], 0)
        # one lookup for both gives a single sparse gradient
        rows = cast(embedding_lookup(parts, every, partition_strategy), kind)
        offsets = cast(embedding_lookup(biases, every, partition_strategy), kind)
        count_nodes(25)  # sizes of the slices, and sums as products with ones
        count = op("Shape", flat)
        width = op("Shape", rows)[1:2]
        minus = constant([-1])
        true_rows = op("Slice", rows, [0, 0], op("ConcatV2", [count, minus], 0))
        sampled_rows = op("Slice", rows, op("ConcatV2", [count, [0]], 0), [-1, -1])
        true_offsets = op("Slice", offsets, [0], count)
        sampled_offsets = op("Slice", offsets, count, [-1])
        deep = op("ConcatV2", [constant([-1, num_true]), width], 0)
        dots = op("ExpandDims", inputs, 1) * op("Reshape", true_rows, deep)
        true_logits = reduce_sum(dots, 2) + op("Reshape", true_offsets, [-1, num_true])
        sampled_logits = op("MatMul", inputs, sampled_rows, transpose_b=True) + sampled_offsets
        if remove_accidental_hits:
            sampled_logits = sampled_logits + _of_hits(labels, sampled, num_true, kind)
        count_nodes(2)
        true_logits = true_logits - cast(op("Log", true_count), kind)
        sampled_logits = sampled_logits - cast(op("Log", sampled_count), kind)
        share = op("OnesLike", true_logits) / constant(num_true, dtype=kind)
        return (
            op("ConcatV2", [true_logits, sampled_logits], 1),
            op("ConcatV2", [share, op("ZerosLike", sampled_logits)], 1),
        )


def _of_hits(labels: Tensor, sampled: Tensor, num_true: int, kind: Any) -> Tensor:
    """Returns very negative logits for sampled classes that are true classes."""
    rows, places, weights = compute_accidental_hits(labels, sampled, num_true)
    int32 = as_dtype("int32")
    both = [op("Reshape", x, [-1, 1]) for x in (rows, cast(places, int32))]
    count_nodes(2)  # the axis that the places get
    size = op("ConcatV2", [op("Shape", labels)[:1], op("Shape", sampled)], 0)
    return op(
        "SparseToDense",
        op("ConcatV2", both, 1),
        size,
        cast(weights, kind),
        constant(0.0, dtype=kind),
        validate_indices=False,
    )


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Computes the noise-contrastive loss of each example.

    Args:
      weights: [num_classes, dim], or a list of its partitions.
      biases: [num_classes].
      labels: [batch, num_true] int64, the true classes.
      inputs: [batch, dim].
      num_sampled: number of classes to sample for the batch.
      num_classes: number of classes.
      num_true: number of true classes per example.
      sampled_values: result of a candidate sampler; by default of log_uniform_candidate_sampler.
      remove_accidental_hits: ignore samples that are true classes.
      partition_strategy: "mod" or "div", as in embedding_lookup.
    Returns: [batch].
    Source: Gutmann and Hyvärinen 2010; Mnih and Teh 2012.
    """
    logits, targets = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                              sampled_values, remove_accidental_hits, partition_strategy, name,
                              None)  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    count_nodes(10)
    return reduce_sum(losses, 1)


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Computes the softmax cross entropy of each example over its true and the sampled classes.

    Args:
      seed: seed of the sampler.
      the others: as in nce_loss.
    Returns: [batch].
    Source: Jean et al. 2015.
    """
    logits, targets = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                              sampled_values, remove_accidental_hits, partition_strategy, name,
                              seed)  # fmt: skip
    targets = op("StopGradient", targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
