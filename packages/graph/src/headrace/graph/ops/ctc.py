"""Connectionist temporal classification: loss and decoders."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import TensorLike


def ctc_loss(
    labels: SparseTensor,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """Computes the CTC loss: the negative log-probability of each label sequence.

    Args:
      labels: SparseTensor [batch, length] int32.
      inputs: [time, batch, classes] unnormalised log-probabilities; the last class is the blank.
      sequence_length: [batch] int32, number of valid time steps.
      preprocess_collapse_repeated: collapse repeated labels.
      ctc_merge_repeated: merge repeated outputs.
      ignore_longer_outputs_than_inputs: return 0 instead of failing if the labels do not fit.
      time_major: False for inputs [batch, time, classes].
      logits: new name of inputs.
    Returns: [batch].
    Raises: TypeError if labels is not a SparseTensor.
    Source: Graves et al. 2006.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    scores = convert_to_tensor(inputs if logits is None else logits)
    if not time_major:
        scores = op("Transpose", scores, [1, 0, 2])
    half = scores.dtype.base_dtype if scores.dtype.name in ("float16", "bfloat16") else None
    if half is not None:
        scores = op("Cast", scores, DstT="float32")
    loss = op(
        "CTCLoss",
        scores,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]
    return loss if half is None else op("Cast", loss, DstT=half)


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """Decodes the most likely class at each time step.

    Args:
      inputs, sequence_length: as in ctc_loss.
      merge_repeated: merge repeated outputs.
      blank_index: class of the blank; negative counts from the end; the last class by default.
    Returns: ([SparseTensor [batch, length] int64], negative sum of the scores [batch, 1]).
    """
    indices, values, shape, score = op(
        "CTCGreedyDecoder",
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(indices, values, shape)], score


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """Decodes the most likely label sequences by beam search.

    Args:
      inputs, sequence_length: as in ctc_loss.
      beam_width: number of prefixes to keep.
      top_paths: number of results.
      merge_repeated: merge repeated labels of a result.
    Returns: (list of top_paths SparseTensors [batch, length] int64, their log-probabilities
      [batch, top_paths]).
    Source: Graves 2012.
    """
    result = op(
        "CTCBeamSearchDecoder",
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    paths = [SparseTensor(*parts) for parts in zip(result[0], result[1], result[2], strict=True)]
    return paths, result[3]


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Same as ctc_beam_search_decoder with merge_repeated=False."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


# ---- gradients -----------------------------------------------------------------------------


def _loss_gradient(node: Operation, grad: Tensor, _: Any) -> list[Any]:
    """Scales the gradient that the op returns with the loss; it has no second derivative."""
    message_text = "Currently there is no way to take the second derivative of ctc_loss."
    derivative = op("PreventGradient", node.outputs[1], message=message_text)
    return [op("ExpandDims", grad, -1) * derivative, None, None, None]


for _op_type in ("CTCLoss", "CTCLossV2"):
    gradient(_op_type)(_loss_gradient)
for _op_type in ("CTCGreedyDecoder", "CTCBeamSearchDecoder"):
    no_gradient(_op_type, "labels are chosen, not computed")
