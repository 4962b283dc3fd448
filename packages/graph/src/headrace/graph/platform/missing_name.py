"""The error of a name that a module does not have: its text names the closest ones."""

from __future__ import annotations

from collections.abc import Callable


class MissingNameError(AttributeError):
    """An AttributeError that looks for close names when its text is read.

    Programs ask with hasattr() for many names that are not there, so the search costs
    nothing until the text is read.

    Args:
      problem: the text without the close names.
      name: what was asked for.
      names: gives the names that there are.
    """

    def __init__(self, problem: str, name: str, names: Callable[[], list[str]]) -> None:
        super().__init__(problem, name=name)
        self._names = names

    def __str__(self) -> str:
        from difflib import get_close_matches

        problem = str(self.args[0])
        near = get_close_matches(str(self.name), self._names(), n=3)
        return f"{problem}: did you mean {' or '.join(near)}?" if near else problem
