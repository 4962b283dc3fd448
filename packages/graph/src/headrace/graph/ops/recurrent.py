"""Gradients of the fused RNN cell ops."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor


def _split(joint: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Splits the columns of [x, h]."""
    width = op("Shape", x)[1:]
    first = op("Slice", joint, [0, 0], op("ConcatV2", [[-1], width], 0))
    rest = op("Slice", joint, op("ConcatV2", [[0], width], 0), [-1, -1])
    return first, rest


@gradient("LSTMBlockCell")
def _lstm_cell_gradient(node: Operation, *grads: Tensor) -> list[Any]:
    """Differentiates the new state and the output; the other outputs are only used here."""
    x, before, h, weights = node.inputs[:4]
    result = op(
        "LSTMBlockCellGrad",
        *node.inputs,
        *node.outputs[:6],
        grads[1],
        grads[6],
        use_peephole=node.get_attr("use_peephole"),
    )
    into_before, gates = result[0], result[1]
    into_x, into_h = _split(op("MatMul", gates, weights, transpose_b=True), x)
    joint = op("ConcatV2", [x, h], 1)
    into_weights = op("MatMul", joint, gates, transpose_a=True)
    peepholes = result[2:5]
    return [into_x, into_before, into_h, into_weights, *peepholes, op("BiasAddGrad", gates)]


@gradient("GRUBlockCell")
def _gru_cell_gradient(node: Operation, *grads: Tensor) -> list[Any]:
    x, h = node.inputs[:2]
    reset, update, candidate = node.outputs[:3]
    result = op("GRUBlockCellGrad", *node.inputs, reset, update, candidate, grads[3])
    into_x, into_h, of_candidate, of_gates = result
    joint = op("ConcatV2", [x, h], 1)
    gated = op("ConcatV2", [x, h * reset], 1)
    return [
        into_x,
        into_h,
        op("MatMul", joint, of_gates, transpose_a=True),
        op("MatMul", gated, of_candidate, transpose_a=True),
        op("BiasAddGrad", of_gates),
        op("BiasAddGrad", of_candidate),
    ]


def _block(version: str) -> None:
    @gradient(f"BlockLSTM{version}")
    def rule(node: Operation, *grads: Tensor) -> list[Any]:
        result = op(
            f"BlockLSTMGrad{version}",
            *node.inputs,
            *node.outputs,
            grads[1],
            grads[6],
            use_peephole=node.get_attr("use_peephole"),
        )
        return [None, *result]


_block("")
_block("V2")
for _op_type in ("LSTMBlockCellGrad", "GRUBlockCellGrad", "BlockLSTMGrad", "BlockLSTMGradV2"):
    no_gradient(_op_type, "TensorFlow defines none")
