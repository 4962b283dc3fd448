"""The hook of SyncReplicasOptimizer: local steps, the chief's updates, and the watch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.formats.errors import OpError
from headrace.graph.platform import logging
from headrace.graph.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from headrace.graph.training.coordinator import Coordinator
    from headrace.graph.training.sync_quorum import Quorum
    from headrace.graph.training.sync_replicas import SyncReplicasOptimizer

_POLL_S = 0.25  # between looks at which workers live
_Worker = tuple[str, int]  # job and task


class SyncReplicasHook(SessionRunHook):
    """Initialises the local step of a worker; for the chief, it also starts the updates.

    Args:
      optimizer: SyncReplicasOptimizer.
      is_chief: whether this worker is the chief.
      num_tokens: number of the first tokens.
    """

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        """Finds the operations. Raises: ValueError before apply_gradients."""
        optimizer = self._optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready = optimizer.ready_for_local_init_op
        self._quorum: Quorum = optimizer._quorum
        self._init_op: Any = optimizer.local_step_init_op
        self._init_tokens: Any = None
        self._runner: Any = None
        if self._is_chief:
            self._init_op = optimizer.chief_init_op
            self._runner = optimizer.get_chief_queue_runner()
            self._init_tokens = optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Initialises the local step; for the chief, starts the updates.

        Raises: RuntimeError for variables that are not initialised.
        """
        missing = session.run(self._ready)
        if missing.size:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._init_op.name}, error: variables not initialized: "
                f"{', '.join(name.decode() for name in missing)}"
            )
        self._n_ended = int(session.run(self._quorum.n_ended))
        session.run(self._init_op)
        if not self._is_chief:
            session.run(self._quorum.join)
            return
        if self._init_tokens is not None:
            session.run(self._init_tokens)
        self._runner.create_threads(
            session, coord=_UntilClosed(coord, session), daemon=True, start=True
        )
        live_tasks = getattr(getattr(session, "_service", None), "live_tasks", None)
        if live_tasks is not None:
            _Watch(session, coord, self._quorum, live_tasks).start()

    def before_run(self, run_context: Any) -> SessionRunArgs | None:
        """Asks a worker that is not the chief whether the chief has ended training."""
        return None if self._is_chief else SessionRunArgs(self._quorum.n_ended)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops a worker when the chief has ended training: no one applies its gradients."""
        if not self._is_chief and int(run_values.results) != self._n_ended:
            logging.info("The chief has ended training.")
            run_context.request_stop()

    def end(self, session: Any) -> None:
        """At the end of the chief's training, ends that of all workers; a worker leaves."""
        try:
            session.run(self._quorum.end if self._is_chief else self._quorum.leave)
        except OpError as error:
            logging.warning("The other workers do not know that this one has ended: %s", error)


class _UntilClosed:
    """A coordinator for threads that wait in a run which only the end of their session releases.

    Args:
      coord: Coordinator, which waits for its other threads, and for these when the session ended.
      session: the session.
    """

    def __init__(self, coord: Coordinator, session: Any) -> None:
        self._coord = coord
        self._session = session

    def register_thread(self, thread: threading.Thread) -> None:
        self._coord._register_until_close(thread)

    def should_stop(self) -> bool:
        return self._coord.should_stop()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        return self._coord.wait_for_stop(timeout)

    def request_stop(self, ex: Any = None) -> None:
        closed = getattr(self._session, "_closed", False)
        if not closed and not self._coord.should_stop():
            self._coord.request_stop(ex)


class _Watch(threading.Thread):
    """Makes the quorum smaller while workers are dead, and larger when they come back.

    A worker that was never seen holds no token, and is not dead: it is waited for.

    Args:
      session: session of the chief.
      coord: Coordinator that stops the thread.
      quorum: the operations of the optimizer.
      live_tasks: returns the tasks of a job that live; ClusterSession.live_tasks.
    """

    def __init__(
        self, session: Any, coord: Any, quorum: Quorum, live_tasks: Callable[[str], list[int]]
    ) -> None:
        super().__init__(name="SyncReplicasWatch", daemon=True)
        self._session = session
        self._coord = coord
        self._quorum = quorum
        self._live_tasks = live_tasks
        self._chief = quorum.worker
        # A chief may have a job of its own.
        self._job = "worker" if self._chief[0] in ("chief", "master") else self._chief[0]
        self._seen: set[_Worker] = set()
        self._left: set[_Worker] = set()
        self._alive: set[_Worker] = set()
        self._counted = 0  # dead workers
        self._n_others = 0  # of these, those that a watch before this one has seen
        coord.register_thread(self)

    def run(self) -> None:
        """Watches until a stop is requested or the session fails: the training loop notices too."""
        try:
            # What the watch of a chief that died has counted: it saw workers that this one has not.
            self._n_others = self._counted = int(self._session.run(self._quorum.n_dead))
            for _ in self._changes():  # from before: who joined lives, or is not there
                pass
            self._seen = self._live_workers()
            self._count(self._seen)
            while not self._coord.wait_for_stop(_POLL_S):
                # One after the other: who joined and died since may have taken a token.
                alive = set(self._alive)
                for worker, joins in self._changes():
                    (self._left.discard if joins else self._left.add)(worker)
                    (alive.add if joins else alive.discard)(worker)
                    self._count(alive)
                self._count(self._live_workers() - self._left)
        except (OpError, RuntimeError) as error:  # RuntimeError: the session is closed
            if not self._coord.should_stop():
                logging.info("Workers are no longer watched: %s", error)

    def _live_workers(self) -> set[_Worker]:
        jobs = {self._job, self._chief[0]}
        return {(job, task) for job in jobs for task in self._live_tasks(job)}

    def _changes(self) -> Iterator[tuple[_Worker, bool]]:
        """Yields who left (False) or joined; no other thread takes them from their queue."""
        for _ in range(int(self._session.run(self._quorum.n_changes))):
            change = int(self._session.run(self._quorum.change))
            yield (self._job, abs(change) - 1), change > 0

    def _count(self, alive: set[_Worker]) -> None:
        """Sets the number of dead workers, and makes up for the tokens that they may hold."""
        self._alive = alive = set(alive)
        self._n_others = max(0, self._n_others - len(alive - self._seen))
        self._seen |= alive
        # Others may have taken the place of the dead.
        most = max(0, self._quorum.n_workers - len(alive))
        n_dead = min(len(self._seen - alive) + self._n_others, most)
        counted, self._counted = self._counted, n_dead
        if n_dead == counted:
            return
        run, quorum = self._session.run, self._quorum
        missing, before = quorum.n_missing(n_dead), quorum.n_missing(counted)
        needed = quorum.replicas_to_aggregate - missing
        logging.warning(
            "Workers that are dead or have left: %d; live: %s; an average takes %d gradients",
            n_dead, ", ".join(f"/job:{job}/task:{task}" for job, task in sorted(alive)), needed,
        )  # fmt: skip
        for _ in range(counted, n_dead):
            run(quorum.add_dead)
        for _ in range(before, missing):
            run(quorum.fill_in)
        for _ in range(n_dead, counted):
            run(quorum.remove_dead)
        for _ in range(n_dead, counted):
            run(quorum.token)
