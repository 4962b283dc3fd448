"""SyncReplicasOptimizer between workers: averages, tokens, and a quorum that follows who lives.

The workers are threads, the tasks are in this process (in_process_cluster.py). Of
headrace.graph: training/sync_replicas, training/sync_quorum, training/sync_hook.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest
from in_process_cluster import DiedError, InProcessCluster
from synchronous_model import PATIENCE_S, Model, Replica, wait_until

import headrace.graph as hr
from headrace.graph.training import sync_hook
from headrace.graph.training.sync_hook import SyncReplicasHook
from headrace.graph.training.sync_quorum import Quorum


@pytest.fixture
def cluster(monkeypatch):
    made = InProcessCluster(monkeypatch, n_ps=2, n_workers=3)
    yield made
    made.close()


def started(*replicas: Replica) -> list[Replica]:
    """Starts workers, and lets them train when all have a session."""
    for replica in replicas:
        replica.hold.set()
        replica.start()
    for replica in replicas:
        wait_until(lambda r=replica: r.ready.is_set() or r.error, f"session of {replica.name}")
        if replica.error is not None:
            raise replica.error
    for replica in replicas:
        replica.hold.clear()
    return list(replicas)


def state(cluster: InProcessCluster) -> dict[str, Any]:
    """Returns the values of the model and of the counters, read by a new session."""
    model = Model(2, 2, (3, 3))
    with hr.Session("tasks://observer/0", graph=model.graph) as session:
        names = ["step", "count", "table", "x"]
        values = session.run([getattr(model, name) for name in names])
        found = dict(zip(names, values, strict=True))
        found["n_dead"] = int(session.run(model.sync._quorum.n_dead))
    return found


def check_updates(found: dict[str, Any], n_lost: int = 0) -> None:
    """Checks that each update was done once; n_lost: of how many the chief died in between."""
    step = int(found["step"])
    assert step <= found["count"] <= step + n_lost
    row = found["table"][1, 0]
    assert step <= row <= step + n_lost
    np.testing.assert_array_equal(found["table"], [[0, 0], [row, row], [0, 0]])


def test_workers_train_together_until_the_last_step(cluster) -> None:
    workers = started(*(Replica(i, (3, 3), last_step=60) for i in range(3)))
    for worker in workers:
        worker.finish()
        assert worker.seen == sorted(worker.seen) and worker.seen[-1] >= 60
    check_updates(state(cluster))


class Steps:
    """The steps of the chief and of workers of a model, one at a time, without threads."""

    def __init__(self, replicas: tuple[int, int], n_workers: int = 2) -> None:
        self.models = [Model(i, 2, replicas) for i in range(n_workers)]
        self.sessions = [
            hr.Session(f"tasks://worker/{i}", graph=model.graph)
            for i, model in enumerate(self.models)
        ]
        with self.models[0].graph.as_default():
            self.run(0, hr.global_variables_initializer())
        self.run(0, self.models[0].sync.chief_init_op)
        self.update = self.models[0].sync.get_chief_queue_runner().enqueue_ops[0]
        for i in range(n_workers):
            self.join(i)

    def run(self, worker: int, fetches: Any) -> Any:
        return self.sessions[worker].run(fetches)

    def join(self, worker: int) -> None:
        """Sets the worker's step to the global step."""
        self.run(worker, self.models[worker].sync.local_step_init_op)

    def arrive(self, worker: int) -> None:
        """Adds the gradients of a worker."""
        self.run(worker, self.models[worker].sync._quorum.arrival)

    def arrive_in_part(self, worker: int) -> None:
        """Adds the gradient of `count` only, after which the worker dies."""
        sync = self.models[worker].sync
        ref = sync._accumulators[0][0].accumulator_ref
        (first,) = (op for op in sync._quorum.arrival.control_inputs if op.inputs[0] is ref)
        self.run(worker, first)

    def accumulated(self) -> list[int]:
        """Returns the numbers of gradients of the dense variables."""
        accumulators = self.models[0].sync._accumulators[:2]
        return [int(self.run(0, a.num_accumulated())) for a, _ in accumulators]

    def values(self) -> list[float]:
        model = self.models[0]
        return [float(v) for v in self.run(0, [model.step, model.count, model.table[1, 0]])]

    def background_update(self) -> threading.Thread:
        """Starts an update of the chief, which waits for gradients."""
        thread = threading.Thread(target=self.run, args=(0, self.update), daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        for session in self.sessions:
            session.close()


@pytest.fixture
def steps(cluster):
    made = Steps((2, 2))
    yield made
    made.close()


def test_an_average_is_of_the_gradients_of_one_step_and_stale_ones_are_dropped(steps) -> None:
    steps.arrive(0)
    assert steps.accumulated() == [1, 1]
    steps.arrive(1)
    assert steps.accumulated() == [2, 2]
    steps.run(0, steps.update)
    assert steps.values() == [1, 1, 1]
    steps.arrive(0)  # of step 0
    steps.arrive(1)
    assert steps.accumulated() == [0, 0]
    steps.join(0)
    steps.arrive(0)
    assert steps.accumulated() == [1, 1]


def test_an_average_counts_all_gradients_that_came_in_time(steps) -> None:
    for worker in (0, 1, 0):
        steps.arrive(worker)
    steps.run(0, steps.update)
    assert steps.values() == [1, 1, 1]
    assert steps.accumulated() == [0, 0]


def test_a_worker_that_dies_between_two_variables_does_not_count(steps) -> None:
    steps.arrive_in_part(1)
    steps.arrive(0)
    waiting = steps.background_update()
    assert steps.accumulated() in ([2, 1], [1, 2])
    steps.join(1)  # it is back
    steps.arrive(1)
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert steps.values() == [1, 1, 1]


def test_a_fill_in_releases_the_average_that_waits_for_a_dead_worker(steps) -> None:
    steps.arrive(0)
    waiting = steps.background_update()
    quorum = steps.models[0].sync._quorum
    steps.run(0, quorum.add_dead)
    steps.run(0, quorum.fill_in)
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert steps.values() == [1, 1, 1]
    steps.join(0)
    steps.arrive(0)  # one is enough now, without a fill-in
    steps.run(0, steps.update)
    assert steps.values() == [2, 2, 2]


def test_a_fill_in_that_comes_late_makes_one_average_smaller_but_never_empty(steps) -> None:
    quorum = steps.models[0].sync._quorum
    for worker in (0, 1):
        steps.arrive(worker)
    steps.run(0, steps.update)
    steps.run(0, quorum.add_dead)
    steps.run(0, quorum.fill_in)  # for the average that has just been taken
    waiting = steps.background_update()
    steps.join(0)
    steps.arrive(0)
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert steps.values() == [2, 2, 2]
    steps.run(0, quorum.remove_dead)
    for worker in (0, 1):
        steps.join(worker)
        steps.arrive(worker)
    steps.run(0, steps.update)
    assert steps.values() == [3, 3, 3]


def test_a_chief_that_died_with_gradients_in_its_hands_does_the_step_again(steps) -> None:
    for worker in (0, 1):
        steps.arrive(worker)
    steps.run(0, steps.models[0].sync._quorum.n_gradients)  # taken, and not applied
    assert steps.accumulated() == [2, 2]
    steps.run(0, steps.models[0].sync.chief_init_op)  # another chief
    for worker in (0, 1):
        steps.arrive(worker)
    steps.run(0, steps.update)
    assert steps.values() == [1, 1, 1]
    assert steps.accumulated() == [0, 0]


def test_tokens_are_as_many_as_workers_that_are_not_dead(steps) -> None:
    queue, quorum = steps.models[0].sync._sync_token_queue, steps.models[0].sync._quorum
    with steps.models[0].graph.as_default():
        size, token = queue.size(), queue.dequeue()
    for n_dead, expected in ((0, 2), (1, 1), (2, 1)):
        if n_dead:
            steps.run(0, quorum.add_dead)
        for worker in (0, 1):
            steps.join(worker)
            steps.arrive(worker)
        steps.run(0, steps.update)
        assert steps.run(0, size) == expected
        assert [steps.run(0, token) for _ in range(expected)] == [n_dead + 1] * expected


@pytest.mark.parametrize(
    ("replicas", "missing"), [((3, 3), [0, 1, 2, 2]), ((2, 3), [0, 0, 1, 1]), ((4, 2), [0, 1, 2])]
)
def test_backup_workers_die_before_the_average_becomes_smaller(replicas, missing, cluster) -> None:
    sync = Model(0, 2, replicas).sync
    assert isinstance(sync.make_session_run_hook(is_chief=True), SyncReplicasHook)
    quorum: Quorum = sync._quorum
    assert [quorum.n_missing(n) for n in range(len(missing))] == missing


def test_workers_go_on_when_one_dies_with_a_token_and_take_it_in_again(cluster) -> None:
    workers = started(*(Replica(i, (3, 3)) for i in range(3)))
    chief, other, dies = workers
    for worker in workers:
        worker.progress()
    dies.hold.set()
    assert dies.holding.wait(PATIENCE_S)
    cluster.end("worker", 2)
    dies.stop.set()
    dies.finish(DiedError)
    chief.progress(10)
    other.progress(10)
    assert state_of_quorum(cluster) == 1
    cluster.start("worker", 2)
    (again,) = started(Replica(2, (3, 3)))
    again.progress(10)
    wait_until(lambda: state_of_quorum(cluster) == 0, "three workers again")
    for worker in (chief, other, again):
        worker.progress(10)
    chief.stop.set()
    for worker in (chief, other, again):
        worker.finish()
    check_updates(state(cluster))


def test_another_worker_takes_the_place_of_one_that_died(cluster) -> None:
    chief, dies = started(Replica(0, (2, 2)), Replica(1, (2, 2)))
    dies.progress()
    dies.stop.set()
    cluster.end("worker", 1)
    dies.finish(DiedError)
    wait_until(lambda: state_of_quorum(cluster) == 1, "one worker is dead")
    (other,) = started(Replica(2, (2, 2)))
    wait_until(lambda: state_of_quorum(cluster) == 0, "two workers again")
    for worker in (chief, other):
        worker.progress(10)
    chief.stop.set()
    for worker in (chief, other):
        worker.finish()
    check_updates(state(cluster))


class FakeRuns:
    """The operations of a quorum, and a session that records which were run."""

    def __init__(self, n_workers: int, replicas: int, n_dead: int = 0) -> None:
        self.worker, self.n_workers = ("worker", 0), n_workers
        self.replicas_to_aggregate, self.tokens_per_step = replicas, max(n_workers, replicas)
        self.dead, self.live, self.changes = n_dead, [0], list[int]()
        self.done: list[str] = []

    n_missing = Quorum.n_missing
    n_dead, n_changes, change = "n_dead", "n_changes", "change"
    add_dead, remove_dead, fill_in, token = "add_dead", "remove_dead", "fill_in", "token"

    def run(self, what: str) -> Any:
        if what in ("add_dead", "remove_dead", "fill_in", "token"):
            self.done.append(what)
        answers = {"n_dead": self.dead, "n_changes": len(self.changes)}
        return self.changes.pop(0) if what == "change" else answers.get(what)


class Looks:
    """A coordinator that lets a watch look, changes who lives, and ends it after the last look."""

    def __init__(self, runs: FakeRuns, *looks: tuple[list[int], list[int]]) -> None:
        self._runs, self._looks = runs, list(looks)

    def register_thread(self, thread: threading.Thread) -> None:
        pass

    def should_stop(self) -> bool:
        return not self._looks

    def wait_for_stop(self, timeout: float) -> bool:
        if not self._looks:
            return True
        self._runs.live, self._runs.changes = self._looks.pop(0)
        return False


@pytest.mark.parametrize(
    ("runs", "begin", "looks", "expected"),
    [
        # A worker that was never seen is waited for; one that was seen is made up for.
        (FakeRuns(2, 2), [0], [([0], [])], []),
        (FakeRuns(2, 2), [0, 1], [([0], [])], ["add_dead", "fill_in"]),
        (
            FakeRuns(2, 2),
            [0, 1],
            [([0], []), ([0, 1], [2])],
            ["add_dead", "fill_in", "remove_dead", "token"],
        ),
        # Who leaves is not alive, even if its server answers.
        (FakeRuns(2, 2), [0, 1], [([0, 1], [-2])], ["add_dead", "fill_in"]),
        # Who comes and leaves, or dies, between two looks may have taken a token.
        (FakeRuns(2, 2), [0], [([0], [2, -2])], ["add_dead", "fill_in"]),
        (FakeRuns(2, 2), [0], [([0], [2])], ["add_dead", "fill_in"]),
        (
            FakeRuns(2, 2, n_dead=1),
            [0],
            [([0], [2])],
            ["remove_dead", "token", "add_dead", "fill_in"],
        ),
        # Backup workers die first; the dead of an earlier watch are not counted twice or forgotten.
        (FakeRuns(3, 2), [0, 1, 2], [([0, 1], [])], ["add_dead"]),
        (FakeRuns(3, 3, n_dead=1), [0, 1], [([0], [])], ["add_dead", "fill_in"]),
        (FakeRuns(3, 3, n_dead=1), [0, 1], [([0, 1, 2], [3])], ["remove_dead", "token"]),
        (FakeRuns(3, 3, n_dead=2), [0, 1, 2], [], ["remove_dead"] * 2 + ["token"] * 2),
        # Another takes the place of the dead.
        (
            FakeRuns(2, 2),
            [0, 1],
            [([0], []), ([0, 2], [3])],
            ["add_dead", "fill_in", "remove_dead", "token"],
        ),
    ],
)
def test_the_watch_makes_up_for_each_token_that_may_be_lost(runs, begin, looks, expected) -> None:
    runs.live = begin
    watch = sync_hook._Watch(runs, Looks(runs, *looks), runs, lambda job: runs.live)
    watch.run()
    assert runs.done == expected


def test_the_chief_goes_on_alone_when_all_others_have_died(cluster) -> None:
    workers = started(*(Replica(i, (3, 3), last_step=150) for i in range(3)))
    for worker in workers:
        worker.progress()
    for worker in workers[1:]:
        worker.stop.set()
        cluster.end("worker", worker.task)
    for worker in workers[1:]:
        worker.finish(DiedError)
    workers[0].finish()
    check_updates(state(cluster))


def test_a_slow_backup_worker_is_not_waited_for(cluster) -> None:
    workers = started(*(Replica(i, (2, 3)) for i in range(3)))
    for worker in workers:
        worker.progress()
    workers[2].hold.set()
    assert workers[2].holding.wait(PATIENCE_S)
    for worker in workers[:2]:
        worker.progress(20)
    assert state_of_quorum(cluster) == 0
    workers[2].hold.clear()
    workers[2].progress(5)
    workers[0].stop.set()
    for worker in workers:
        worker.finish()
    check_updates(state(cluster))


def test_a_worker_that_finishes_first_leaves_even_if_its_server_answers(
    cluster, monkeypatch
) -> None:
    monkeypatch.setattr(cluster, "live_tasks", lambda job: [0, 1] if job == "worker" else [])
    chief, leaves = started(Replica(0, (2, 2), last_step=80), Replica(1, (2, 2), own_steps=10))
    leaves.finish()
    chief.finish()
    assert chief.seen[-1] >= 80
    check_updates(state(cluster))


def test_the_others_end_with_a_chief_that_finishes_first(cluster) -> None:
    workers = started(Replica(0, (3, 3), own_steps=20), Replica(1, (3, 3)), Replica(2, (3, 3)))
    for worker in workers:
        worker.finish()
    check_updates(state(cluster))
    # a later run over the same parameter servers is not ended by this end
    chief, other = started(Replica(0, (3, 3)), Replica(1, (3, 3)))
    other.progress(20)
    chief.stop.set()
    for worker in (chief, other):
        worker.finish()
    check_updates(state(cluster))


def test_a_chief_that_starts_again_adopts_the_model_and_its_workers(cluster) -> None:
    chief, other = started(Replica(0, (2, 2)), Replica(1, (2, 2)))
    chief.progress()
    other.progress()
    chief.stop.set()
    cluster.end("worker", 0)
    chief.finish(DiedError)
    before = int(state(cluster)["step"])
    cluster.start("worker", 0)
    (again,) = started(Replica(0, (2, 2), last_step=before + 40))
    again.finish()
    other.finish()
    assert again.seen[0] >= before
    assert other.seen == sorted(other.seen) and other.seen[-1] >= before + 40
    check_updates(state(cluster), n_lost=1)


def test_a_restarted_parameter_server_brings_all_back_to_the_checkpoint(cluster, tmp_path) -> None:
    saved = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 10}
    chief = Replica(0, (2, 2), save_checkpoint_secs=None, **saved)
    workers = started(chief, Replica(1, (2, 2)))
    for worker in workers:
        worker.progress(30)
    cluster.end("ps", 1)
    cluster.start("ps", 1)
    for worker in workers:
        n_seen = len(worker.seen)
        wait_until(lambda w=worker, n=n_seen: len(w.seen) > n + 30, f"{worker.name} goes on")
    chief.stop.set()
    for worker in workers:
        worker.finish()
    found = state(cluster)
    assert found["count"] == pytest.approx(found["step"], abs=1)


def state_of_quorum(cluster: InProcessCluster) -> int:
    return state(cluster)["n_dead"]


@pytest.mark.parametrize("seed", range(3))
def test_training_goes_on_whoever_dies_and_comes_back(seed, cluster) -> None:
    dice = random.Random(seed)
    alive: dict[int, Replica] = {
        r.task: r for r in started(*(Replica(i, (3, 3)) for i in range(3)))
    }
    chiefs_lost = 0
    for _ in range(12):
        task = dice.randrange(3)
        if task in alive:
            dies = alive.pop(task)
            dies.stop.set()
            cluster.end("worker", task)
            dies.finish(DiedError)
            chiefs_lost += task == 0
        else:
            cluster.start("worker", task)
            alive.update({r.task: r for r in started(Replica(task, (3, 3)))})
        if 0 in alive:
            for worker in alive.values():
                worker.progress(dice.choice([1, 5, 20]))
    if 0 not in alive:
        cluster.start("worker", 0)
        alive.update({r.task: r for r in started(Replica(0, (3, 3)))})
    alive[0].progress(5)
    alive[0].stop.set()
    for worker in alive.values():
        worker.finish()
        assert worker.seen == sorted(worker.seen)
    check_updates(state(cluster), n_lost=chiefs_lost)
