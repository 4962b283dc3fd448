"""examples/distributed: they learn, resume, and average the gradients of all workers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cluster_processes import PATIENCE_S
from example_jobs import (
    SCRIPTS,
    SMALL_LANGUAGE,
    chief_losses,
    losses_of_one_process,
    own_steps,
    run_job,
    saved_step,
)
from test_digits import made_csv

import headrace.graph as tf
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.run_pb2 import RunMetadata

MODES = ([], ["--sync"])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return made_csv(tmp_path_factory.mktemp("digits") / "digits.csv")


def launched(name: str, *arguments: object) -> str:
    """Runs an example with --launch. Returns: what it printed."""
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / name), "--launch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_asynchronous_digits_learn(data, tmp_path):
    steps = 260
    printed = launched("digits.py", "--data", data, "--steps", steps, "--logdir", tmp_path)
    assert held_out_accuracy(printed) > 90
    # Workers share the steps as they come: one may do them all.
    assert 1 <= len(own_steps(printed)) <= 2 and sum(own_steps(printed)) >= steps


def test_synchronous_digits_learn_and_log_for_the_board(data, tmp_path):
    steps = 260
    printed = launched(
        "digits.py", "--sync", "--data", data, "--steps", steps, "--logdir", tmp_path,
        "--save-every", 100, "--log-every", 10,
    )  # fmt: skip
    assert held_out_accuracy(printed) > 90
    assert len(own_steps(printed)) == 2, printed
    scalars, traced, has_graph = {}, set(), False
    for path in event_files(tmp_path):
        for event in read_events(path):
            for value in event.summary.value:
                scalars.setdefault(value.tag, []).append(value.simple_value)
            has_graph |= event.HasField("graph_def")
            if event.HasField("tagged_run_metadata"):
                trace = RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
                devices = {stats.device for stats in trace.step_stats.dev_stats}
                traced |= {device.rpartition("/device")[0] for device in devices}
    assert has_graph and {"training/loss", "rate", "global_step/sec"} <= set(scalars)
    assert np.mean(scalars["training/loss"][-3:]) < 0.5 * scalars["training/loss"][0]
    assert {task.replace("/replica:0", "") for task in traced} >= {
        "/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1",
    }  # fmt: skip
    shards = {path.name for path in tmp_path.glob(f"model.ckpt-{saved_step(tmp_path)}.data-*")}
    assert len(shards) == 2  # one of each parameter server


def held_out_accuracy(printed: str) -> float:
    """Returns: percent."""
    return float(re.search(r"([\d.]+)% of 120 held-out digits", printed)[1])


@pytest.mark.parametrize("mode", MODES)
def test_interrupted_launch_continues_at_its_step(mode, data, tmp_path):
    line = [sys.executable, str(SCRIPTS / "digits.py"), "--launch", *mode, "--data", str(data)]
    line += ["--logdir", str(tmp_path), "--save-every", "20", "--steps", "1000000"]
    printed = interrupted(line, tmp_path, 20)
    reported = int(re.search(r"worker 0: stopped after step (\d+) of 1000000", printed)[1])
    stopped = saved_step(tmp_path)
    assert reported <= stopped  # another worker may have ended its step later
    printed = interrupted(line, tmp_path, stopped + 20)
    first = int(re.search(r"\| (\d+)/1000000 ", printed)[1])  # of the progress bar
    assert first >= stopped


def interrupted(line: list[str], folder: Path, step: int) -> str:
    """Presses Ctrl-C when a checkpoint of that step is there. Returns: what was printed."""
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while saved_step(folder) < step:
                assert child.poll() is None and time.monotonic() < deadline, child.stdout.read()
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            printed = child.communicate(timeout=PATIENCE_S)[0]
        finally:
            child.kill()
    assert child.returncode == 130, printed
    return printed


@pytest.mark.parametrize("mode", [*MODES, ["--sync", "--softmax", "full"]])
def test_language_model_learns_with_a_part_of_its_variables_on_each_server(mode, tmp_path):
    rest = [*mode, *SMALL_LANGUAGE, "--steps", 300, "--logdir", tmp_path]
    printed = launched("language_model.py", *rest)
    nats = float(re.search(r"([\d.]+) nats a held-out word", printed)[1])
    assert nats < 0.9 * np.log(300)  # knows more than the size of the vocabulary
    reader = tf.train.load_checkpoint(str(tmp_path))
    shapes = reader.get_variable_to_shape_map()
    assert shapes["model/embedding"] == [300, 16]
    placed = {}
    for path in event_files(tmp_path):
        for event in read_events(path):
            if event.HasField("graph_def"):
                graph = tf.GraphDef.FromString(event.graph_def)
                placed = {node.name: node.device for node in graph.node}
    for name in ("model/embedding", "model/softmax/weights"):
        servers = {placed[f"{name}/part_{i}"] for i in range(2)}
        assert {server.partition("/task:")[0] for server in servers} == {"/job:ps"}
        assert len(servers) == 2, servers


def test_language_model_continues_with_another_number_of_servers(tmp_path):
    rest = [*SMALL_LANGUAGE, "--logdir", tmp_path]
    launched("language_model.py", *rest, "--steps", 40, "--ps", 2)
    printed = launched("language_model.py", *rest, "--steps", 60, "--ps", 3)
    assert sum(own_steps(printed)) <= 22 and 60 <= saved_step(tmp_path) <= 62


def test_synchronous_losses_are_those_of_one_process_with_all_batches(data, tmp_path):
    steps, n_workers = 12, 2
    line = [sys.executable, str(SCRIPTS / "digits.py"), "--sync", f"--data={data}"]
    line += [f"--steps={steps}", "--log-every=1"]
    # A worker that takes the token of a slower one gives two gradients of a step instead: rare,
    # right, and not what is compared here.
    for attempt in range(5):
        logdir = tmp_path / str(attempt)
        printed = run_job([*line, f"--logdir={logdir}"], tmp_path, 1, n_workers)
        if own_steps(printed) == [steps] * n_workers:
            break
    else:
        pytest.fail(f"no attempt had {steps} steps of each worker; the last one:\n{printed}")
    logged = chief_losses(logdir)
    assert sorted(logged) == list(range(1, steps + 1))
    expected = losses_of_one_process(data, logdir / "model.ckpt-0", steps, n_workers)
    np.testing.assert_allclose([logged[step] for step in sorted(logged)], expected, rtol=1e-4)
