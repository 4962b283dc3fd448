"""MissingNameError, an AttributeError that suggests similar names."""

from __future__ import annotations

from collections.abc import Callable


class MissingNameError(AttributeError):
    """An AttributeError whose message suggests similar names.

    The search runs only when the message is read, because programs test many missing names with
    hasattr().

    Args:
      problem: message without suggestions.
      name: the missing name.
      names: function that returns the existing names.
    """

    def __init__(self, problem: str, name: str, names: Callable[[], list[str]]) -> None:
        super().__init__(problem, name=name)
        self._names = names

    def __str__(self) -> str:
        from difflib import get_close_matches

        problem = str(self.args[0])
        near = get_close_matches(str(self.name), self._names(), n=3)
        return f"{problem}: did you mean {' or '.join(near)}?" if near else problem
