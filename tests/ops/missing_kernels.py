"""Ops of the catalogue without kernels, and why."""

from __future__ import annotations

from headrace.formats import op_catalogue

# op or family -> why there is no kernel for it.
NO_KERNEL = {
    "Placeholder": "a value must be fed",
    "PlaceholderV2": "a value must be fed",
}

# Prefixes of names, and families, of ops that are not supported yet.
NOT_IMPLEMENTED: dict[str, str] = {}
FAMILIES_NOT_IMPLEMENTED: dict[str, str] = {}


def is_not_implemented(name: str) -> bool:
    """Whether the op is not supported yet."""
    return op_catalogue.family(name) in FAMILIES_NOT_IMPLEMENTED or any(
        name.startswith(prefix) for prefix in NOT_IMPLEMENTED
    )
