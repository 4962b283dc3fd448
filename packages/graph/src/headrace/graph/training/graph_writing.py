"""A graph written to a file."""

from __future__ import annotations

import os
from typing import Any

from headrace.formats.os_errors import os_errors_about
from headrace.graph.platform.atomic_write import write_atomically


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a graph (or GraphDef) to a file of a folder, which is made if need be.

    Args:
      as_text: as protobuf's text form, else as bytes.
    Returns: the file's path.
    """
    from google.protobuf import text_format

    message = (
        graph_or_graph_def.as_graph_def()
        if hasattr(graph_or_graph_def, "as_graph_def")
        else graph_or_graph_def
    )
    folder = os.fspath(logdir)
    with os_errors_about(folder):
        os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    data = (
        text_format.MessageToString(message).encode()
        if as_text
        else message.SerializeToString(deterministic=True)
    )
    write_atomically(path, data)
    return path
