"""Names on their way out of a scope (export) and into one (import)."""

from __future__ import annotations

import re
from typing import Any

_EXTENDED = re.compile(r"^([\^]|loc:@|)(.*)$", re.DOTALL)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Takes a scope off a name ("^a/b", "loc:@a/b" and "a/b" alike)."""
    if not export_scope:
        return name
    prefix = export_scope[:-1] if export_scope[-1] == "/" else export_scope
    mark, rest = _split(name)
    return mark + (rest[len(prefix) + 1 :] if rest.startswith(prefix + "/") else rest)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Puts a scope before a name ("^b", "loc:@b" and "b" alike)."""
    if not import_scope:
        return name
    prefix = import_scope[:-1] if import_scope[-1] == "/" else import_scope
    mark, rest = _split(name)
    return f"{mark}{prefix}/{rest}"


def _split(name: str) -> tuple[str, str]:
    match: Any = _EXTENDED.match(name)
    return match.group(1), match.group(2)
