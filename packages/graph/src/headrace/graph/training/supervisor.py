"""hr.train.Supervisor, the predecessor of monitored sessions: services run in threads."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.formats.proto.event_pb2 import SessionLog
from headrace.formats.proto.summary_pb2 import Summary
from headrace.graph.checkpoints.saver import Saver
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.platform import logging
from headrace.graph.summary.file_writer import FileWriter
from headrace.graph.summary.summaries import merge_all
from headrace.graph.training.coordinator import Coordinator, LooperThread
from headrace.graph.training.global_step import get_global_step
from headrace.graph.training.graph_writing import write_graph
from headrace.graph.training.scaffold import Scaffold
from headrace.graph.training.session_manager import SessionManager
from headrace.graph.typing.aliases import FeedDict, Proto, SessionLike
from headrace.graph.variables.variable_collections import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)


class Supervisor:
    """Initialises a session, and saves checkpoints and summaries in threads.

    Prefer MonitoredTrainingSession, which does the same without threads.

    Args:
      graph: the graph; by default the default graph. The first session finalizes it.
      ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver, global_step,
        summary_writer: as in Scaffold; USE_DEFAULT creates them, None omits them.
      is_chief: whether this task initialises and saves the model; other tasks wait for the chief.
      logdir: folder of checkpoints and summaries; None writes neither.
      save_summaries_secs, save_model_secs: intervals in seconds; 0 never saves.
      checkpoint_basename: first part of the names of checkpoints.
      init_fn: called with the session after init_op.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: object = USE_DEFAULT,
        ready_for_local_init_op: object = USE_DEFAULT,
        is_chief: bool = True,
        init_op: object = USE_DEFAULT,
        init_feed_dict: FeedDict | None = None,
        local_init_op: object = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: object = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: object = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: object = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Proto | None = None,
    ) -> None:
        self._graph = get_default_graph() if graph is None else graph
        self._is_chief = is_chief
        self._init_feeds = init_feed_dict
        self._init_fn = init_fn
        self._grace_s = stop_grace_secs
        self._save_summaries_s = save_summaries_secs
        self._save_model_s = save_model_secs
        self._logdir = logdir
        self._path = os.path.join(logdir, checkpoint_basename) if logdir else None
        with self._graph.as_default():
            self._init_op = _one(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._ready_op = _one(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _one(
                ready_for_local_init_op,
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
            self._local_init_op = _one(
                local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
            self._summary_op = _one(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._saver = _one(saver, GraphKeys.SAVERS, _default_saver)
            self._global_step = _value_or_default(global_step, get_global_step)
        self._writer = None
        if is_chief and logdir:
            self._writer = _value_or_default(summary_writer, lambda: FileWriter(logdir))
        elif summary_writer is not Supervisor.USE_DEFAULT:
            self._writer = summary_writer
        self._manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._coord = Coordinator()
        self._started_threads: list[Any] = []

    is_chief = property(lambda self: self._is_chief, doc="Whether it initialises and saves.")
    session_manager = property(lambda self: self._manager, doc="The SessionManager.")
    coord = property(lambda self: self._coord, doc="The Coordinator of its threads.")
    init_op = property(lambda self: self._init_op, doc="Initialises.")
    init_feed_dict = property(lambda self: self._init_feeds, doc="Feeds of init_op.")
    ready_op = property(lambda self: self._ready_op, doc="Names what is not initialised.")
    ready_for_local_init_op = property(
        lambda self: self._ready_for_local_init_op, doc="As ready_op, before local_init_op."
    )
    summary_writer = property(lambda self: self._writer, doc="The FileWriter, or None.")
    summary_op = property(lambda self: self._summary_op, doc="A serialised Summary, or None.")
    save_summaries_secs = property(lambda self: self._save_summaries_s, doc="How often, in s.")
    save_model_secs = property(lambda self: self._save_model_s, doc="How often, in s.")
    global_step = property(lambda self: self._global_step, doc="The global step, or None.")
    saver = property(lambda self: self._saver, doc="The Saver, or None.")
    save_path = property(lambda self: self._path, doc="The checkpoints' prefix, or None.")

    # -- sessions --------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Proto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """Returns an initialised session; other tasks wait until the chief has initialised it."""
        self._coord.clear_stop()
        if self._writer is not None:
            self._writer.reopen()
        if self._is_chief:
            session = self._manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feeds,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(session)
        self._graph.finalize()
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._writer is not None:
            self._writer.add_graph(self._graph)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Proto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """Returns a context manager of an initialised session; its exit stops the threads.

        Raises: on exit, the exception of a failed thread.
        """
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            try:
                yield session
            except Exception as error:  # noqa: BLE001 - `stop` raises it
                self.request_stop(error)
            finally:
                try:
                    self.stop(close_summary_writer=close_summary_writer)
                finally:
                    session.close()
        except BaseException:
            self._coord.request_stop()
            raise

    # -- services --------------------------------------------------------------------------

    def start_standard_services(self, sess: SessionLike) -> list[LooperThread]:
        """Starts the threads that save, write summaries and count steps; returns the threads.

        Raises: RuntimeError if this is not the chief; ValueError without a logdir.
        """
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services.")
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the Supervisor")
            return []
        if self._global_step is not None and self._writer is not None:
            log = SessionLog(status=SessionLog.START)
            self._writer.add_session_log(log, int(sess.run(self._global_step)))
        threads: list[LooperThread] = []
        if self._save_summaries_s and self._writer is not None:
            if self._summary_op is not None:
                threads.append(_Service(self, sess, self._save_summaries_s, _Service.summarise))
            if self._global_step is not None:
                threads.append(_Service(self, sess, self._save_summaries_s, _Service.count))
        if self._saver is not None and self._save_model_s:
            threads.append(_Service(self, sess, self._save_model_s, _Service.save))
        for thread in threads:
            thread.start()
        self._started_threads += threads
        return threads

    def start_queue_runners(self, sess: SessionLike, queue_runners: Any = None) -> list[Any]:
        """Starts the threads of queue runners, by default the graph's; returns the threads."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[Any] = []
        for runner in queue_runners:
            threads += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        self._started_threads += threads
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread that calls target every timer_interval_secs seconds."""
        looper = LooperThread(self._coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        self._started_threads.append(looper)
        return looper

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits for them. Raises: the exception of a failed thread."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._grace_s,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._writer.close()
            self._started_threads = []

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Requests the threads to stop. Args: ex: the exception that is the reason."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> Any:
        """Returns a context manager that converts an exception to a stop request."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> bool:
        """Waits for a stop request."""
        return self._coord.wait_for_stop()

    def summary_computed(
        self, sess: SessionLike, summary: Proto | bytes, global_step: object | None = None
    ) -> None:
        """Writes a summary. Raises: RuntimeError without a summary_writer."""
        if not self._writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = int(sess.run(self._global_step))
        self._writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _Service(LooperThread):
    """A thread that runs one of the standard services periodically."""

    def __init__(
        self, supervisor: Supervisor, session: Any, seconds: float, once: Callable[[Any], None]
    ) -> None:
        super().__init__(supervisor.coord, seconds)
        self._supervisor = supervisor
        self._session = session
        self._once = once
        self._last: tuple[float, int] | None = None

    def run_loop(self) -> None:
        """Runs the service once."""
        self._once(self)

    def summarise(self) -> None:
        """Writes the summaries."""
        summary = self._session.run(self._supervisor.summary_op)
        self._supervisor.summary_computed(self._session, summary)

    def count(self) -> None:
        """Logs the number of steps per second."""
        now, step = time.time(), int(self._session.run(self._supervisor.global_step))
        if self._last is not None and now > self._last[0]:
            rate = (step - self._last[1]) / (now - self._last[0])
            tag = f"{self._supervisor.global_step.op.name}/sec"
            value = Summary.Value(tag=tag, simple_value=rate)
            self._supervisor.summary_writer.add_summary(Summary(value=[value]), step)
            logging.info("%s: %g", tag, rate)
        self._last = (now, step)

    def save(self) -> None:
        """Writes a checkpoint."""
        self._supervisor.saver.save(
            self._session, self._supervisor.save_path, global_step=self._supervisor.global_step
        )


def _value_or_default(value: Any, make: Callable[[], Any]) -> Any:
    """Returns the user's value; creates the default for USE_DEFAULT."""
    if isinstance(value, int) and value == Supervisor.USE_DEFAULT:
        return make()
    return value


def _one(value: Any, key: str, make: Callable[[], Any]) -> Any:
    """Returns the user's value, or the first of a collection, or creates and adds one."""
    found = get_default_graph().get_collection_ref(key)
    result = _value_or_default(value, lambda: found[0] if found else make())
    if result is not None and not any(one is result for one in found):
        found.append(result)
    return result


def _default_saver() -> Saver | None:
    return Saver() if global_variables() else None


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Calls train_step_fn(session, *args, **kwargs) until a stop is requested."""
    args, kwargs = args or (), kwargs or {}
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *args, **kwargs)
