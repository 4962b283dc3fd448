"""ModeKeys of contrib.learn: names of what a model function builds."""

from __future__ import annotations


class ModeKeys:
    """What a model function builds."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Checks a mode. Raises: ValueError for an unknown one."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")
