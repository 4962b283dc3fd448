"""Cases of the activations family."""

from __future__ import annotations

from cases.case import Case, distinct, real, special

CASES = []
_DOUBLE = ("float32", "float64")
for _op in "Relu Relu6 LeakyRelu Elu Selu Softplus Softsign".split():
    CASES += [Case(_op, (distinct(*shape),)) for shape in [(3, 5), (), (0, 4), (65,)]]
    CASES.append(Case(_op, (special(33),), dtypes=_DOUBLE, smooth=False))
CASES += [
    Case("LeakyRelu", (distinct(9),), {"alpha": 0.7}),
    Case("LeakyReluGrad", (real(9), distinct(9)), {"alpha": 0.7}),
]
for _op in "ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftplusGrad SoftsignGrad".split():
    # the second argument, feature or output, is above -1 for those that are outputs
    CASES.append(Case(_op, (real(5, 7), real(5, 7, low=-0.9, high=2))))
for _op in ("Softmax", "LogSoftmax"):
    CASES += [Case(_op, (real(*shape),)) for shape in [(3, 5), (5,), (2, 3, 4), (0, 4), (1, 65)]]
    CASES.append(Case(_op, (real(3, 9, low=-200, high=200),), dtypes=_DOUBLE, smooth=False))
