"""Training under MonitoredTrainingSession and Supervisor: hooks, recovery, averages, schedules."""

from __future__ import annotations

import json
import logging
import time

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.event_file import event_files, read_events


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh
    hr.summary.FileWriterCache.clear()


def _model(rate=0.1):
    """w approaches 3."""
    step = hr.train.get_or_create_global_step()
    w = hr.get_variable("w", [], initializer=hr.zeros_initializer())
    loss = hr.square(w - 3.0)
    hr.summary.scalar("loss", loss)
    train = hr.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    return step, w, loss, train


def test_training_stops_at_its_step_and_continues_from_the_checkpoint(tmp_path, caplog):
    folder, seen = str(tmp_path), []
    for last in (5, 12):
        with hr.Graph().as_default():
            step, w, loss, train = _model()
            hooks = [hr.train.StopAtStepHook(last_step=last),
                     hr.train.LoggingTensorHook({"loss": loss}, every_n_iter=4)]  # fmt: skip
            with caplog.at_level(logging.INFO, "headrace"):
                with hr.train.MonitoredTrainingSession(
                    checkpoint_dir=folder, hooks=hooks, save_summaries_steps=1,
                    save_checkpoint_steps=4, log_step_count_steps=3,
                ) as session:  # fmt: skip
                    seen.append(int(session.run(step)))
                    while not session.should_stop():
                        session.run(train)
                    assert session.graph.finalized
            assert not hr.get_default_graph().finalized
    assert seen == [0, 5]
    assert hr.train.latest_checkpoint(folder).endswith("model.ckpt-12")
    reader = hr.train.load_checkpoint(folder)
    assert reader.get_tensor("w") == pytest.approx(3 - 3 * 0.8**12, rel=1e-4)
    assert (tmp_path / "graph.pbtxt").read_text().startswith("node {")
    assert "loss = 9.0" in caplog.text and "Saving checkpoints for 9 into" in caplog.text
    hr.summary.FileWriterCache.clear()
    events = [e for path in event_files(folder) for e in read_events(path)]
    losses = {e.step: v.simple_value for e in events for v in e.summary.value if v.tag == "loss"}
    rates = [v.simple_value for e in events for v in e.summary.value
             if v.tag == "global_step/sec"]  # fmt: skip
    assert set(range(1, 13)) <= set(losses) and len(rates) >= 2 and min(rates) > 0
    assert any(e.HasField("graph_def") for e in events)


def test_nan_loss_ends_training():
    _, _, loss, train = _model(rate=1e30)
    hooks = [hr.train.NanTensorHook(loss)]
    with pytest.raises(hr.train.NanLossDuringTrainingError, match="NaN loss"):
        with hr.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(20):
                session.run([train, loss])


class _Told(hr.train.SessionRunHook):
    def __init__(self):
        self.calls = []

    def begin(self):
        self.calls.append("begin")
        self.more = hr.constant(41) + 1

    def after_create_session(self, session, coord):
        self.calls.append("made")

    def before_run(self, run_context):
        self.calls.append("before")
        assert run_context.original_args.fetches is not None
        return hr.train.SessionRunArgs(self.more, {"x:0": 2.0})

    def after_run(self, run_context, run_values):
        self.calls.append(int(run_values.results))
        if len(self.calls) > 5:
            run_context.request_stop()

    def end(self, session):
        self.calls.append("end")


def test_hooks_are_called_in_order_in_the_programs_own_runs():
    x = hr.placeholder(hr.float32, [], name="x")
    hook = _Told()
    final = hr.train.FinalOpsHook(x * 10.0, {x: 5.0})
    y = x * 3.0
    with hr.train.SingularMonitoredSession(hooks=[hook, final]) as session:
        while not session.should_stop():
            assert session.run({"y": y}) == {"y": 6.0}
        with pytest.raises(RuntimeError, match="fed by two hooks"):
            session.run(x, {"x:0": 1.0})
        assert session.raw_session().run(x, {x: 1.0}) == 1.0
    assert hook.calls == ["begin", "made", "before", 42, "before", 42, "before", "end"]
    assert final.final_ops_values == 50.0
    with pytest.raises(RuntimeError, match="after should_stop"):
        session.run(x, {x: 1.0})


class _LosesAWorker(hr.train.SessionRunHook):
    def __init__(self):
        self.sessions = []

    def after_create_session(self, session, coord):
        self.sessions.append(session)

    def after_run(self, run_context, run_values):
        if len(self.sessions) == 1:
            raise hr.errors.AbortedError(None, None, "a worker is gone")


def test_session_that_lost_a_worker_recovers_from_the_checkpoint(tmp_path):
    step, w, _, train = _model()
    hook = _LosesAWorker()
    with hr.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_steps=1
    ) as session:
        session.run(train)
        # the first step was lost, and done again in the second session
        assert session.run(step) == 1 or session.run(step) == 2
    assert len(hook.sessions) == 2


def test_end_of_input_ends_the_loop_without_an_error():
    _model()
    hook = _Told.__new__(_Told)
    hr.placeholder(hr.float32, [], name="x")
    hook.__init__()
    with hr.train.MonitoredSession(hooks=[hook]):
        raise hr.errors.OutOfRangeError(None, None, "no more examples")
    assert hook.calls[-1] == "end"


def test_scaffold_runs_the_given_init_op_and_function():
    v = hr.get_variable("v", [2], initializer=hr.zeros_initializer())
    local = hr.get_local_variable("l", [], initializer=hr.ones_initializer())
    fed = hr.placeholder(hr.float32, [2])
    scaffold = hr.train.Scaffold(
        init_op=v.assign(fed).op,
        init_feed_dict={fed: [1.0, 2.0]},
        init_fn=lambda s, session: session.run(v.initializer) if False else None,
    )
    creator = hr.train.ChiefSessionCreator(scaffold)
    with hr.train.MonitoredSession(creator) as session:
        assert session.run(v).tolist() == [1.0, 2.0] and session.run(local) == 1.0


def test_uninitialized_variables_are_an_error_that_names_them():
    hr.get_variable("v", [2], initializer=hr.zeros_initializer())
    scaffold = hr.train.Scaffold(init_op=hr.no_op())
    with pytest.raises(RuntimeError, match="Variables not initialized: v"):
        hr.train.MonitoredSession(hr.train.ChiefSessionCreator(scaffold))


def test_step_function_runs_with_and_without_hooks():
    x = hr.placeholder(hr.float32, [], name="x")
    hook = _Told()
    with hr.train.MonitoredSession(hooks=[hook]) as session:

        def step(step_context):
            plain = step_context.session.run(x, {x: 7.0})
            return plain, step_context.run_with_hooks(x)

        assert session.run_step_fn(step) == (7.0, 2.0)

        def stop(step_context):
            step_context.request_stop()

        session.run_step_fn(stop)
        assert session.should_stop()
        with pytest.raises(ValueError, match="step_context"):
            session.run_step_fn(lambda x: x)


def test_traces_of_single_steps_are_written(tmp_path):
    _, _, _, train = _model()
    hook = hr.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    with hr.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(6):
            session.run(train)
    files = sorted(p.name for p in tmp_path.glob("timeline-*.json"))
    assert len(files) >= 2
    events = json.loads((tmp_path / files[0]).read_text())["traceEvents"]
    assert any(e["ph"] == "X" and e["dur"] > 0 for e in events)


def test_supervisor_saves_writes_summaries_and_restores(tmp_path):
    folder = str(tmp_path)
    for last in (5, 9):
        with hr.Graph().as_default():
            step, w, loss, train = _model()
            supervisor = hr.train.Supervisor(
                logdir=folder, save_model_secs=0.05, save_summaries_secs=0.05
            )
            with supervisor.managed_session() as session:
                while session.run(step) < last:
                    session.run(train)
                newest = f"{supervisor.save_path}-{last}"
                _until(lambda: hr.train.latest_checkpoint(folder) == newest)  # noqa: B023
                _until(lambda: len(list(tmp_path.glob("events*"))) > 0)
                _until(lambda: "loss" in _tags(folder))
            assert supervisor.should_stop() and not supervisor.coord._threads
    assert hr.train.load_variable(folder, "global_step") == 9
    assert (tmp_path / "graph.pbtxt").exists()


def _until(holds):
    end = time.monotonic() + 120
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


def _tags(folder):
    for writer in hr.summary.FileWriterCache._writers.values():
        writer.flush()
    return {v.tag for path in event_files(folder) for e in read_events(path)
            for v in e.summary.value}  # fmt: skip


def test_supervisor_raises_what_fails_in_its_threads():
    _, _, _, train = _model()
    supervisor = hr.train.Supervisor()
    with pytest.raises(ValueError, match="enough"):
        with supervisor.managed_session() as session:
            session.run(train)
            raise ValueError("enough")

    def once(session):
        session.run(train)
        seen.append(1)
        if len(seen) == 3:
            other.request_stop()

    seen = []
    with hr.Graph().as_default():
        _, _, _, train = _model()
        other = hr.train.Supervisor()
        hr.train.basic_train_loop(other, once)
    assert len(seen) == 3


def test_moving_averages_are_restored_as_the_variables(tmp_path):
    v = hr.get_variable("v", [], initializer=hr.constant_initializer(1.0))
    mean = hr.train.ExponentialMovingAverage(0.9)
    follow = mean.apply([v])
    assert mean.average_name(v) == "v/ExponentialMovingAverage"
    assert hr.moving_average_variables() == [v]
    saver = hr.train.Saver()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(v.assign(11.0))
        session.run(follow)
        assert session.run(mean.average(v)) == pytest.approx(2.0)
        path = saver.save(session, str(tmp_path / "m"))
    with hr.Graph().as_default():
        v = hr.get_variable("v", [])
        names = hr.train.ExponentialMovingAverage(0.9).variables_to_restore()
        with hr.Session() as session:
            hr.train.Saver(names).restore(session, path)
            assert session.run(v) == pytest.approx(2.0)


def test_moving_averages_of_tensors_are_debiased():
    x = hr.placeholder(hr.float32, [2])
    plain = hr.train.ExponentialMovingAverage(0.9, name="plain")
    right = hr.train.ExponentialMovingAverage(0.9, zero_debias=True, name="right")
    moves = hr.group(plain.apply([x]), right.apply([x]))
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for _ in range(3):
            session.run(moves, {x: [1.0, -2.0]})
        share = 1 - 0.9**3
        np.testing.assert_allclose(session.run(plain.average(x)), [share, -2 * share], rtol=1e-5)
        np.testing.assert_allclose(session.run(right.average(x)), [1.0, -2.0], rtol=1e-5)


def test_init_from_checkpoint_fills_a_variable_in_parts_by_its_name(tmp_path):
    whole = np.arange(8, dtype=np.float32).reshape(4, 2)
    with hr.Graph().as_default(), hr.Session() as session:
        hr.get_variable("w", initializer=hr.constant(whole))
        session.run(hr.global_variables_initializer())
        path = hr.train.Saver().save(session, str(tmp_path / "model"))
    parts = hr.get_variable("v", [4, 2], partitioner=hr.fixed_size_partitioner(2))
    hr.train.init_from_checkpoint(path, {"w": "v"})
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert np.array_equal(session.run(parts.as_tensor()), whole)


def test_init_from_checkpoint_sets_initial_values(tmp_path):
    with hr.Graph().as_default():
        a = hr.get_variable("old/a", initializer=np.float32([1, 2]))
        hr.get_variable("old/b", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            path = hr.train.Saver().save(session, str(tmp_path / "m"), global_step=4)
        assert a.op.name == "old/a"
    a = hr.get_variable("new/a", [2], use_resource=True)
    hr.get_variable("new/b", [3, 2], partitioner=hr.fixed_size_partitioner(2))
    c = hr.get_variable("c", [2])
    hr.train.init_from_checkpoint(str(tmp_path), {"old/": "new/", "old/a": c})
    with pytest.raises(ValueError, match="old/z is not found"):
        hr.train.init_from_checkpoint(path, {"old/z": c})
    with pytest.raises(ValueError, match=r"\[2\].*doesn't match.*\[3, 2\]"):
        hr.train.init_from_checkpoint(path, {"old/b": c})
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(a).tolist() == session.run(c).tolist() == [1.0, 2.0]
        parts = [v for v in hr.global_variables() if v.op.name.startswith("new/b/")]
        rows = np.concatenate(session.run(parts))
        assert rows.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_warm_start_matches_variables_by_name(tmp_path):
    with hr.Graph().as_default():
        hr.get_variable("a", initializer=np.float32([1, 2]))
        hr.get_variable("b0", initializer=np.float32(5))
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            hr.train.Saver().save(session, str(tmp_path / "m"))
    a, b = hr.get_variable("a", [2]), hr.get_variable("b", [])
    hr.train.warm_start(str(tmp_path / "m"), var_name_to_prev_var_name={"b": "b0"})
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(a).tolist() == [1.0, 2.0] and session.run(b) == 5.0
    assert next(hr.train.checkpoints_iterator(str(tmp_path), timeout=0)).endswith("m")


@pytest.mark.parametrize("kind", ["sgd", "adagrad", "da"])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_proximal_optimizers_shrink_weights_to_zero(kind, resource, sparse):
    step = hr.train.create_global_step()
    w = hr.get_variable("w", initializer=np.float32([2.0, 0.01, 1.0]), use_resource=resource)
    got = hr.gather(w, [0, 1, 2]) if sparse else w
    loss = hr.reduce_sum(hr.square(got - [1.0, 0.0, 1.0]))
    make = {
        "sgd": lambda: hr.train.ProximalGradientDescentOptimizer(0.1, 0.2),
        "adagrad": lambda: hr.train.ProximalAdagradOptimizer(0.3, 0.1, 0.2),
        "da": lambda: hr.train.AdagradDAOptimizer(0.3, step, l1_regularization_strength=0.2),
    }[kind]
    train = make().minimize(loss, global_step=step)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for _ in range(60):
            session.run(train)
        value = session.run(w)
    assert value[1] == 0.0 and 0.4 < value[0] < 1.0


def test_ops_read_write_and_match_files(tmp_path):
    path = str(tmp_path / "d" / "f.txt")
    write = hr.write_file(path, "héllo")
    with hr.Session() as session:
        session.run(write)
        assert session.run(hr.read_file(path)) == "héllo".encode()
        assert session.run(hr.matching_files(str(tmp_path / "d" / "*"))).tolist() == [path.encode()]
        names = hr.train.match_filenames_once(str(tmp_path / "d" / "*.txt"))
        session.run(hr.local_variables_initializer())
        assert session.run(names).tolist() == [path.encode()]


def test_learning_rate_schedules_follow_their_formulas():
    step = hr.placeholder(hr.int64, [])
    rates = [
        hr.train.cosine_decay_restarts(1.0, step, 10, t_mul=2.0, m_mul=0.5),
        hr.train.linear_cosine_decay(1.0, step, 10),
        hr.train.cosine_decay_restarts(1.0, step, 10, t_mul=1.0),
        hr.train.noisy_linear_cosine_decay(1.0, step, 10, initial_variance=0.0),
    ]
    with hr.Session() as session:
        got = session.run(rates, {step: 15})
        at_four = session.run(rates[1], {step: 4})
    half = 0.5 * (1 + np.cos(np.pi * 0.25))
    np.testing.assert_allclose(got[0], 0.5 * half, rtol=1e-5)
    np.testing.assert_allclose(got[2], 0.5 * (1 + np.cos(np.pi * 0.5)), rtol=1e-5)
    np.testing.assert_allclose([got[1], got[3]], 0.001, atol=1e-6)
    cosine = 0.5 * (1 + np.cos(np.pi * 2 * 0.5 * 0.4))
    np.testing.assert_allclose(at_four, 0.6 * cosine + 0.001, rtol=1e-5)
