"""Cases of the recurrent family."""

from __future__ import annotations

from cases.case import Case, literal, real

_B, _I, _C = 2, 3, 4
_STATE, _PEEP = real(_B, _C), real(_C)
_WEIGHTS = (real(_I + _C, 4 * _C), _PEEP, _PEEP, _PEEP, real(4 * _C))
_GATES = tuple(real(_B, _C, low=-0.9, high=0.9) for _ in range(6))
_GATES_OUT = (0, 2, 3, 4, 5)  # the loss is of the state and the output
CASES = []
for _peep in (False, True):
    _attrs = {"use_peephole": _peep}
    CASES += [
        Case(
            "LSTMBlockCell",
            (real(_B, _I), _STATE, _STATE, *_WEIGHTS),
            {**_attrs, "cell_clip": 0.5},
            smooth=False,
        ),
        Case(
            "LSTMBlockCell",
            (real(_B, _I), _STATE, _STATE, *_WEIGHTS),
            {**_attrs, "cell_clip": -1.0},
            flat_outputs=_GATES_OUT,
        ),
        Case(
            "LSTMBlockCellGrad",
            (real(_B, _I), _STATE, _STATE, *_WEIGHTS, *_GATES, _STATE, _STATE),
            _attrs,
        ),
    ]
    # all steps: TensorFlow leaves what comes after the longest sequence uninitialised
    _sequence = (literal(4, "int64"), real(4, _B, _I), _STATE, _STATE, *_WEIGHTS)
    _saved = tuple(real(4, _B, _C, low=-0.9, high=0.9) for _ in range(9))
    for _op in ("BlockLSTM", "BlockLSTMV2"):
        CASES.append(Case(_op, _sequence, _attrs, flat_outputs=_GATES_OUT))
    for _op in ("BlockLSTMGrad", "BlockLSTMGradV2"):
        CASES.append(Case(_op, (*_sequence, *_saved), _attrs))
    _shorter = literal(2, "int64"), *_sequence[1:]
    for _op, _inputs in (("BlockLSTM", _shorter), ("BlockLSTMGrad", (*_shorter, *_saved))):
        CASES.append(Case(_op, _inputs, _attrs, smooth=False, in_tensorflow=False))
_GRU = (real(_I + _C, 2 * _C), real(_I + _C, _C), real(2 * _C), real(_C))
CASES += [
    Case("GRUBlockCell", (real(_B, _I), _STATE, *_GRU), flat_outputs=(0, 1, 2)),
    Case("GRUBlockCellGrad", (real(_B, _I), _STATE, *_GRU, *_GATES[:3], _STATE)),
]
