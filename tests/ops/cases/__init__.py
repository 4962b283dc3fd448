"""One case table per family of ops, for all comparisons of one implementation with another."""

from cases.all_families import ALL
from cases.case import Case

__all__ = ["ALL", "Case"]
