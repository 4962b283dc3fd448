"""Updates of a variable [1, 2, 3] that each case makes anew, and functions of Python."""

from __future__ import annotations

import numpy as np

from values.value_case import call


def _variable(hr):
    return hr.Variable([1.0, 2.0, 3.0], name="v")


CASES = [
    call("scatter_update", _variable, [0], [9.0], gives=[9.0, 2.0, 3.0]),
    call("scatter_mul", _variable, [1], [4.0], gives=[1.0, 8.0, 3.0]),
    call("scatter_div", _variable, [1], [4.0], gives=[1.0, 0.5, 3.0]),
    call("scatter_min", _variable, [2], [1.0], gives=[1.0, 2.0, 1.0]),
    call("scatter_max", _variable, [0], [5.0], gives=[5.0, 2.0, 3.0]),
    call("scatter_nd_update", _variable, [[0], [2]], [7.0, 8.0], gives=[7.0, 2.0, 8.0]),
    call("scatter_nd_add", _variable, [[0], [2]], [7.0, 8.0], gives=[8.0, 2.0, 11.0]),
    call("scatter_nd_sub", _variable, [[0], [2]], [7.0, 8.0], gives=[-6.0, 2.0, -5.0]),
    call("count_up_to", lambda hr: hr.Variable(np.int32(3)), 5, gives=np.int32(3)),
    call("numpy_function", lambda hr: np.cumsum, [[1.0, 2.0]], "float32", gives=[1.0, 3.0]),
]
