"""The error of embeddings."""

from __future__ import annotations


class EmbeddingError(Exception):
    """A file of an embedding cannot be used.

    Args:
      message: which file, and why.
      missing: whether the file does not exist, as opposed to having invalid content.
    """

    def __init__(self, message: str, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing
