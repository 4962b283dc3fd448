"""Shorthand for the tables of public names: many names of one module in one row."""

from __future__ import annotations


def rows(module: str, names: str, space: str = "") -> dict[str, str]:
    """Returns {name: module} for names separated by spaces, with the sub-namespace as prefix."""
    prefix = space + "." if space else ""
    return {prefix + name: module for name in names.split()}
