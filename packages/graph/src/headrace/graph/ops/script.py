"""py_func: calls Python functions in the process that built the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats import callables
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient
from headrace.graph.typing.aliases import TensorLike


def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,  # noqa: N803
) -> Any:
    """Creates an operation that calls a Python function.

    Args:
      func: function of one array per input that returns an array or a list of arrays.
      inp: list of input tensors.
      Tout: dtype or list of dtypes of the results.
      stateful: whether calls with equal inputs may give different results.
    Returns: a tensor, or a list of tensors if Tout is a list; the Operation for an empty list.
    """
    kind = "PyFunc" if stateful else "PyFuncStateless"
    return python_call(kind, func, inp, Tout, name)


def python_call(
    kind: str,
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: Any,
    name: str | None,  # noqa: N803
) -> Any:
    """Creates an operation of a kind that calls a Python function. Args: as py_func."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in (Tout if is_list else [Tout])]

    def call(*arrays: Any) -> list[Any]:
        result = func(*arrays)
        if result is None:
            result = []
        elif not isinstance(result, (list, tuple)) or not is_list:
            result = [result]
        return list(result)  # the kernel checks numbers and dtypes against Tout

    # The graph owns the function; the registry has only a weak reference.
    registered = callables.register(call)
    get_default_graph()._keep_alive.append(registered)
    outputs = op(kind, list(inp), token=registered.token, Tout=types, name=name)
    return outputs if is_list else outputs[0]


def numpy_function(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803 - TF's name
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Same as py_func."""
    return py_func(func, inp, Tout, stateful, name)


gradient_not_implemented(
    "EagerPyFunc", "functions of py_function are not differentiated; build the ops in the graph"
)
no_gradient("PyFunc", "Python functions are not differentiated")
no_gradient("PyFuncStateless", "Python functions are not differentiated")
