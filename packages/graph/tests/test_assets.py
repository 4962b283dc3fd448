"""Files that a SavedModel carries: their names, copies, and the tensors that take their paths."""

from __future__ import annotations

from pathlib import Path

import headrace.graph as hr
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef
from headrace.graph.saved_model.assets import (
    asset_feeds,
    asset_files,
    copy_assets,
    remove_assets,
)


def test_files_of_one_name_get_different_names_and_come_and_go(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "words.txt" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(path.parent.name)
    model = tmp_path / "model"
    with hr.Graph().as_default():
        files = asset_files([hr.constant(str(path)) for path in paths])
        assert files == {"words.txt": str(paths[0]), "words.txt_1": str(paths[1])}
        copy_assets(files, str(model))
    assert [(model / "assets" / name).read_text() for name in files] == ["a", "b"]
    remove_assets(files, str(model))
    assert not (model / "assets").exists()


def test_a_tensor_is_fed_the_path_of_the_copy() -> None:
    message = MetaGraphDef()
    asset = message.asset_file_def.add(filename="words.txt")
    asset.tensor_info.name = "path:0"
    assert asset_feeds(message, "m", None) == {"path:0": "m/assets/words.txt"}
    assert asset_feeds(message, "m", "in") == {"in/path:0": "m/assets/words.txt"}
