"""A SavedModel carries the files that its tables are read from."""

from __future__ import annotations

import os
import shutil

import pytest

import headrace.graph as hr
from headrace.formats.errors import NotFoundError
from headrace.formats.proto.saved_model_pb2 import SavedModel


def vocabulary_lookup(path):
    """Returns a placeholder of words and their lines in a file."""
    words = hr.placeholder(hr.string, [None], name="words")
    table = hr.lookup.StaticVocabularyTable(
        hr.lookup.TextFileInitializer(
            str(path), hr.string, hr.lookup.TextFileIndex.WHOLE_LINE, hr.int64,
            hr.lookup.TextFileIndex.LINE_NUMBER,
        ),
        num_oov_buckets=1,
    )  # fmt: skip
    return words, hr.identity(table.lookup(words), name="numbers")


def export(folder, paths, **arguments):
    with hr.Graph().as_default(), hr.Session() as sess:
        for path in paths:
            with hr.name_scope(f"of_{os.path.basename(os.path.dirname(path))}"):
                words, numbers = vocabulary_lookup(path)
        signature = hr.saved_model.predict_signature_def({"words": words}, {"numbers": numbers})
        sess.run(hr.tables_initializer())
        builder = hr.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            sess, ["serve"], {"serving_default": signature}, main_op=hr.tables_initializer(),
            assets_collection=hr.get_collection(hr.GraphKeys.ASSET_FILEPATHS), **arguments,
        )  # fmt: skip
        builder.save()


@pytest.fixture
def two_files(tmp_path):
    paths = []
    for name, lines in ("first", "cat\ndog\n"), ("second", "bird\ncat\ndog\n"):
        path = tmp_path / name / "vocab.txt"
        path.parent.mkdir()
        path.write_text(lines)
        paths.append(path)
    return paths


@pytest.mark.parametrize("scope", [None, "loaded"])
def test_tables_are_read_from_the_copies(tmp_path, two_files, scope):
    export(tmp_path / "model", two_files)
    assets = tmp_path / "model" / "assets"
    assert [p.name for p in sorted(assets.iterdir())] == ["vocab.txt", "vocab.txt_1"]
    for path in two_files:
        path.unlink()
    moved = shutil.move(tmp_path / "model", tmp_path / "moved")
    with hr.Graph().as_default(), hr.Session() as sess:
        message = hr.saved_model.load(sess, ["serve"], str(moved), import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        signature = message.signature_def["serving_default"]
        feeds = {prefix + signature.inputs["words"].name: ["dog", "bird", "cow"]}
        numbers = sess.run(prefix + signature.outputs["numbers"].name, feeds)
        assert numbers.tolist() == [2, 0, 3]


def test_assets_of_tensorflow_2_are_found(tmp_path, two_files):
    """TensorFlow 2 lists assets and the init op in messages instead of collections."""
    export(tmp_path / "model", two_files[:1])
    message = SavedModel.FromString((tmp_path / "model" / "saved_model.pb").read_bytes())
    (graph,) = message.meta_graphs
    for value in graph.collection_def["saved_model_assets"].any_list.value:
        graph.asset_file_def.add().ParseFromString(value.value)
    init = graph.collection_def["saved_model_main_op"].node_list.value[0]
    graph.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = init
    graph.ClearField("collection_def")
    (tmp_path / "model" / "saved_model.pb").write_bytes(message.SerializeToString())
    two_files[0].unlink()
    with hr.Graph().as_default(), hr.Session() as sess:
        signature = hr.saved_model.load(sess, ["serve"], str(tmp_path / "model")).signature_def
        feeds = {signature["serving_default"].inputs["words"].name: ["dog"]}
        output = signature["serving_default"].outputs["numbers"].name
        assert sess.run(output, feeds).tolist() == [1]


def test_what_is_no_path_is_rejected_and_nothing_is_left(tmp_path):
    for asset, error, words in [
        ("file", TypeError, "must be a Tensor"),
        (hr.identity("file"), TypeError, "must be of type constant"),
        (hr.constant(1), TypeError, "must be of dtype string"),
        (hr.constant(["a", "b"]), TypeError, "must be a scalar"),
        (hr.constant(""), ValueError, "Invalid asset filepath tensor"),
        (hr.constant(str(tmp_path / "gone")), NotFoundError, "gone"),
    ]:
        with hr.Session() as sess:
            builder = hr.saved_model.Builder(str(tmp_path / "model"))
            with pytest.raises(error, match=words):
                builder.add_meta_graph_and_variables(sess, ["serve"], assets_collection=[asset])
        assert not os.path.exists(tmp_path / "model") or not os.listdir(tmp_path / "model")
