"""Errors about messages have the path and offset of the message."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats.errors import DataLossError
from headrace.graph.serialization.message_origin import GRAPH_DEF, MessageOrigin


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "graph.meta"
    path.write_bytes(hr.MetaGraphDef(graph_def=hr.GraphDef()).SerializeToString())
    with pytest.raises(DataLossError) as caught:
        with MessageOrigin(str(path)).blamed(GRAPH_DEF):
            raise DataLossError(None, None, "a node is missing")
    assert caught.value.path == str(path)
    assert f"{path}: at byte {caught.value.offset}: a node is missing" in caught.value.message
