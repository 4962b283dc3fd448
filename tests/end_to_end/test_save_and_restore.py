"""Checkpoints, summaries and SavedModels: written, read back, corrupted."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.summary_pb2 import Summary
from headrace.graph.checkpoints import saver as checkpoint_saver


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def _variables():
    """A variable of each kind: by reference, by resource, in parts, a scalar, integers."""
    hr.get_variable("by_reference", [2, 3], initializer=hr.zeros_initializer())
    hr.get_variable("by_resource", [4], use_resource=True, initializer=hr.ones_initializer())
    with hr.variable_scope("parts", partitioner=hr.fixed_size_partitioner(2)):
        hr.get_variable("rows", [5, 2], initializer=hr.zeros_initializer())
    hr.Variable(7, name="count")
    hr.Variable(0.5, name="scalar")
    return hr.global_variables()


def _changed(sess):
    values = {}
    for number, variable in enumerate(hr.global_variables()):
        value = np.full(variable.shape.as_list(), number + 3, variable.dtype.as_numpy_dtype)
        variable.load(value, sess)
        values[variable.op.name] = value
    return values


def test_new_session_continues_from_a_checkpoint(tmp_path):
    prefix = str(tmp_path / "model")
    _variables()
    saver = hr.train.Saver()
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        values = _changed(sess)
        path = saver.save(sess, prefix, global_step=12)
    assert path == prefix + "-12"
    assert dict(hr.train.list_variables(str(tmp_path)))["parts/rows"] == [5, 2]
    with hr.Session() as sess:
        saver.restore(sess, hr.train.latest_checkpoint(str(tmp_path)))
        for variable in hr.global_variables():
            got = sess.run(variable)
            assert got.shape == values[variable.op.name].shape
            np.testing.assert_array_equal(got, values[variable.op.name])


def test_meta_graph_restores_the_graph_as_well(tmp_path):
    prefix = str(tmp_path / "model")
    v = hr.Variable([1.0, 2.0], name="v")
    hr.multiply(v, 2.0, name="twice")
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        hr.train.Saver().save(sess, prefix)
    for scope in (None, "old"):
        with hr.Graph().as_default(), hr.Session() as sess:
            saver = hr.train.import_meta_graph(prefix + ".meta", import_scope=scope)
            saver.restore(sess, prefix)
            name = "twice:0" if scope is None else "old/twice:0"
            assert sess.run(name).tolist() == [2.0, 4.0]


def test_only_the_newest_checkpoints_are_kept(tmp_path):
    hr.Variable(1.0, name="v")
    saver = hr.train.Saver(max_to_keep=2)
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        paths = [saver.save(sess, str(tmp_path / "m"), global_step=step) for step in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert hr.train.latest_checkpoint(str(tmp_path)) == paths[3]
    left = {name for name in os.listdir(tmp_path) if name.endswith(".index")}
    assert left == {"m-2.index", "m-3.index"}
    assert not os.path.exists(paths[0] + ".meta")
    second = hr.train.Saver(max_to_keep=2)
    second.recover_last_checkpoints(paths)
    assert second.last_checkpoints == paths[2:]


def test_one_checkpoint_of_every_n_hours_is_kept_for_good(tmp_path, monkeypatch):
    hour = 0
    monkeypatch.setattr(checkpoint_saver, "time", SimpleNamespace(time=lambda: hour * 3600.0))
    hr.Variable(1.0, name="v")
    saver = hr.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2)
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        for hour in (1, 3, 4, 6, 7):
            newest = saver.save(sess, str(tmp_path / "m"), global_step=hour)
    assert saver.last_checkpoints == [newest]
    left = {name for name in os.listdir(tmp_path) if name.endswith(".index")}
    assert left == {"m-3.index", "m-6.index", "m-7.index"}


def test_slots_are_restored_into_another_number_of_parts(tmp_path):
    def trained(n_parts: int, steps: int, path: str | None) -> tuple[np.ndarray, str]:
        with hr.Graph().as_default(), hr.Session() as session:
            parts = hr.fixed_size_partitioner(n_parts)
            w = hr.get_variable("w", [6, 2], partitioner=parts, initializer=hr.ones_initializer())
            rows = hr.nn.embedding_lookup(w, [0, 3, 3, 5], partition_strategy="div")
            train = hr.train.AdagradOptimizer(0.5).minimize(hr.reduce_sum(rows * rows))
            saver = hr.train.Saver()
            session.run(hr.global_variables_initializer())
            if path:
                saver.restore(session, path)
            for _ in range(steps):
                session.run(train)
            return session.run(hr.convert_to_tensor(w)), saver.save(session, str(tmp_path / "s"))

    expected, _ = trained(1, 4, None)
    _, path = trained(2, 2, None)
    found, _ = trained(3, 2, path)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_restore_names_a_variable_that_the_checkpoint_lacks(tmp_path):
    v = hr.Variable([1.0], name="v")
    saver = hr.train.Saver({"v": v})
    other = hr.train.Saver({"w": v})
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "m"))
        with pytest.raises(hr.errors.NotFoundError, match="missing from the checkpoint.*w"):
            other.restore(sess, path)
        with pytest.raises(ValueError, match="is not a valid checkpoint"):
            saver.restore(sess, path + "-none")


def test_corrupted_checkpoint_is_an_error_with_file_and_offset(tmp_path):
    hr.Variable(np.arange(64, dtype=np.float32), name="v")
    saver = hr.train.Saver()
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        path = saver.save(sess, str(tmp_path / "m"))
        data = path + ".data-00000-of-00001"
        with open(data, "r+b") as stream:
            stream.seek(17)
            stream.write(b"\xff")
        with pytest.raises(hr.errors.DataLossError, match="m.data-00000-of-00001") as caught:
            saver.restore(sess, path)
        assert (caught.value.path, caught.value.offset) == (data, 0)


def test_summaries_have_the_values_of_the_tensors():
    with hr.name_scope("train"):
        hr.summary.scalar("loss", hr.constant(0.25))
        hr.summary.histogram("weights", hr.constant([1.0, 2.0, -4.0]))
    with hr.Session() as sess:
        summary = Summary.FromString(sess.run(hr.summary.merge_all()))
    loss, weights = summary.value
    assert (loss.tag, loss.simple_value) == ("train/loss", 0.25)
    histo = weights.histo
    assert weights.tag == "train/weights"
    assert (histo.min, histo.max, histo.num, histo.sum) == (-4.0, 2.0, 3.0, -1.0)
    assert histo.sum_squares == 21.0 and sum(histo.bucket) == 3.0
    assert len(histo.bucket) == len(histo.bucket_limit)


def test_histogram_fails_at_nan_and_merge_at_a_duplicate_tag():
    bad = hr.summary.histogram("h", hr.constant([np.nan]))
    one = hr.summary.scalar("t", hr.constant(1.0))
    with hr.Session() as sess:
        with pytest.raises(hr.errors.InvalidArgumentError, match="Nan in summary histogram for: h"):
            sess.run(bad)
        with pytest.raises(hr.errors.InvalidArgumentError, match="Duplicate tag t"):
            sess.run(hr.raw_ops.MergeSummary(inputs=[one, one]))


def test_an_image_summary_holds_a_png():
    pixels = np.zeros([2, 4, 5, 3], np.uint8)
    result = hr.summary.image("picture", hr.constant(pixels))
    with hr.Session() as sess:
        summary = Summary.FromString(sess.run(result))
    assert [v.tag for v in summary.value] == ["picture/image/0", "picture/image/1"]
    image = summary.value[0].image
    assert (image.height, image.width, image.colorspace) == (4, 5, 3)
    assert image.encoded_image_string.startswith(b"\x89PNG")


def test_events_of_a_file_writer_are_read_back(tmp_path, graph):
    x = hr.placeholder(hr.float32, [])
    loss = hr.summary.scalar("loss", x)
    with hr.Session() as sess, hr.summary.FileWriter(str(tmp_path), graph) as writer:
        for step in range(3):
            writer.add_summary(sess.run(loss, {x: step / 2}), step)
    (path,) = event_files(tmp_path)
    found = [
        (event.step, event.summary.value[0].simple_value)
        for event in read_events(path)
        if event.HasField("summary")
    ]
    assert found == [(0, 0.0), (1, 0.5), (2, 1.0)]


def test_saved_model_runs_in_a_new_graph(tmp_path):
    folder = str(tmp_path / "model")
    x = hr.placeholder(hr.float32, [None], name="x")
    y = hr.multiply(x, hr.Variable(2.0, name="v"), name="y")
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        hr.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    assert sorted(os.listdir(folder)) == ["saved_model.pb", "variables"]
    with hr.Graph().as_default(), hr.Session() as sess:
        found = hr.saved_model.loader.load(sess, ["serve"], folder)
        signature = found.signature_def["serving_default"]
        feed = {signature.inputs["x"].name: [1.0, 3.0]}
        assert sess.run(signature.outputs["y"].name, feed).tolist() == [2.0, 6.0]
        with pytest.raises(RuntimeError, match="tags \\['train'\\] could not be found"):
            hr.saved_model.loader.load(sess, ["train"], folder)
