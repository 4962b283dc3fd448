"""Input files of training programs."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.files import matching_files
from headrace.graph.typing.aliases import TensorLike
from headrace.graph.variables.variable import Variable


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Any:
    """Returns a local variable with the matching paths, read once at its initialisation."""
    with name_scope(name or "matching_filenames") as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
