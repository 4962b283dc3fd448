"""Checkpoints in several files, of format V1, under URIs, and of objects."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, NotFoundError, UnimplementedError


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def _variables():
    with hr.device("/cpu:0"):
        hr.Variable([1.0, 2.0], name="by_reference")
    hr.Variable([3, 4], name="by_resource", use_resource=True)
    hr.get_variable("rows", [5, 2], initializer=hr.ones_initializer(),
                    partitioner=hr.fixed_size_partitioner(2))  # fmt: skip
    return hr.global_variables()


def _saved(saver, path, **options):
    """Saves, changes and restores the variables; returns the path."""
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        saved = saver.save(sess, path, **options)
        before = sess.run(hr.global_variables())
        sess.run([hr.assign(v, v * 0) if not hasattr(v, "handle") else v.assign(v * 0)
                  for v in hr.global_variables()])  # fmt: skip
        saver.restore(sess, saved)
        for value, again in zip(before, sess.run(hr.global_variables()), strict=True):
            np.testing.assert_array_equal(again, value)
    return saved


@pytest.mark.parametrize("version", [hr.train.SaverDef.V1, hr.train.SaverDef.V2])
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.filterwarnings("ignore:.*Python kernel")
def test_every_form_is_restored(version, sharded, tmp_path):
    _variables()
    saver = hr.train.Saver(sharded=sharded, write_version=version, max_to_keep=1)
    for step in range(2):
        path = _saved(saver, str(tmp_path / "model"), global_step=step)
    assert hr.train.latest_checkpoint(str(tmp_path)) == path
    names = os.listdir(tmp_path)
    assert not any("-0." in name or "-0-" in name or "temp" in name for name in names)
    assert sum("model-1" in name for name in names) == 2 + (version == 2) + sharded
    reader = hr.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map()["rows"] == [5, 2]
    assert b"by_resource (DT_INT32) [2]\n" in reader.debug_string()
    with pytest.raises(NotFoundError, match="Key gone not found in checkpoint"):
        reader.get_tensor("gone")


def test_a_checkpoint_of_format_v1_says_what_does_not_fit(tmp_path):
    v = hr.Variable([1.0, 2.0], name="v")
    saver = hr.train.Saver([v], write_version=hr.train.SaverDef.V1)
    path = _saved(saver, str(tmp_path / "model"))
    for name, value, error, words in [
        ("w", [1.0, 2.0], NotFoundError, "Key w not found in checkpoint"),
        ("v", [1, 2], InvalidArgumentError, "expected dtype int32 does not equal"),
        ("v", [1.0], InvalidArgumentError, r"\[2\]"),
    ]:
        with hr.Graph().as_default(), hr.Session() as sess:
            saver = hr.train.Saver([hr.Variable(value, name=name)])
            with pytest.raises(error, match=words):
                saver.restore(sess, path)


def test_a_uri_and_a_missing_folder_are_accepted(tmp_path):
    hr.Variable([1.0], name="v")
    saver = hr.train.Saver(max_to_keep=None)
    path = _saved(saver, f"file://{tmp_path}/new/model")
    assert path == f"file://{tmp_path}/new/model"
    assert hr.train.latest_checkpoint(f"file://{tmp_path}/new") == f"{tmp_path}/new/model"
    assert hr.train.checkpoint_exists(path) and saver.last_checkpoints == []
    assert hr.train.list_variables(path) == [("v", [1])]
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
            saver.save(sess, str(tmp_path / "two" / "new" / "model"))
        with pytest.raises(UnimplementedError, match="scheme 'gs' not implemented"):
            saver.save(sess, "gs://bucket/model")


def test_a_prefix_may_be_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    v = hr.Variable([1.0], name="v")
    saver = hr.train.Saver()
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        assert saver.save(sess, "model/") == "model/"
        sess.run(v.assign([2.0]))
        saver.restore(sess, "model/")
        assert sess.run(v) == [1.0]
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
        ".data-00000-of-00001", ".index", ".meta", "checkpoint"
    ]  # fmt: skip


def _objects():
    v = hr.get_variable("v", [2, 3], initializer=hr.ones_initializer(), use_resource=True)
    optimizer = hr.train.AdamOptimizer(0.1)
    train = optimizer.minimize(hr.reduce_sum(v * v))
    inner = hr.train.Checkpoint(step=hr.train.get_or_create_global_step())
    root = hr.train.Checkpoint(model=inner, optimizer=optimizer, v=v)
    root.more = {"a.b/c": hr.Variable(5.0, name="more")}
    return root, v, optimizer, train


def test_objects_are_saved_under_their_attributes(tmp_path):
    root, v, optimizer, train = _objects()
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        sess.run(train)
        kept = sess.run([v, optimizer.get_slot(v, "m")])
        assert root.save(str(tmp_path / "model"), session=sess) == f"{tmp_path}/model-1"
        nodes = len(hr.get_default_graph().get_operations())
        path = root.save(str(tmp_path / "model"), session=sess)
        assert path == hr.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model-2"
        assert len(hr.get_default_graph().get_operations()) < nodes + 8
    names = [name for name, _ in hr.train.list_variables(path)]
    assert "v/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "more/a..b.Sc/.ATTRIBUTES/VARIABLE_VALUE" in names
    with hr.Graph().as_default(), hr.Session() as sess:
        root, v, optimizer, _ = _objects()
        status = root.restore(path).assert_consumed()
        status.initialize_or_restore(sess)
        for value, again in zip(kept, sess.run([v, optimizer.get_slot(v, "m")]), strict=True):
            np.testing.assert_array_equal(again, value)
        assert sess.run(root.save_counter) == 2
        hr.train.Saver([v]).restore(sess, path)  # by the names of variables
        np.testing.assert_array_equal(sess.run(v), kept[0])


def test_what_does_not_match_is_reported(tmp_path):
    v = hr.Variable([1.0], name="v", use_resource=True)
    root = hr.train.Checkpoint(v=v, w=hr.Variable(2.0, name="w"))
    with pytest.raises(ValueError, match="expecting a trackable object"):
        hr.train.Checkpoint(v=5)
    with pytest.raises(ValueError, match="there is no session"):
        root.save(str(tmp_path / "model"))
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        path = root.save(str(tmp_path / "model"), session=sess)
        counts = []
        for _ in range(3):
            root.restore(path).run_restore_ops(sess)
            counts.append(len(sess.graph.get_operations()))
        assert counts[0] == counts[1] == counts[2]  # a second restore adds no nodes
        fewer = hr.train.Checkpoint(v=v).restore(path)
        fewer.assert_existing_objects_matched().assert_nontrivial_match()
        with pytest.raises(AssertionError, match="Unresolved objects in checkpoint: w/"):
            fewer.assert_consumed()
        more = hr.train.Checkpoint(v=v, x=hr.Variable(7.0, name="x")).restore(path)
        with pytest.raises(AssertionError, match="not found in the checkpoint: x"):
            more.assert_existing_objects_matched()
        more.initialize_or_restore(sess)
        assert sess.run(more._root.x) == 7.0
        hr.train.Checkpoint(x=more._root.x).restore(None).initialize_or_restore(sess)
        with pytest.raises(NotFoundError):
            root.restore(str(tmp_path / "none"))
        saver = hr.train.Saver([v])
        named = saver.save(sess, str(tmp_path / "named"))
        sess.run(v.assign([9.0]))
        hr.train.Checkpoint(v=v).restore(named).run_restore_ops(sess)
        assert sess.run(v).tolist() == [1.0]


def test_a_manager_keeps_the_newest_checkpoints_of_objects(tmp_path):
    root = hr.train.Checkpoint(v=hr.Variable(1.0, name="v", use_resource=True))
    with pytest.raises(ValueError, match="Expected a positive integer or `None`"):
        hr.train.CheckpointManager(root, tmp_path, max_to_keep=0)
    with hr.Session().as_default() as sess:
        sess.run(hr.global_variables_initializer())
        manager = hr.train.CheckpointManager(root, tmp_path / "new", max_to_keep=2)
        assert manager.latest_checkpoint is None and manager.checkpoints == []
        paths = [manager.save() for _ in range(3)]
        assert manager.checkpoints == paths[1:] == [f"{tmp_path}/new/ckpt-{i}" for i in (2, 3)]
        assert not hr.train.checkpoint_exists(paths[0])
        again = hr.train.CheckpointManager(root, tmp_path / "new", 2, checkpoint_name="other")
        assert again.latest_checkpoint == paths[-1]
        assert again.save(checkpoint_number=9) == f"{tmp_path}/new/other-9"
        assert again.checkpoints == [paths[-1], f"{tmp_path}/new/other-9"]
        assert hr.train.latest_checkpoint(tmp_path / "new") == f"{tmp_path}/new/other-9"
