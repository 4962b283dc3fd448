"""What hangs on an op by name: its shape function and its gradient, found when first asked for.

@gradient("MatMul")
def matmul_gradient(op, grad): ...

no_gradient("ArgMax", "its output is an index")

@shape_rule("matmul")
def matmul(query): ...
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.formats import op_catalogue

Function = TypeVar("Function", bound=Callable[..., Any])

_gradients: dict[str, Callable[..., Any] | None] = {}
_no_gradient_reasons: dict[str, str] = {}
_not_built_reasons: dict[str, str] = {}
_shape_functions: dict[str, Callable[[Any], Any]] = {}
_missing_rules: set[str] = set()
_families_read: set[str] = set()
_foreign_read = False
_shape_rules_read = False
_lock = threading.RLock()

_FOLDERS = {"control_flow": "headrace.graph.control_flow"}  # families that are not in ops/


def gradient(op_type: str) -> Callable[[Function], Function]:
    """Registers the gradient of an op: `f(op, *grads)`, one grad per output.

    It returns one Tensor, IndexedSlices or None (no path) per input, or a single one for an op
    with one input. Raises: KeyError where the op has one already.
    """

    def register(function: Function) -> Function:
        if op_type in _gradients:
            raise KeyError(f"gradient of {op_type} is registered already: keep one of the two")
        _gradients[op_type] = function
        return function

    return register


def no_gradient(op_type: str, reason: str = "it is not differentiable") -> None:
    """Says that nothing flows back through an op, and why.

    Raises: KeyError where the op has a gradient already.
    """
    if op_type in _gradients:
        raise KeyError(f"gradient of {op_type} is registered already: keep one of the two")
    _gradients[op_type] = None
    _no_gradient_reasons[op_type] = reason


def gradient_not_built(op_type: str, reason: str) -> None:
    """Says that an op has a gradient which nobody has written yet: asking for it raises, and says
    the reason.

    Raises: KeyError where the op has a gradient.
    """
    if op_type in _gradients:
        raise KeyError(f"gradient of {op_type} is registered already: keep one of the two")
    _not_built_reasons[op_type] = reason


def shape_rule(name: str) -> Callable[[Function], Function]:
    """Registers the symbolic shape function of a catalogue rule: `f(query) -> list of shapes`.

    A library from outside registers it under its op's own name. Raises: KeyError for a name that
    is taken.
    """

    def register(function: Function) -> Function:
        if name in _shape_functions:
            raise KeyError(f"shape rule {name!r} is registered already: keep one of the two")
        _shape_functions[name] = function
        _missing_rules.discard(name)
        return function

    return register


def gradient_function(op_type: str) -> Callable[..., Any] | None:
    """The gradient of an op; None where it has been said that nothing flows back.

    Raises: LookupError naming the op where nobody has said anything.
    """
    if op_type not in _gradients:
        _read_family(op_type)
    try:
        return _gradients[op_type]
    except KeyError:
        if op_type in _not_built_reasons:
            raise LookupError(
                f"No gradient defined for op type {op_type}: {_not_built_reasons[op_type]}"
            ) from None
        raise LookupError(
            f"No gradient defined for op type {op_type}: register one with "
            f'@hr.RegisterGradient("{op_type}"), or cut the path with hr.stop_gradient'
        ) from None


def no_gradient_reason(op_type: str) -> str | None:
    """Why nothing flows back through an op, or not yet; None where something may."""
    return _no_gradient_reasons.get(op_type) or _not_built_reasons.get(op_type)


def shape_function(rule: str) -> Callable[[Any], Any] | None:
    """The symbolic function of a catalogue rule; None for a rule that nobody has."""
    function = _shape_functions.get(rule)
    if function is None and rule and rule not in _missing_rules:
        _read_shape_rules()
        function = _shape_functions.get(rule)
        if function is None:
            _read_foreign()
            function = _shape_functions.get(rule)
            if function is None:
                _missing_rules.add(rule)
    return function


def _read_family(op_type: str) -> None:
    """Imports ops/<family>.py, or all modules of the folder ops/<family>: one has the gradient."""
    if op_catalogue.find(op_type) is None:
        _read_foreign()
        return
    family = op_catalogue.family(op_type)
    if family == "foreign":
        _read_foreign()
    elif family not in _families_read:
        _import_all(_FOLDERS.get(family, f"headrace.graph.ops.{family}"))
        _families_read.add(family)


def _import_all(name: str) -> None:
    """Imports a module if it exists and, if it is a package, the modules in it."""
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


def _read_shape_rules() -> None:
    global _shape_rules_read
    with _lock:
        if not _shape_rules_read:
            _import_all("headrace.graph.shape_rules")
            _shape_rules_read = True


def _read_foreign() -> None:
    """Loads what libraries from outside offer: each entry point is a module or a callable."""
    global _foreign_read
    with _lock:
        if _foreign_read:
            return
        _foreign_read = True
        from headrace.formats.services import GRAPH_OPS, find_service, service_names

        for name in service_names(GRAPH_OPS):
            offer = find_service(GRAPH_OPS, name)
            if callable(offer):
                offer()


class RegisterGradient:
    """TF 1.x's decorator: `@hr.RegisterGradient("MyOp")`."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, function: Function) -> Function:
        return gradient(self._op_type)(function)


def NotDifferentiable(op_type: str) -> None:  # noqa: N802 - TF 1.x's name
    """TF 1.x's way to say that nothing flows back through an op."""
    no_gradient(op_type)


NoGradient = NotDifferentiable
