"""One short walk through every package: run it after each edit (`pytest tests/smoke`, seconds).

It says that the pieces still fit, not that each is right: the tests of the packages do that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headrace.graph as hr
import headrace.runtime
from headrace.formats.event_file import event_files, read_events


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def test_a_network_trains_is_saved_restored_and_logged(tmp_path: Path) -> None:
    x = hr.placeholder(hr.float32, [None, 4], name="x")
    y = hr.placeholder(hr.float32, [None, 1], name="y")
    hidden = hr.layers.dense(x, 16, activation=hr.nn.relu)
    loss = hr.losses.mean_squared_error(y, hr.layers.dense(hidden, 1))
    train = hr.train.AdamOptimizer(0.05).minimize(loss)
    summary = hr.summary.scalar("loss", loss)
    saver = hr.train.Saver()
    points = np.random.RandomState(0).rand(64, 4).astype("float32")
    feed = {x: points, y: points.sum(1, keepdims=True)}
    with hr.Session() as session, hr.summary.FileWriter(str(tmp_path / "log")) as writer:
        session.run(hr.global_variables_initializer())
        losses = []
        for step in range(60):
            value, text, _ = session.run([loss, summary, train], feed)
            losses.append(value)
            writer.add_summary(text, step)
        path = saver.save(session, str(tmp_path / "model"))
        trained = session.run(loss, feed)
    assert trained < losses[0] / 10
    with hr.Session() as session:
        saver.restore(session, path)
        assert session.run(loss, feed) == trained
    logged = [
        value.simple_value
        for file in event_files(str(tmp_path / "log"))
        for event in read_events(file)
        for value in event.summary.value
    ]
    np.testing.assert_allclose(logged, losses, rtol=1e-6)


def test_the_board_shows_a_log(tmp_path: Path) -> None:
    from headrace.board import create_app

    with hr.summary.FileWriter(str(tmp_path / "run")) as writer:
        for step in range(3):
            value = hr.Summary.Value(tag="loss", simple_value=step / 2)
            writer.add_summary(hr.Summary(value=[value]), step)
    client = create_app(tmp_path, follow=False).test_client()
    assert client.get("/").status_code == 200
    response = client.get("/api/v1/runs")
    assert [run["name"] for run in response.get_json()["runs"]] == ["run"]


def test_branches_loops_and_queues_run() -> None:
    count, total = hr.while_loop(
        lambda i, _: i < 10, lambda i, s: (i + 1, s + i), (hr.constant(0), hr.constant(0))
    )
    chosen = hr.cond(total > 40, lambda: hr.constant("large"), lambda: hr.constant("small"))
    queue = hr.FIFOQueue(4, [hr.int32])
    with hr.Session() as session:
        assert session.run([count, total, chosen]) == [10, 45, b"large"]
        session.run(queue.enqueue(7))
        assert session.run(queue.dequeue()) == 7


def test_gradients_agree_with_numerical_ones() -> None:
    x = hr.constant(np.linspace(-1, 1, 6).reshape(2, 3), hr.float64)
    y = hr.reduce_sum(hr.tanh(hr.matmul(x, x, transpose_b=True)))
    with hr.Session():
        assert hr.test.compute_gradient_error(x, [2, 3], y, []) < 1e-6


def test_the_runtime_alone_runs_a_graph() -> None:
    x = hr.placeholder(hr.float32, [2], name="x")
    hr.multiply(x, 3.0, name="y")
    graph_def = hr.get_default_graph().as_graph_def().SerializeToString()
    with headrace.runtime.load_graph(graph_def, ["x"], ["y"]) as model:
        np.testing.assert_array_equal(model({"x": np.float32([1, 2])})["y"], [3, 6])


def test_a_wrong_shape_names_the_node_and_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"product.*\[2, 3\].*\[4, 5\]"):
        hr.matmul(hr.zeros([2, 3]), hr.zeros([4, 5]), name="product")
