"""Writes the YAML of manifests: mappings, lists, strings, numbers and booleans."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Strings that every version of YAML reads as strings without quotes.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./-]*", re.ASCII)
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def yaml_documents(documents: Sequence[Mapping[str, Any]]) -> str:
    """Returns documents, separated as `kubectl` reads them."""
    return "---\n".join("\n".join(_lines(document)) + "\n" for document in documents)


def _lines(value: Any) -> list[str]:
    """Returns the lines of a mapping or list that is not empty."""
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            lines += _entry(f"{_scalar(key)}:", item, indent="" if _is_list(item) else "  ")
    else:
        for item in value:
            nested = _lines(item) if _is_nested(item) else [_scalar(item)]
            lines += [f"- {nested[0]}", *(f"  {line}" for line in nested[1:])]
    return lines


def _entry(start: str, item: Any, indent: str) -> list[str]:
    if not _is_nested(item):
        return [f"{start} {_scalar(item)}"]
    return [start, *(f"{indent}{line}" for line in _lines(item))]


def _is_list(item: Any) -> bool:
    return isinstance(item, Sequence) and not isinstance(item, str)


def _is_nested(item: Any) -> bool:
    return bool(item) and (isinstance(item, Mapping) or _is_list(item))


def _scalar(item: Any) -> str:
    if isinstance(item, str) and _PLAIN.fullmatch(item) and item.lower() not in _WORDS:
        return item
    if isinstance(item, str):
        return f'"{"".join(map(_escaped, item))}"'
    return json.dumps(item)  # a number, true, {} or []


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
