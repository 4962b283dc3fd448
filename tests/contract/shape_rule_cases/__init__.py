"""Random cases of the shape rules, one module per family of rules."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from shape_rule_cases.maker import RULES, Case, cases

__all__ = ["RULES", "Case", "cases"]

for _family in iter_modules(__path__):
    import_module(f"{__name__}.{_family.name}")
