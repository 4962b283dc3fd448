"""Lists the public API: every name, its kind and its parameters.

`python packages/graph/tests/public_api.py` writes public_api.txt anew; its diff is what
a change means to users.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import headrace.graph as hr
from headrace.graph.api.public_names import PUBLIC

_OWN = {key[: i + 1] for key in PUBLIC for i in range(len(key)) if key[i + 1 : i + 2] in ("", ".")}
LISTED = Path(__file__).with_name("public_api.txt")


def listing() -> list[str]:
    """Returns: one line a name; the functions of raw_ops are the catalogue's ops, and left out."""
    return list(_lines(hr, ""))


def _lines(space: ModuleType, prefix: str) -> Iterator[str]:
    for name in _names(space):
        value = getattr(space, name)
        # The run-time form of a type alias depends on the Python version.
        alias = prefix == "typing." and not isinstance(value, type)
        yield f"{prefix}{name}{': type alias' if alias else _described(value)}"
        ours = isinstance(value, ModuleType) and value.__name__.startswith("headrace.graph.")
        if ours and name != "raw_ops":
            yield from _lines(value, f"{prefix}{name}.")


def _names(space: ModuleType) -> list[str]:
    """Returns the public names of a namespace, or the names that a module defines.

    Further names of public objects (api/aliases.py) are left out.
    """
    if type(space) is not ModuleType:
        prefix = space.__name__.removeprefix("headrace.graph").lstrip(".")
        return [name for name in sorted(dir(space)) if f"{prefix}.{name}".lstrip(".") in _OWN]
    return [
        name
        for name, value in sorted(vars(space).items())
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", space.__name__) == space.__name__
    ]


def _described(value: Any) -> str:
    if isinstance(value, ModuleType):
        return ": namespace"
    if not isinstance(value, type):
        return _parameters(value) if callable(value) else f": {type(value).__name__}"
    if hasattr(value, "DESCRIPTOR"):
        return ": message"
    members = {n: getattr(value, n) for n in sorted(vars(value)) if not n.startswith("_")}
    if hasattr(value, "_is_protocol"):
        return ": protocol"
    bases = ",".join(base.__name__ for base in value.__bases__ if base is not object)
    return " ".join(
        [f": class{f'({bases})' * bool(bases)}"]
        + ["__init__" + _parameters(value)] * ("__init__" in vars(value))
        + [n + (_parameters(m) if callable(m) else "") for n, m in members.items()]
    )


def _parameters(function: Any) -> str:
    """Returns the parameters of Headrace's functions; those of Python's differ between versions."""
    if not str(getattr(function, "__module__", "headrace.")).startswith("headrace."):
        return "(...)"
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + p.name + "=" * (p.default is not p.empty) for p in found]
    return f"({','.join(names)})"


if __name__ == "__main__":
    LISTED.write_text("".join(f"{line}\n" for line in listing()))
