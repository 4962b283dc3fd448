"""Cases of the shape rules of variables."""

from __future__ import annotations

from shape_rule_cases.maker import Maker, rule


@rule("assign", "assign_update")
def assign(m: Maker, name: str) -> None:
    x = m.input(m.some())
    m.input(m.near(x))
    m.attr(validate_shape=not m.rarely())
