"""How a table of public names is written: many names of one module in one row."""

from __future__ import annotations


def rows(module: str, names: str, space: str = "") -> dict[str, str]:
    """A row for each of the names, all in one module (and one sub-namespace)."""
    prefix = space + "." if space else ""
    return {prefix + name: module for name in names.split()}
