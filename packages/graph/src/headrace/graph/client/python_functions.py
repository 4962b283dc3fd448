"""py_function: calls Python functions that may use ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.ops.script import python_call
from headrace.graph.typing.aliases import TensorLike


class HostArray(np.ndarray):
    """An argument of a function that py_function calls: an array with `numpy()`."""

    def numpy(self) -> Any:
        """Returns the value: an array, or a number or bytes for a scalar."""
        return np.asarray(self)[()]


def py_function(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: Any,  # noqa: N803 - TF's name
    name: str | None = None,
) -> Any:
    """Creates an operation that calls a Python function, which may use ops.

    The function runs with a new graph as default. Results that are tensors of it are computed in a
    session; a tensor has no `numpy()`. There is no gradient.

    Args:
      func: function of one array with `numpy()` per input that returns a tensor, an array, or a
        list of them.
      inp: list of input tensors.
      Tout: dtype or list of dtypes of the results; an empty list for a function without results.
    Returns: as py_func.

    >>> import headrace.graph as hr
    >>> doubled = hr.py_function(lambda x: hr.add(x, x.numpy().max()), [[1, 2]], hr.int32)
    >>> with hr.Session() as session:
    ...     print(session.run(doubled))
    [3 4]
    """

    def call(*arrays: Any) -> Any:
        with Graph().as_default() as graph:
            result = func(*(np.asarray(array).view(HostArray) for array in arrays))
            parts = list(result) if isinstance(result, (list, tuple)) else [result]
            tensors = [part for part in parts if isinstance(part, Tensor)]
            if tensors:
                with Session(graph=graph) as session:
                    values = iter(session.run(tensors))
                parts = [next(values) if isinstance(p, Tensor) else p for p in parts]
        return parts if isinstance(result, (list, tuple)) else parts[0]

    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    return python_call("EagerPyFunc", call, inp, Tout, name)
