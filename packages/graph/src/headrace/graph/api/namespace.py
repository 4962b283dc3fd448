"""Resolves `hr.<name>` lazily, by the table of public_names.py."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from headrace.graph.api.public_names import PUBLIC
from headrace.graph.platform.missing_name import MissingNameError

_PACKAGE = "headrace.graph"

_MODULES = {
    "compat": "platform.compat",
    "graph_util": "serialization.graph_util",
    "initializers": "variables.initializers",
    "saved_model": "saved_model.saved_model",
}
_spaces: dict[str, ModuleType] = {}


def find(name: str) -> Any:
    """Returns the object of a public name such as "nn.relu", or a sub-namespace such as "nn".

    Raises: MissingNameError, an AttributeError, for an unknown name.
    """
    target = PUBLIC.get(name)
    if target is not None:
        return _load(name, target)
    if name in _SPACES:
        return _space(name)
    space, _, last = name.rpartition(".")
    module = f"{_PACKAGE}.{space}" if space else _PACKAGE
    raise MissingNameError(
        f"module {module!r} has no attribute {last!r}", last, lambda: names(space)
    )


def names(space: str = "") -> list[str]:
    """Returns the public names directly in a sub-namespace, sorted."""
    prefix = space + "." if space else ""
    found = {key[len(prefix) :].split(".")[0] for key in PUBLIC if key.startswith(prefix)}
    return sorted(found)


def _load(name: str, target: str) -> Any:
    path, colon, attribute = target.partition(":")
    path = path[1:] if path.startswith("=") else f"{_PACKAGE}.{path}"
    module = importlib.import_module(path)
    if colon and not attribute:
        return module
    return getattr(module, attribute or name.rpartition(".")[2])


def _space(name: str) -> ModuleType:
    space = _spaces.get(name)
    if space is None:
        space = _spaces[name] = _Space(name)
    return space


class _Space(ModuleType):
    """A sub-namespace such as `hr.nn`; it imports the module of a name on first use."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{_PACKAGE}.{name}")
        self._space = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            value = find(f"{self._space}.{name}")
        except AttributeError:
            # The namespaces of _MODULES also have the module's other names.
            module = sys.modules.get(f"{_PACKAGE}.{_MODULES.get(self._space)}")
            value = getattr(module, name, None)
            if value is None:
                raise
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return names(self._space)


class _Package(ModuleType):
    """A package whose public names take precedence over modules of the same name.

    For instance, `hr.losses` is the sub-namespace, not the folder headrace/graph/losses.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and not isinstance(value, _Space):
            public = f"{self.__name__}.{name}"[len(_PACKAGE) + 1 :]
            target = PUBLIC.get(public)
            if (target is not None and not target.endswith(":")) or public in _SPACES:
                return
        super().__setattr__(name, value)


class _Folder(_Package):
    """A folder named like a sub-namespace, for `from headrace.graph.layers import dense`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = find(f"{self.__name__[len(_PACKAGE) + 1 :]}.{name}")
        setattr(self, name, value)
        return value


_SPACES = {key[:i] for key in PUBLIC for i, c in enumerate(key) if c == "."}


def prefer_public_names(package: str) -> None:
    """Gives a package's public names precedence over its modules of the same name."""
    sys.modules[package].__class__ = _Package if package == _PACKAGE else _Folder
