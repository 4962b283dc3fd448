"""Functions with user-defined gradients."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import resource
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.op_registry import weak_gradients
from headrace.graph.framework.operation import Operation, Tensor

_numbers = itertools.count()


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorator for a function with a user-defined gradient.

    Args:
      f: tensors -> (result, grad_fn), where grad_fn(*gradients of the results) returns the
        gradient of each argument. Where f uses resource variables, grad_fn also takes
        `variables=`, and returns (gradients of the arguments, gradients of the variables).
    Returns: a function of the same arguments that returns only the result.
    Raises: when called, TypeError if f uses variables and grad_fn does not take `variables`, or if
      they are not resource variables; ValueError for keyword arguments, or if grad_fn returns a
      wrong number of gradients.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                f"custom_gradient: {f.__name__} must be called without keyword arguments, got "
                f"{sorted(kwargs)}"
            )
        return _apply_custom_gradient(f, args)

    return decorated


def _apply_custom_gradient(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    proxies = [op("Identity", convert_to_tensor(a)) for a in nest.flatten(list(args))]
    result, grad_fn = f(*nest.pack_sequence_as(list(args), proxies))
    results = [convert_to_tensor(r) for r in nest.flatten([result])]
    used = _variables_between(results, proxies)
    takes = _takes_variables(grad_fn)
    if used and not takes:
        raise TypeError(
            f"custom_gradient: {f.__name__} uses variables, so its grad_fn must take a keyword "
            f"argument `variables`: {[v.name for v in used]}"
        )
    n_results, n_args = len(results), len(proxies)
    registered = f"CustomGradient-{next(_numbers)}"

    def backwards(node: Operation, *grads: Any) -> list[Any]:
        options = {"variables": used} if takes and used else {}
        arg_grads = grad_fn(*grads[:n_results], **options)
        of_variables: list[Any] = []
        if options:
            arg_grads, of_variables = arg_grads
            of_variables = list(nest.flatten([of_variables]))
            if len(of_variables) != len(used):
                raise ValueError(
                    f"custom_gradient: grad_fn returned {len(of_variables)} gradients for "
                    f"{len(used)} variables"
                )
        of_args = (
            list(nest.flatten([arg_grads]))
            if not isinstance(arg_grads, (list, tuple))
            else list(arg_grads)
        )
        if len(of_args) != n_args:
            raise ValueError(
                f"custom_gradient: grad_fn returned {len(of_args)} gradients for {n_args} arguments"
            )
        return [*[None] * n_results, *of_args, *of_variables]

    # The graph owns the gradient, which refers to the graph's tensors.
    graph = get_default_graph()
    graph._keep_alive.append(backwards)
    weak_gradients[registered] = backwards
    every = [*results, *proxies, *[v.handle for v in used]]
    with graph.gradient_override_map({"IdentityN": registered}):
        outputs = op("IdentityN", every)
    return nest.pack_sequence_as([result], outputs[:n_results])[0]


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    import inspect

    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _variables_between(results: list[Tensor], args: list[Tensor]) -> list[Any]:
    """Returns the trainable variables that the results use other than through the arguments."""
    graph: Any = get_default_graph()
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    known = {v.op: v for key in keys for v in graph.get_collection(key)}
    stop = {a.op for a in args}
    if graph.building_function:  # it reads a variable through the placeholder of its handle
        known.update({inner.op: known[t.op] for t, inner in graph.captures if t.op in known})
    found: dict[Any, Any] = {}
    seen: set[Operation] = set()
    stack = [r.op for r in results]
    while stack:
        node = stack.pop()
        if node in seen or node in stop:
            continue
        seen.add(node)
        if node in known and getattr(known[node], "trainable", True):
            found[node] = known[node]
        stack.extend(t.op for t in node.inputs)
    used = sorted(found.values(), key=lambda v: v.op._id)  # noqa: SLF001 - in order of creation
    for variable in used:
        handle = getattr(variable, "handle", None)
        if not isinstance(handle, Tensor) or handle.dtype.base_dtype != resource:
            raise TypeError(
                "custom_gradient: all variables that the function uses must be resource "
                f"variables, {variable.name} is not: create it with use_resource=True"
            )
    return used


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that its gradient is the gradient of the identity.

    Args:
      f: tensors -> a tensor or tensors of the same shapes.
    """

    @custom_gradient
    def function(*args: Any) -> Any:
        def grad(*grads: Any, variables: Any = None) -> Any:
            if variables is None:
                return grads if len(grads) > 1 else grads[0]
            return grads, [None] * len(variables)

        return f(*args), grad

    return function
