"""SessionManager, MonitoredSession and Supervisor while tasks of a cluster end and start again.

The tasks are in this process (in_process_cluster.py). Of headrace.graph: training/session_manager,
training/session_creators, training/living_state, training/attempts, training/monitored_session.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from in_process_cluster import DiedError, InProcessCluster
from synchronous_model import PATIENCE_S, Model, Replica, wait_until

import headrace.graph as hr
from headrace.graph.training import attempts
from headrace.graph.training.living_state import adopts_living_state


@pytest.fixture
def cluster(monkeypatch):
    made = InProcessCluster(monkeypatch, n_ps=2, n_workers=3)
    yield made
    made.close()


def started(*replicas: Replica) -> list[Replica]:
    for replica in replicas:
        replica.start()
        wait_until(lambda r=replica: r.ready.is_set() or r.error, f"session of {replica.name}")
        if replica.error is not None:
            raise replica.error
    return list(replicas)


def value(name: str = "step") -> float:
    """Returns a value of the model, read by a new session."""
    model = Model(0, 2, None)
    with hr.Session("tasks://observer/0", graph=model.graph) as session:
        return float(session.run(getattr(model, name)))


def initialise(**values: float) -> None:
    """Initialises the model, with some other values, and leaves it to the parameter servers."""
    model = Model(0, 2, None)
    with model.graph.as_default():
        assign = [getattr(model, name).assign(value) for name, value in values.items()]
        begin = hr.global_variables_initializer()
    with hr.Session("tasks://observer/0", graph=model.graph) as session:
        session.run(begin)
        session.run(assign)


def checkpoint(folder: Any, step: int) -> str:
    """Writes a checkpoint of another model, with this global step."""
    model = Model(0, 2, None)
    anywhere = hr.ConfigProto(allow_soft_placement=True)
    with model.graph.as_default(), hr.Session(graph=model.graph, config=anywhere) as session:
        at = model.step.assign(step)
        saver = hr.train.Saver()
        session.run(hr.global_variables_initializer())
        session.run(at)
        return saver.save(session, str(folder / "model.ckpt"), global_step=model.step)


def chief_session(folder: Any = None, **arguments: Any) -> tuple[Model, Any]:
    """Returns a model and the monitored session of its chief, which is still open."""
    model = Model(0, 2, None)
    with model.graph.as_default():
        session = hr.train.MonitoredTrainingSession(
            "tasks://worker/0", checkpoint_dir=None if folder is None else str(folder),
            save_checkpoint_secs=None, save_summaries_steps=None, log_step_count_steps=None,
            **arguments,
        )  # fmt: skip
    return model, session


# ---- a chief adopts what lives ------------------------------------------------------------------


def test_a_chief_that_starts_again_does_not_bring_living_workers_back(cluster, tmp_path) -> None:
    saves = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 10**6}
    chief, other = started(Replica(0, None, save_checkpoint_secs=None, **saves), Replica(1, None))
    chief.progress(20)  # the only checkpoint is that of step 0
    chief.stop.set()
    cluster.end("worker", 0)
    chief.finish(DiedError)
    other.progress(20)
    before = other.seen[-1]
    cluster.start("worker", 0)
    (again,) = started(Replica(0, None, save_checkpoint_secs=None, **saves))
    again.progress(20)
    other.progress(20)
    for worker in (again, other):
        worker.stop.set()
        worker.finish()
    assert again.seen[0] > before
    assert other.seen == sorted(other.seen)
    # The worker that ended may have been between the two updates of a step.
    assert abs(value("count") - value("step")) <= 1


def test_a_chief_without_checkpoints_does_not_initialise_what_lives(cluster) -> None:
    initialise(step=7, count=7.0)
    model, session = chief_session()
    with session:
        assert session.run([model.step, model.count]) == [7, 7.0]


@pytest.mark.parametrize(("saved", "expected"), [(5, 7), (7, 7), (9, 9)])
def test_the_later_of_living_state_and_checkpoint_is_used(
    saved, expected, cluster, tmp_path
) -> None:
    checkpoint(tmp_path, saved)
    initialise(step=7)
    model, session = chief_session(tmp_path)
    with session:
        assert session.run(model.step) == expected


def test_a_checkpoint_is_restored_when_one_server_has_lost_its_state(cluster, tmp_path) -> None:
    checkpoint(tmp_path, 5)
    initialise(step=7)
    cluster.end("ps", 1)
    cluster.start("ps", 1)
    model, session = chief_session(tmp_path)
    with session:
        assert session.run([model.step, model.count]) == [5, 0.0]


def test_without_a_checkpoint_all_is_initialised_when_one_server_has_lost_its_state(
    cluster,
) -> None:
    initialise(step=7, count=7.0)
    cluster.end("ps", 1)
    cluster.start("ps", 1)
    model, session = chief_session()
    with session:
        assert session.run([model.step, model.count]) == [0, 0.0]


def test_a_checkpoint_that_is_named_is_restored_in_any_case(cluster, tmp_path) -> None:
    path = checkpoint(tmp_path, 5)
    initialise(step=7)
    model = Model(0, 2, None)
    with model.graph.as_default():
        creator = hr.train.ChiefSessionCreator(
            master="tasks://worker/0", checkpoint_filename_with_path=path
        )
        with hr.train.MonitoredSession(creator) as session:
            assert session.run(model.step) == 5


def test_a_corrupted_checkpoint_is_not_ignored(cluster, tmp_path) -> None:
    path = checkpoint(tmp_path, 5)
    initialise(step=7)
    with open(f"{path}.index", "r+b") as stream:
        stream.truncate(10)
    with pytest.raises(hr.errors.DataLossError):
        chief_session(tmp_path)


def test_without_a_global_step_nothing_is_adopted_over_a_checkpoint(tmp_path) -> None:
    with hr.Graph().as_default() as graph:
        hr.get_variable("v", [2])
        not_ready = hr.report_uninitialized_variables()
        saver, begin = hr.train.Saver(), hr.global_variables_initializer()
    with hr.Session(graph=graph) as session:
        assert not adopts_living_state(session, not_ready, None)
        session.run(begin)
        path = saver.save(session, str(tmp_path / "model.ckpt"))
        assert adopts_living_state(session, not_ready, None)
        assert not adopts_living_state(session, not_ready, path)
        assert not adopts_living_state(session, None, None)


def test_a_local_session_is_always_initialised(tmp_path) -> None:
    for _ in range(2):
        with hr.Graph().as_default():
            step = hr.train.get_or_create_global_step()
            more = step.assign_add(1)
            with hr.train.MonitoredTrainingSession() as session:
                assert session.run(step) == 0
                session.run(more)


def test_a_supervisor_adopts_what_lives(cluster, tmp_path) -> None:
    checkpoint(tmp_path, 5)
    initialise(step=7)
    model = Model(0, 2, None)
    with model.graph.as_default():
        supervisor = hr.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
        with supervisor.managed_session("tasks://worker/0") as session:
            assert session.run(model.step) == 7


# ---- workers wait -------------------------------------------------------------------------------


def test_a_worker_waits_for_the_chief_in_pauses_that_grow(cluster, monkeypatch) -> None:
    pauses: list[float] = []
    model = Model(1, 2, None)

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 12:
            initialise()

    monkeypatch.setattr(attempts.time, "sleep", sleep)
    with model.graph.as_default():
        manager = hr.train.SessionManager(ready_op=hr.report_uninitialized_variables())
    session = manager.wait_for_session("tasks://worker/1")
    assert session.run(model.step) == 0
    session.close()
    assert len(pauses) == 12
    assert pauses[0] <= 0.05 and pauses == sorted(pauses) and pauses[-1] == 1.0
    pauses.clear()
    with model.graph.as_default():
        manager = hr.train.SessionManager(ready_op=hr.constant(["v"]), recovery_wait_secs=0.07)
    monkeypatch.setattr(attempts.time, "sleep", pauses.append)
    with pytest.raises(hr.errors.DeadlineExceededError):
        manager.wait_for_session("tasks://worker/1", max_wait_secs=0.2)
    assert max(pauses) == 0.07


def test_a_worker_waits_for_tasks_that_start_later(cluster) -> None:
    initialise()
    cluster.end("ps", 1)
    worker = Replica(1, None, own_steps=3)
    worker.start()
    wait_until(lambda: cluster.n_opened >= 3, "some attempts")
    assert not worker.ready.is_set()
    cluster.start("ps", 1)
    initialise()
    worker.finish()
    assert len(worker.seen) == 3


def test_a_worker_says_for_what_it_has_waited_in_vain(cluster) -> None:
    model = Model(1, 2, None)
    with model.graph.as_default():
        manager = hr.train.SessionManager(ready_op=hr.report_uninitialized_variables())
    with pytest.raises(
        hr.errors.DeadlineExceededError, match=r"Session was not ready after waiting 0.3 secs\. "
        "Variables not initialized: global_step, count, x, table"
    ):  # fmt: skip
        manager.wait_for_session("tasks://worker/1", max_wait_secs=0.3)
    cluster.end("ps", 1)
    with pytest.raises(
        hr.errors.UnavailableError, match="not ready after waiting 0.3 secs.*/job:ps.*task:1"
    ):
        manager.wait_for_session("tasks://worker/1", max_wait_secs=0.3)
    assert all(session.closed for session in cluster.sessions)


def test_a_session_that_cannot_be_initialised_is_closed(cluster) -> None:
    model = Model(0, 2, None)
    with model.graph.as_default():
        manager = hr.train.SessionManager(ready_op=hr.report_uninitialized_variables())
        nothing = hr.no_op()
    with pytest.raises(RuntimeError, match="Init operations did not make model ready"):
        manager.prepare_session("tasks://worker/0", init_op=nothing)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager.prepare_session("tasks://worker/0")
    assert len(cluster.sessions) == 2 and all(session.closed for session in cluster.sessions)


# ---- monitored sessions recover -----------------------------------------------------------------


def test_all_workers_go_on_when_a_parameter_server_has_started_again(cluster, tmp_path) -> None:
    saves = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 5}
    workers = started(Replica(0, None, save_checkpoint_secs=None, **saves), Replica(1, None))
    for worker in workers:
        worker.progress(20)
    cluster.end("ps", 0)
    seen = [len(worker.seen) for worker in workers]
    cluster.start("ps", 0)
    for worker, before in zip(workers, seen, strict=True):
        wait_until(lambda w=worker, n=before: len(w.seen) > n + 20, f"{worker.name} goes on")
    for worker in workers:
        worker.stop.set()
        worker.finish()
    # The chief saves between its own steps, perhaps between the two updates of one of the other's.
    assert abs(value("count") - value("step")) <= 1


def test_a_parameter_server_that_is_gone_for_good_ends_in_an_error(cluster) -> None:
    workers = started(*(Replica(i, None, max_wait_secs=1.0) for i in range(2)))
    for worker in workers:
        worker.progress(3)
    cluster.end("ps", 1)
    for worker in workers:
        worker.finish(hr.errors.UnavailableError)
        assert isinstance(worker.error, hr.errors.UnavailableError)
        assert "/job:ps/replica:0/task:1" in str(worker.error)
    assert all(session.closed for session in cluster.sessions)


def test_a_chief_whose_parameter_server_never_starts_ends_in_an_error(cluster) -> None:
    cluster.end("ps", 1)
    with pytest.raises(hr.errors.UnavailableError, match="/job:ps/replica:0/task:1"):
        chief_session(max_wait_secs=0.3)


class _FailsAtFirst(hr.train.SessionRunHook):
    """Fails with an error in its first call of a method."""

    def __init__(self, method: str, error: Exception) -> None:
        self._method, self._error = method, error
        self.calls: list[str] = []

    def _called(self, method: str) -> None:
        self.calls.append(method)
        if method == self._method and self.calls.count(method) == 1:
            raise self._error

    def after_create_session(self, session, coord):
        self._called("after_create_session")

    def before_run(self, run_context):
        self._called("before_run")

    def after_run(self, run_context, run_values):
        self._called("after_run")


@pytest.mark.parametrize("error", [hr.errors.AbortedError, hr.errors.UnavailableError])
@pytest.mark.parametrize("method", ["after_create_session", "before_run", "after_run"])
def test_a_task_that_is_lost_in_a_hook_costs_a_session(method, error, cluster) -> None:
    hook = _FailsAtFirst(method, error(None, None, "a task was lost"))
    model, session = chief_session(hooks=[hook])
    with session:
        session.run(model.train_op)
    assert hook.calls.count("after_create_session") == 2
    assert len(cluster.sessions) == 2 and all(session.closed for session in cluster.sessions)


def test_another_error_in_a_hook_is_raised_and_the_session_closed(cluster) -> None:
    hook = _FailsAtFirst("after_create_session", ValueError("of the program"))
    with pytest.raises(ValueError, match="of the program"):
        chief_session(hooks=[hook])
    assert [session.closed for session in cluster.sessions] == [True]


def test_a_function_of_steps_is_called_again_after_a_lost_task(cluster) -> None:
    hook = _FailsAtFirst("before_run", hr.errors.AbortedError(None, None, "a task was lost"))
    model, session = chief_session(hooks=[hook])
    with session:
        steps = session.run_step_fn(lambda step_context: step_context.run_with_hooks(model.step))
    assert steps == 0 and len(cluster.sessions) == 2


class _LosesATaskInAThread(hr.train.SessionRunHook):
    """A thread of the first session loses a task."""

    def __init__(self) -> None:
        self.sessions = 0
        self.lost = threading.Event()

    def after_create_session(self, session, coord):
        self.sessions += 1
        if self.sessions == 1:
            thread = threading.Thread(target=self._lose, args=(coord,))
            coord.register_thread(thread)
            thread.start()

    def _lose(self, coord) -> None:
        coord.request_stop(hr.errors.AbortedError(None, None, "a task was lost"))
        self.lost.set()


def test_a_thread_that_loses_a_task_does_not_stop_training(cluster) -> None:
    hook = _LosesATaskInAThread()
    model, session = chief_session(hooks=[hook])
    with session:
        assert hook.lost.wait(PATIENCE_S)
        assert not session.should_stop()
        session.run(model.train_op)
    assert hook.sessions == 2


def test_a_singular_session_raises_the_error_of_a_lost_task(cluster) -> None:
    hook = _FailsAtFirst("before_run", hr.errors.AbortedError(None, None, "a task was lost"))
    model = Model(0, 2, None)
    with model.graph.as_default():
        session = hr.train.SingularMonitoredSession(hooks=[hook], master="tasks://worker/0")
        with pytest.raises(hr.errors.AbortedError, match="a task was lost"), session:
            session.run(model.train_op)
    assert [session.closed for session in cluster.sessions] == [True]


def test_threads_that_wait_for_a_lost_task_do_not_delay_recovery(cluster) -> None:
    """A full queue of the worker blocks its runner until the session is closed."""
    model = Model(0, 2, None)
    with model.graph.as_default():
        with hr.device("/job:worker/task:0"):
            queue = hr.FIFOQueue(1, "int32", shapes=[[]])
            hr.train.add_queue_runner(hr.train.QueueRunner(queue, [queue.enqueue(1)] * 2))
        with hr.train.MonitoredTrainingSession(
            "tasks://worker/0", stop_grace_period_secs=10 * PATIENCE_S, log_step_count_steps=None
        ) as session:
            session.run(model.train_op)
            cluster.end("ps", 0)
            cluster.start("ps", 0)
            session.run(model.train_op)
            assert session.run(model.step) == 1


def test_a_worker_that_finishes_first_does_not_stop_the_others(cluster) -> None:
    workers = started(Replica(0, None, own_steps=5), Replica(1, None, last_step=60))
    for worker in workers:
        worker.finish()
    assert workers[1].seen[-1] >= 60
