"""Functions at their poles, at the ends of their domains, at infinities and NaN."""

from __future__ import annotations

import numpy as np
from kept_values import INF, NAN, where_kept

from edge_cases import EdgeCase
from headrace.formats.dtypes import as_dtype

ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, -2.5, -3.0, 1e-30, -1e-30, 40.0, -40.0]
ENDS += [1e10, -1e10, 1e30, -1e30, np.inf, -np.inf, np.nan]
PAIRS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 1e10, -1e10, np.inf, -np.inf, np.nan]
FEWER = [0.0, 0.5, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan]
ONE = (
    "Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 "
    "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Cos Cosh Dawsn Digamma Elu Erf Erfc "
    "Erfinv Exp Expint Expm1 FresnelCos FresnelSin Inv Lgamma Log Log1p Ndtri Reciprocal Rint "
    "Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Spence Sqrt Tan Tanh"
).split()
TWO = (
    "Atan2 DivNoNan FloorDiv FloorMod Igamma IgammaGradA Igammac Maximum Minimum Mod MulNoNan "
    "NextAfter Polygamma Pow RandomGammaGrad RealDiv SquaredDifference TruncateMod Xdivy Xlog1py "
    "Xlogy Zeta InvGrad ReciprocalGrad RsqrtGrad SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad "
    "TanhGrad"
).split()
COMPLEX = [complex(a, b) for a in FEWER for b in FEWER]

EDGE_CASES: list[EdgeCase] = []


def _edge(op: str, *inputs: np.ndarray) -> EdgeCase:
    kept, _ = where_kept(op, inputs)
    return EdgeCase(op, [x[~(kept | np.zeros(x.shape, bool))] for x in inputs])


for dtype in (np.float32, np.float64):
    with np.errstate(over="ignore"):
        x = np.array(ENDS, dtype)
        a, b = (np.array(v, dtype).ravel() for v in np.meshgrid(PAIRS, PAIRS, indexing="ij"))
        p, q, r = (np.array(v, dtype).ravel() for v in np.meshgrid(FEWER, FEWER, FEWER))
    EDGE_CASES += [_edge(op, x) for op in ONE]
    EDGE_CASES += [_edge(op, a, b) for op in TWO]
    EDGE_CASES.append(_edge("Betainc", p, q, r))
    # Elements without a gradient where the value is infinite, NaN or, of a square root, 0.
    y = np.empty(a.shape, np.result_type(dtype, np.complex64))
    y.real, y.imag = a, b
    for op in ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
        EDGE_CASES.append(EdgeCase(op, [y, np.zeros_like(y)]))

# What 64 bits do not hold; of narrower integers TensorFlow gives two values by position.
for kind in ("float16", "bfloat16", "float32", "float64"):
    numbers = np.array(
        [NAN, INF, -INF, 1e30, -1e30, 2.0**64, 2.0**63, 1e19, -(2.0**63), 3e9, -1, 1.5], "f8"
    )
    with np.errstate(over="ignore"):
        of = numbers.astype(as_dtype(kind).as_numpy_dtype)
    for to in ("int64", "uint64", "bool"):
        EDGE_CASES.append(EdgeCase("Cast", [of], {"SrcT": as_dtype(kind), "DstT": as_dtype(to)}))
