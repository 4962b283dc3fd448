"""Arrays: shapes, order, reductions, linear algebra, Fourier transforms."""

from __future__ import annotations

import numpy as np

from values.value_case import call

_M = np.arange(6.0).reshape(2, 3)
_CUBE = np.random.default_rng(3).normal(size=(2, 4, 6))
_LONG = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]

CASES = [
    call("reduce_prod", _M + 1, 0, gives=[4.0, 10.0, 18.0]),
    call("reduce_logsumexp", _M, 1, gives=np.log(np.exp(_M).sum(1))),
    call("math.reduce_euclidean_norm", _M, 1, gives=np.linalg.norm(_M, axis=1)),
    call("math.reduce_variance", _M, 1, gives=_M.var(1)),
    call("math.reduce_std", _M, 1, gives=_M.std(1)),
    call("arg_max", _M, 1, gives=np.int64([2, 2])),
    call("arg_min", _M, 1, gives=np.int64([0, 0])),
    call("cumprod", _M + 1, 1, gives=np.cumprod(_M + 1, 1)),
    call("tensordot", _M, _M, [[1], [1]], gives=_M @ _M.T),
    call("linalg.matvec", _M, np.array([1.0, 0.0, 2.0]), gives=_M @ [1.0, 0.0, 2.0]),
    call("guarantee_const", _M, gives=_M),
    call("sequence_mask", [1, 3], 3, gives=[[True, False, False], [True, True, True]]),
    call("broadcast_dynamic_shape", [2, 1, 3], [4, 1], gives=np.int32([2, 4, 3])),
    call("parallel_stack", [[1.0, 2.0], [3.0, 4.0]], gives=[[1.0, 2.0], [3.0, 4.0]]),
    call("unstack", _M, gives=[_M[0], _M[1]]),
    call("identity_n", [_M, [1.0]], gives=[_M, [1.0]]),
    call(
        "reverse_sequence",
        _LONG,
        [2, 3],
        seq_axis=1,
        gives=[[2.0, 1.0, 3.0, 4.0], [7.0, 6.0, 5.0, 8.0]],
    ),
    call(
        "unique_with_counts",
        np.int32([7, 7, 3, 7]),
        gives=[np.int32([7, 3]), np.int32([0, 0, 1, 0]), np.int32([3, 1])],
    ),
    call(
        "setdiff1d",
        np.int32([5, 1, 4, 1]),
        np.int32([1]),
        gives=[np.int32([5, 4]), np.int32([0, 2])],
    ),
    call("invert_permutation", np.int32([2, 0, 1]), gives=np.int32([1, 2, 0])),
    call("batch_gather", _M, [[2], [0]], gives=[[2.0], [3.0]]),
    call("fft3d", _CUBE.astype(np.complex128), gives=np.fft.fftn(_CUBE)),
    call("ifft3d", np.fft.fftn(_CUBE), gives=_CUBE.astype(np.complex128)),
    call("signal.rfft3d", _CUBE, gives=np.fft.rfftn(_CUBE)),
    call("signal.irfft3d", np.fft.rfftn(_CUBE), gives=_CUBE),
]
