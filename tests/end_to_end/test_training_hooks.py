"""Hooks, session creators and summaries of a program that trains."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.event_file import event_files, read_events


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh
    hr.summary.FileWriterCache.clear()


def counted():
    step = hr.train.get_or_create_global_step()
    return step, hr.assign_add(step, 1)


def run_steps(count, *hooks, fetch=None):
    _, train = counted()
    with hr.train.MonitoredSession(hooks=hooks) as session:
        return [session.run(train if fetch is None else [train, fetch]) for _ in range(count)]


def test_a_timer_is_due_every_so_many_steps():
    timer = hr.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(1)
    timer.update_last_triggered_step(1)
    assert [timer.should_trigger_for_step(n) for n in (1, 3, 4)] == [False, False, True]
    assert timer.update_last_triggered_step(4)[1] == 3
    with pytest.raises(ValueError):
        hr.train.SecondOrStepTimer(every_secs=1, every_steps=1)


def test_a_hook_adds_fetches_and_reads_their_values():
    seen = []

    class Watch(hr.train.SessionRunHook):
        def before_run(self, run_context):
            assert isinstance(run_context, hr.train.SessionRunContext)
            return hr.train.SessionRunArgs(hr.train.get_global_step())

        def after_run(self, run_context, run_values):
            assert isinstance(run_values, hr.train.SessionRunValues)
            seen.append(int(run_values.results))
            if len(seen) == 2:
                run_context.request_stop()

    _, train = counted()
    with hr.train.MonitoredSession(hooks=[Watch()]) as session:
        while not session.should_stop():
            session.run(train)
    assert len(seen) == 2


def test_a_feed_function_feeds_each_run():
    values = iter([1.0, 2.0])
    x = hr.placeholder(hr.float32)
    hook = hr.train.FeedFnHook(lambda: {x: next(values)})
    assert [float(v[1]) for v in run_steps(2, hook, fetch=x * 10)] == [10.0, 20.0]


def test_a_waiter_starts_at_its_step():
    assert len(run_steps(2, hr.train.GlobalStepWaiterHook(wait_until_step=0))) == 2


def test_steps_are_counted_and_logged(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "headrace"):
        run_steps(5, hr.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path)))
    assert any("global_step/sec" in r.getMessage() for r in caplog.records)


def test_summaries_are_saved_and_merged(tmp_path):
    step, train = counted()
    hr.summary.scalar("a", 1.0)
    hr.summary.tensor_summary("t", hr.constant([1, 2]))
    merged = hr.summary.merge(hr.get_collection(hr.GraphKeys.SUMMARIES))
    hook = hr.train.SummarySaverHook(save_steps=1, output_dir=str(tmp_path), summary_op=merged)
    with hr.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train)
    hr.summary.FileWriterCache.clear()
    events = [e for path in event_files(tmp_path) for e in read_events(path)]
    tags = {value.tag for event in events for value in event.summary.value}
    assert {"a", "t"} <= tags


def test_a_saved_checkpoint_notifies_its_listener(tmp_path):
    steps = []

    class Listener(hr.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            steps.append(global_step_value)

    hook = hr.train.CheckpointSaverHook(str(tmp_path), save_steps=2, listeners=[Listener()])
    run_steps(3, hook)
    latest = hr.train.latest_checkpoint(str(tmp_path))
    assert latest and steps[-1] == 3
    (modified,) = hr.train.get_checkpoint_mtimes([latest])
    assert modified > 0
    state = hr.train.generate_checkpoint_state_proto(str(tmp_path), latest)
    assert state.model_checkpoint_path in (latest, "model.ckpt-3")


def test_a_session_creator_of_ones_own_makes_the_session():
    class Creator(hr.train.SessionCreator):
        def create_session(self):
            session = hr.Session()
            session.run(hr.global_variables_initializer())
            return session

    _, train = counted()
    with hr.train.MonitoredSession(session_creator=Creator()) as session:
        assert session.run(train) == 1


def test_a_worker_waits_for_ready_variables():
    variable = hr.Variable(2.0)
    worker = hr.train.WorkerSessionCreator(master="local://shared", max_wait_secs=5)
    with hr.Session("local://shared") as chief:
        chief.run(hr.global_variables_initializer())
        session = worker.create_session()
        assert session.run(variable) == 2.0
        session.close()


def test_a_manager_prepares_a_session(tmp_path):
    variable = hr.Variable(3.0, name="v")
    saver = hr.train.Saver()
    manager = hr.train.SessionManager(ready_op=hr.report_uninitialized_variables())
    session = manager.prepare_session("", init_op=hr.global_variables_initializer())
    path = saver.save(session, str(tmp_path / "model"))
    session.close()
    session, restored = manager.recover_session("", saver=saver, checkpoint_filename_with_path=path)
    assert restored and session.run(variable) == 3.0
    session.close()


def test_a_numeric_gradient_is_near_the_other():
    assert hr.test.get_temp_dir()
    x = hr.constant([1.0, 2.0])
    with hr.Session():
        theory, numeric = hr.test.compute_gradient(x, (2,), x * x, (2,), np.float32([1, 2]))
    np.testing.assert_allclose(theory, [[2.0, 0.0], [0.0, 4.0]], atol=1e-6)
    np.testing.assert_allclose(theory, numeric, atol=1e-2)
    graph_def = hr.get_default_graph().as_graph_def()
    hr.test.assert_equal_graph_def(graph_def, graph_def)
    with pytest.raises(AssertionError):
        hr.test.assert_equal_graph_def(graph_def, hr.GraphDef())
