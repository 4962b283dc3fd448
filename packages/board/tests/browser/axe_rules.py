"""What axe-core finds wrong with a page."""

from __future__ import annotations

from importlib import resources
from typing import Any


def serious_violations(page: Any) -> list[str]:
    """Returns the serious and critical violations on a page, up to three nodes for each rule."""
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document)")["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]} ({node.get('failureSummary', '')[:200]})"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]
