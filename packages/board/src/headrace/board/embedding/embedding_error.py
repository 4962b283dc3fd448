"""What is wrong with the files of an embedding."""

from __future__ import annotations


class EmbeddingError(Exception):
    """A file cannot be used; the message says which and why.

    Args:
      message: a sentence.
      missing: whether the file is not there, rather than wrong.
    """

    def __init__(self, message: str, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing
