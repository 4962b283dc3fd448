from __future__ import annotations

import os

import pytest

import headrace.graph as hr
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.summary_pb2 import Summary


def _bundle(prefix):
    with BundleWriter(prefix) as writer:
        writer.add("v", [1.0, 2.0])


def test_saver_adds_the_nodes_of_tensorflow(graph):
    hr.Variable([1.0, 2.0], name="v")
    message = hr.train.Saver(max_to_keep=3).as_saver_def()
    assert message.filename_tensor_name == "save/Const:0"
    assert message.save_tensor_name == "save/control_dependency:0"
    assert message.restore_op_name == "save/restore_all"
    assert message.max_to_keep == 3
    save = graph.get_operation_by_name("save/SaveV2")
    assert [t.op.type for t in save.inputs] == [
        "PlaceholderWithDefault", "Const", "Const", "VariableV2"
    ]  # fmt: skip
    assert graph.get_operation_by_name("save/Assign").type == "Assign"


def test_saver_rejects_invalid_variables():
    with pytest.raises(ValueError, match="No variables to save"):
        hr.train.Saver()
    v = hr.Variable(1.0, name="v")
    with pytest.raises(ValueError, match="At least two variables have the same name: v"):
        hr.train.Saver([v, v])
    with pytest.raises(TypeError, match="must be a dict mapping string to Variables"):
        hr.train.Saver([hr.constant(1.0)])
    with pytest.raises(ValueError, match="will be restored with two names: b"):
        hr.train.Saver({"a": v, "b": v})
    with pytest.raises(ValueError, match="write_version must be"):
        hr.train.Saver(write_version=3)
    with pytest.raises(ValueError, match="must be a saver_pb2.SaverDef: 5"):
        hr.train.Saver(saver_def=5)
    with pytest.raises(TypeError, match="'sess' must be a Session; None"):
        hr.train.Saver().save(None, "model")


def test_a_dict_names_the_variables_of_the_checkpoint(graph):
    v = hr.Variable(1.0, name="v")
    hr.train.Saver({"other": v})
    names = graph.get_operation_by_name("save/SaveV2/tensor_names").get_attr("value")
    assert list(names.string_val) == [b"other"]


def test_the_checkpoint_file_names_the_latest_and_moves_with_its_folder(tmp_path):
    folder = str(tmp_path)
    for step in (1, 2):
        _bundle(f"{folder}/m-{step}")
    paths = [f"{folder}/m-1", f"{folder}/m-2"]
    hr.train.update_checkpoint_state(folder, paths[1], paths, save_relative_paths=True)
    text = (tmp_path / "checkpoint").read_text()
    assert 'model_checkpoint_path: "m-2"' in text
    assert hr.train.latest_checkpoint(folder) == paths[1]
    assert list(hr.train.get_checkpoint_state(folder).all_model_checkpoint_paths) == paths
    hr.train.remove_checkpoint(paths[1])
    assert not hr.train.checkpoint_exists(paths[1])
    assert hr.train.latest_checkpoint(folder) is None
    assert hr.train.get_checkpoint_state(folder + "/none") is None


def test_a_checkpoint_is_read_without_a_graph(tmp_path):
    _bundle(tmp_path / "m")
    reader = hr.train.NewCheckpointReader(str(tmp_path / "m"))
    assert reader.has_tensor("v") and reader.get_variable_to_shape_map() == {"v": [2]}
    assert hr.train.list_variables(str(tmp_path / "m")) == [("v", [2])]
    assert hr.train.load_variable(str(tmp_path / "m"), "v").tolist() == [1, 2]
    with pytest.raises(hr.errors.NotFoundError):
        hr.train.load_variable(str(tmp_path / "m"), "w")


def test_tags_have_the_name_scope_and_the_family(graph):
    x = hr.constant(1.0)
    with hr.name_scope("a"):
        hr.summary.scalar("loss", x)
        hr.summary.scalar("loss", x)
        hr.summary.scalar("it is", x, family="f")
    result = [o for o in graph.get_operations() if o.type == "ScalarSummary"]
    assert [o.name for o in result] == ["a/loss", "a/loss_1", "a/f/it_is"]
    tags = [o.inputs[0].op.get_attr("value").string_val[0] for o in result]
    assert tags == [b"a/loss", b"a/loss_1", b"f/a/f/it_is"]
    assert hr.get_collection(hr.GraphKeys.SUMMARIES) == [o.outputs[0] for o in result]
    merged = hr.summary.merge_all()
    assert merged.op.name == "Merge/MergeSummary" and len(merged.op.inputs) == 3


def test_merge_all_without_summaries_is_none():
    assert hr.summary.merge_all() is None


def test_file_writer_writes_all_kinds_of_events(tmp_path, graph):
    hr.constant(1.0, name="c")
    summary = Summary()
    summary.value.add(tag="t", simple_value=2.0).metadata.display_name = "T"
    with hr.summary.FileWriter(str(tmp_path), graph) as writer:
        writer.add_summary(summary.SerializeToString(), 3)
        writer.add_summary(summary, global_step=4)
        writer.add_run_metadata(hr.RunMetadata(), "step3", 3)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(hr.RunMetadata(), "step3", 4)
    writer.reopen()
    writer.add_summary(summary, 5)
    writer.close()
    first, second = event_files(tmp_path)
    events = list(read_events(first))
    kinds = [e.WhichOneof("what") for e in events]
    assert kinds == ["file_version", "graph_def", "meta_graph_def", "summary", "summary",
                     "tagged_run_metadata"]  # fmt: skip
    assert hr.GraphDef.FromString(events[1].graph_def).node[0].name == "c"
    assert events[3].step == 3 and events[3].summary.value[0].simple_value == 2.0
    # the metadata of a tag is written once
    assert [e.summary.value[0].HasField("metadata") for e in events[3:5]] == [True, False]
    assert [e.step for e in read_events(second)] == [0, 5]
    assert os.path.dirname(first) == str(tmp_path)


def test_the_cache_has_one_writer_for_a_folder(tmp_path):
    cache = hr.summary.FileWriterCache
    assert cache.get(str(tmp_path)) is cache.get(tmp_path)
    cache.clear()
