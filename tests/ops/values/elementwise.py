"""Element by element: special functions by closed forms, integers and casts by hand."""

from __future__ import annotations

import numpy as np

from values.value_case import call

_X = np.array([-0.75, -0.25, 0.0, 0.5, 0.9])
_P = np.array([1.0, 1.5, 2.0, 4.0])
_PI2_6 = np.pi**2 / 6
_INF = float("inf")
_BITS_A = np.array([0b1100, 0b1010], np.int32)
_BITS_B = np.array([0b1010, 0b0110], np.int32)

CASES = [
    call("asin", _X, gives=np.arcsin(_X)),
    call("acos", _X, gives=np.arccos(_X)),
    call("atan", _X, gives=np.arctan(_X)),
    call("asinh", _X, gives=np.arcsinh(_X)),
    call("acosh", _P, gives=np.arccosh(_P)),
    call("atanh", _X, gives=np.arctanh(_X)),
    call("atan2", _X, _X[::-1], gives=np.arctan2(_X, _X[::-1])),
    # Euler's constant: digamma(1) = -gamma, digamma(2) = 1 - gamma.
    call("digamma", [1.0, 2.0, 0.5], gives=[-0.5772157, 0.4227843, -0.5772157 - 2 * np.log(2)]),
    # A gamma distribution of shape 1 is exponential.
    call("igamma", np.ones(4), _P, gives=1 - np.exp(-_P)),
    call("igammac", np.ones(4), _P, gives=np.exp(-_P)),
    call("zeta", [2.0, 4.0], [1.0, 1.0], gives=[_PI2_6, np.pi**4 / 90]),
    call("polygamma", [1.0, 1.0], [1.0, 2.0], gives=[_PI2_6, _PI2_6 - 1]),
    # A beta distribution of (1, 1) is uniform; of (2, 1) its function is x squared.
    call("betainc", [1.0, 2.0], [1.0, 1.0], [0.3, 0.3], gives=[0.3, 0.09]),
    call("math.bessel_i0", _P, gives=np.i0(_P)),
    call("math.bessel_i0e", _P, gives=np.i0(_P) * np.exp(-_P)),
    call("math.bessel_i1", [0.0, 1.0], gives=[0.0, 0.565159104]),
    call("math.bessel_i1e", [0.0, 1.0], gives=[0.0, 0.565159104 / np.e]),
    call("is_inf", [1.0, _INF, -_INF, float("nan")], gives=[False, True, True, False]),
    call("realdiv", [1.0, 9.0], [4.0, 2.0], gives=[0.25, 4.5]),
    call("truncatemod", np.int32([-7, 7]), np.int32([3, -3]), gives=np.int32([-1, 1])),
    call("logical_xor", [True, True, False], [True, False, False], gives=[False, True, False]),
    call("math.multiply_no_nan", [_INF, 2.0], [0.0, 3.0], gives=[0.0, 6.0]),
    call("math.xdivy", [0.0, 3.0], [0.0, 2.0], gives=[0.0, 1.5]),
    call("math.xlogy", [0.0, 3.0], [0.0, 2.0], gives=[0.0, 3 * np.log(2)]),
    call("math.xlog1py", [0.0, 3.0], [-1.0, 1.0], gives=[0.0, 3 * np.log(2)]),
    call("math.nextafter", _P, np.zeros(4), gives=np.nextafter(_P, 0)),
    call("bitwise.bitwise_and", _BITS_A, _BITS_B, gives=np.int32([0b1000, 0b0010])),
    call("bitwise.bitwise_or", _BITS_A, _BITS_B, gives=np.int32([0b1110, 0b1110])),
    call("bitwise.bitwise_xor", _BITS_A, _BITS_B, gives=np.int32([0b0110, 0b1100])),
    call("bitwise.invert", _BITS_A, gives=~_BITS_A),
    call("bitwise.left_shift", _BITS_A, np.int32([1, 2]), gives=np.int32([24, 40])),
    call("bitwise.right_shift", _BITS_A, np.int32([1, 2]), gives=np.int32([6, 2])),
    call("accumulate_n", [np.ones(2), 2 * np.ones(2), 3 * np.ones(2)], gives=[6.0, 6.0]),
    call("saturate_cast", np.int32([300, -5, 7]), "uint8", gives=np.uint8([255, 0, 7])),
    call("to_float", np.int32([1, 2]), gives=np.float32([1, 2])),
    call("to_double", np.int32([1, 2]), gives=np.float64([1, 2])),
    call("to_int32", np.float32([1.9, -1.9]), gives=np.int32([1, -1])),
    call("to_int64", np.float32([1.9, -1.9]), gives=np.int64([1, -1])),
    call("to_bfloat16", np.float32([1.0, 1.0 + 2**-9]), gives=np.float32([1.0, 1.0])),
    call("to_complex128", np.float32([1, 2]), gives=np.complex128([1, 2])),
    call("clip_by_norm", [3.0, 4.0], 1.0, gives=[0.6, 0.8]),
    call("clip_by_average_norm", [3.0, 4.0], 1.0, gives=[1.2, 1.6]),  # the norm over 2 elements
    call("global_norm", [[3.0], [4.0]], gives=5.0),
    call("nn.zero_fraction", [0.0, 1.0, 0.0, 0.0], gives=0.75),
]
