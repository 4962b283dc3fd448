"""Resolves `hr.<name>` lazily, by the tables of public_names.py and aliases.py."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
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
_aliases: dict[str, str] = {}


def find(name: str) -> Any:
    """Returns the object of a public name such as "nn.relu", or a sub-namespace such as "nn".

    Raises: MissingNameError, an AttributeError, for an unknown name.
    """
    target = PUBLIC.get(name) or _aliases.get(name)
    if target is not None:
        return _load(name, target)
    if name in _SPACES:
        return _space(name)
    if _add_aliases():
        return find(name)
    space, _, last = name.rpartition(".")
    module = f"{_PACKAGE}.{space}" if space else _PACKAGE
    raise MissingNameError(
        f"module {module!r} has no attribute {last!r}", last, lambda: names(space)
    )


def names(space: str = "") -> list[str]:
    """Returns the public names directly in a sub-namespace, sorted."""
    _add_aliases()
    prefix = space + "." if space else ""
    tables = (PUBLIC, _aliases)
    keys = [key for table in tables for key in table if key.startswith(prefix)]
    return sorted({key[len(prefix) :].split(".")[0] for key in keys})


def _add_aliases() -> bool:
    """Loads the aliases when first needed. Returns: whether this call has loaded them."""
    if _aliases:
        return False
    from headrace.graph.api.aliases import expand

    _aliases.update(expand(PUBLIC))
    _SPACES.update(_spaces_of(_aliases))
    return True


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
        self.__path__: list[str] = []  # a package: it may have namespaces in it

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


def _spaces_of(table: dict[str, str]) -> set[str]:
    return {key[:i] for key in table for i, c in enumerate(key) if c == "."}


_SPACES = _spaces_of(PUBLIC)


class _SpaceFinder:
    """Finds a namespace as a module: `from headrace.graph.python.client import timeline`.

    Python asks it only for modules that are no files.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_PACKAGE}."):
            return None
        name = fullname[len(_PACKAGE) + 1 :]
        try:
            module = find(name)
        except AttributeError:
            return None
        if not isinstance(module, ModuleType):
            return None
        loader: Any = _SpaceLoader(module)
        return ModuleSpec(fullname, loader, is_package=True)


class _SpaceLoader:
    """Loads a namespace: puts it in the place of the module that Python has made."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._module


sys.meta_path.append(_SpaceFinder)


def prefer_public_names(package: str) -> None:
    """Gives a package's public names precedence over its modules of the same name."""
    sys.modules[package].__class__ = _Package if package == _PACKAGE else _Folder
