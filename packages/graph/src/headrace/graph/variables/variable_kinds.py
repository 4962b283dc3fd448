"""The kinds of variables: which class `Variable(...)` constructs, and through which creators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.platform.v2_compat import resource_variables_enabled
from headrace.graph.variables.variable_scope import get_variable_scope

if TYPE_CHECKING:
    from headrace.graph.variables.variable import Variable

_Kind = TypeVar("_Kind", bound="Variable")

# By use_resource. The package `variables` imports both classes, which register themselves.
_kinds: dict[bool, type[Variable]] = {}


def variable_kind(use_resource: bool) -> Callable[[type[_Kind]], type[_Kind]]:
    """Decorator: registers the class of `Variable(..., use_resource=use_resource)`."""

    def register(cls: type[_Kind]) -> type[_Kind]:
        _kinds[use_resource] = cls
        return cls

    return register


def construct(**kwargs: Any) -> Any:
    """Constructs a variable through the active creators of variable_creator_scope."""
    build = _construct
    for creator in getattr(get_default_graph()._local, "variable_creators", []):
        build = _wrapped(creator, build)
    return build(**kwargs)


def _construct(**kwargs: Any) -> Any:
    use_resource = kwargs.pop("use_resource", None)
    message = kwargs.get("variable_def")
    if use_resource is None:
        if message is not None:
            use_resource = message.is_resource
        else:
            use_resource = get_variable_scope().use_resource
            if use_resource is None:
                use_resource = resource_variables_enabled()
    return _kinds[bool(use_resource)](**kwargs)


def _wrapped(creator: Any, following: Any) -> Any:
    return lambda **kwargs: creator(following, **kwargs)
