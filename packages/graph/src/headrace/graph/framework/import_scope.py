"""Removes name scopes from names on export, and adds them on import."""

from __future__ import annotations

import re
from typing import Any

_EXTENDED = re.compile(r"^([\^]|loc:@|)(.*)$", re.DOTALL)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Removes a scope from a name ("a/b", "^a/b" or "loc:@a/b")."""
    if not export_scope:
        return name
    prefix = export_scope[:-1] if export_scope[-1] == "/" else export_scope
    mark, rest = _split(name)
    return mark + (rest[len(prefix) + 1 :] if rest.startswith(prefix + "/") else rest)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Prepends a scope to a name ("b", "^b" or "loc:@b")."""
    if not import_scope:
        return name
    prefix = import_scope[:-1] if import_scope[-1] == "/" else import_scope
    mark, rest = _split(name)
    return f"{mark}{prefix}/{rest}"


def _split(name: str) -> tuple[str, str]:
    match: Any = _EXTENDED.match(name)
    return match.group(1), match.group(2)
