"""Registry of gradients and shape functions, loaded on first use of an op.

@gradient("MatMul")
def matmul_gradient(op, grad): ...

no_gradient("ArgMax", "its output is an index")

@shape_rule("matmul")
def matmul(query): ...
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.formats import op_catalogue
from headrace.formats.fork_lock import ForkLock

Function = TypeVar("Function", bound=Callable[..., Any])

_gradients: dict[str, Callable[..., Any] | None] = {}
# Gradients of single nodes, by the name in their attribute; the graphs of the nodes own them.
weak_gradients: weakref.WeakValueDictionary[str, Callable[..., Any]] = weakref.WeakValueDictionary()
_no_gradient_reasons: dict[str, str] = {}
_not_implemented_reasons: dict[str, str] = {}
_shape_functions: dict[str, Callable[[Any], Any]] = {}
_missing_rules: set[str] = set()
_families_loaded: set[str] = set()
_custom_ops_loaded = False
_shape_rules_loaded = False
_lock = ForkLock()

_FUNCTIONS = "headrace.graph.functions"
_FOLDERS = {  # families outside of ops/
    "control_flow": ("headrace.graph.control_flow", _FUNCTIONS),
}

FUNCTION_CALL = "<call>"  # the name of the gradient of nodes whose op is a function


def gradient(op_type: str) -> Callable[[Function], Function]:
    """Registers the gradient of an op: `f(op, *grads)`, one grad per output.

    The function returns one Tensor, IndexedSlices or None (no gradient) per input; it may return a
    single one for an op with one input.

    Raises: when applied, KeyError if the op already has a gradient.
    """

    def register(function: Function) -> Function:
        if op_type in _gradients:
            raise KeyError(f"gradient of {op_type} is already registered: keep one of the two")
        _gradients[op_type] = function
        return function

    return register


def no_gradient(op_type: str, reason: str = "it is not differentiable") -> None:
    """Declares that an op has no gradient, with the reason.

    Raises: KeyError if the op already has a gradient.
    """
    if op_type in _gradients:
        raise KeyError(f"gradient of {op_type} is already registered: keep one of the two")
    _gradients[op_type] = None
    _no_gradient_reasons[op_type] = reason


def gradient_not_implemented(op_type: str, reason: str) -> None:
    """Declares that the gradient of an op is not implemented: looking it up raises with the reason.

    Raises: KeyError if the op already has a gradient.
    """
    if op_type in _gradients:
        raise KeyError(f"gradient of {op_type} is already registered: keep one of the two")
    _not_implemented_reasons[op_type] = reason


def shape_rule(name: str) -> Callable[[Function], Function]:
    """Registers the shape function of a catalogue rule: `f(query) -> list of shapes`.

    The rule of a custom op has the name of the op.

    Raises: when applied, KeyError if the rule already has a function.
    """

    def register(function: Function) -> Function:
        if name in _shape_functions:
            raise KeyError(f"shape rule {name!r} is already registered: keep one of the two")
        _shape_functions[name] = function
        _missing_rules.discard(name)
        return function

    return register


def gradient_function(op_type: str) -> Callable[..., Any] | None:
    """Returns the gradient function of an op, or None if it is declared to have no gradient.

    Raises: LookupError if no gradient is registered or implemented.
    """
    custom = weak_gradients.get(op_type)
    if custom is not None:
        return custom
    if op_type not in _gradients:
        _load_family(op_type)
    try:
        return _gradients[op_type]
    except KeyError:
        if op_type in _not_implemented_reasons:
            raise LookupError(
                f"No gradient defined for op type {op_type}: {_not_implemented_reasons[op_type]}"
            ) from None
        raise LookupError(
            f"No gradient defined for op type {op_type}: register one with "
            f'@hr.RegisterGradient("{op_type}"), or cut the path with hr.stop_gradient'
        ) from None


def no_gradient_reason(op_type: str) -> str | None:
    """Returns the declared reason why an op has no gradient; None if it may have one."""
    return _no_gradient_reasons.get(op_type) or _not_implemented_reasons.get(op_type)


def shape_function(rule: str) -> Callable[[Any], Any] | None:
    """Returns the shape function of a catalogue rule, or None for an unknown rule."""
    function = _shape_functions.get(rule)
    if function is None and rule and rule not in _missing_rules:
        _load_shape_rules()
        function = _shape_functions.get(rule)
        if function is None:
            _load_custom_ops()
            function = _shape_functions.get(rule)
            if function is None:
                _missing_rules.add(rule)
    return function


def call_shape_function() -> Callable[[Any], None]:
    """Returns the function that sets the output shapes of a node that calls a function."""
    return importlib.import_module(f"{_FUNCTIONS}.call_shapes").set_call_shapes


def _load_family(op_type: str) -> None:
    """Imports ops/<family>.py, or all modules of ops/<family>/, one of which has the gradient."""
    if op_type == FUNCTION_CALL:
        _import_all(_FUNCTIONS)
        return
    if op_catalogue.find(op_type) is None:
        _load_custom_ops()
        return
    family = op_catalogue.family(op_type)
    if family == "foreign":
        _load_custom_ops()
    elif family not in _families_loaded:
        for folder in _FOLDERS.get(family, (f"headrace.graph.ops.{family}",)):
            _import_all(folder)
        _families_loaded.add(family)


def _import_all(name: str) -> None:
    """Imports a module if it exists; for a package, also its modules."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return
    if hasattr(module, "__path__"):
        import pkgutil

        for found in pkgutil.iter_modules(module.__path__):
            importlib.import_module(f"{name}.{found.name}")


def _load_shape_rules() -> None:
    global _shape_rules_loaded
    with _lock.current:
        if not _shape_rules_loaded:
            _import_all("headrace.graph.shape_rules")
            _shape_rules_loaded = True


def _load_custom_ops() -> None:
    """Loads the gradients and shape functions of installed libraries, by entry point."""
    global _custom_ops_loaded
    with _lock.current:
        if _custom_ops_loaded:
            return
        _custom_ops_loaded = True
        from headrace.formats.services import GRAPH_OPS, find_service, service_names

        for name in service_names(GRAPH_OPS):
            service = find_service(GRAPH_OPS, name)
            if callable(service):
                service()


class RegisterGradient:
    """Decorator that registers the gradient of an op: `@hr.RegisterGradient("MyOp")`.

    Raises: when applied, KeyError if the op already has a gradient.
    """

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, function: Function) -> Function:
        return gradient(self._op_type)(function)


def NotDifferentiable(op_type: str) -> None:  # noqa: N802 - TF 1.x's name
    """Declares that an op is not differentiable. Raises: KeyError if it already has a gradient."""
    no_gradient(op_type)


NoGradient = NotDifferentiable
