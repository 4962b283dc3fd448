"""write_graph: writes a graph to a file."""

from __future__ import annotations

import os
from typing import Any

from headrace.graph.platform import gfile
from headrace.graph.platform.atomic_write import write_atomically


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a Graph or GraphDef to a file; creates the folder if necessary.

    Args:
      graph_or_graph_def: the graph.
      logdir: path or URL of the folder.
      name: name of the file.
      as_text: write text format instead of binary.
    Returns: path of the file.
    """
    from google.protobuf import text_format

    message = (
        graph_or_graph_def.as_graph_def()
        if hasattr(graph_or_graph_def, "as_graph_def")
        else graph_or_graph_def
    )
    folder = os.fspath(logdir)
    gfile.MakeDirs(folder)
    path = os.path.join(folder, name)
    data = (
        text_format.MessageToString(message).encode()
        if as_text
        else message.SerializeToString(deterministic=True)
    )
    write_atomically(path, data)
    return path
