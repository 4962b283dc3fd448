"""QueueRunner: threads that fill a queue until the input ends."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from headrace.formats.errors import (
    OpError,
    OutOfRangeError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from headrace.graph.framework.default_graph import add_to_collection, get_collection
from headrace.graph.framework.default_session import get_default_session
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.import_scope import prepend_name_scope, strip_name_scope
from headrace.graph.framework.operation import Operation
from headrace.graph.platform import logging
from headrace.graph.typing.aliases import Proto, SessionLike


class QueueRunner:
    """Runs enqueue operations of a queue, each repeatedly in its own thread.

    A thread ends when its operation raises one of queue_closed_exception_types, or its coordinator
    requests a stop. The last one closes the queue.

    Args:
      queue: queue to fill.
      enqueue_ops: operations; one that occurs twice runs in two threads.
      close_op: operation that closes the queue, and lets pending enqueues finish.
      cancel_op: operation that closes the queue, and cancels pending enqueues.
      queue_closed_exception_types: errors that end a thread without being reported; by default
        OutOfRangeError.
      queue_runner_def: QueueRunnerDef message to restore instead of the other arguments.
      import_scope: scope that the nodes of queue_runner_def were imported to.
    Raises: ValueError if queue or enqueue_ops are missing, or given beside queue_runner_def;
      TypeError for queue_closed_exception_types that are no tuple of errors.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Proto | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._restore(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            _check_types(queue_closed_exception_types)
            self._queue = queue
            self._enqueue_ops = enqueue_ops
            self._close_op = queue.close() if close_op is None else close_op
            if cancel_op is None:
                cancel_op = queue.close(cancel_pending_enqueues=True)
            self._cancel_op = cancel_op
            self._closed_types = queue_closed_exception_types or (OutOfRangeError,)
        self._lock = threading.Lock()
        # The number of threads per session that have not ended.
        self._running: Any = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _restore(self, message: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        self._closed_types = tuple(
            exception_type_from_error_code(code) for code in message.queue_closed_exception_types
        ) or (OutOfRangeError,)

    queue = property(lambda self: self._queue, doc="The queue.")
    enqueue_ops = property(lambda self: self._enqueue_ops, doc="The enqueue operations.")
    close_op = property(lambda self: self._close_op, doc="The operation that closes the queue.")
    cancel_op = property(
        lambda self: self._cancel_op,
        doc="The operation that closes the queue and cancels pending enqueues.",
    )
    queue_closed_exception_types = property(
        lambda self: self._closed_types, doc="The errors that end a thread silently."
    )
    exceptions_raised = property(
        lambda self: self._exceptions_raised,
        doc="Errors of threads without a coordinator.",
    )
    name = property(lambda self: self._queue.name, doc="The name of the queue.")

    # -- threads ---------------------------------------------------------------------------

    def create_threads(
        self,
        sess: SessionLike,
        coord: Any = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Creates the threads of a session.

        Args:
          sess: session that runs the operations.
          coord: Coordinator that receives errors and stops the threads.
          daemon: threads do not keep the process alive.
          start: start the threads.
        Returns: the threads; none if those of an earlier call have not ended.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, node, coord),
                name=f"QueueRunnerThread-{self.name}-{node.name}",
            )
            for node in self._enqueue_ops
        ]
        if coord:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        ended = False
        try:
            enqueue = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    enqueue()
                except self._closed_types:
                    ended = True
                    self._end_thread(sess)
                    return
        except Exception as error:  # noqa: BLE001 - the coordinator raises it
            if coord:
                coord.request_stop(error)
                return
            logging.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise
        finally:
            if not ended:
                with self._lock:
                    self._running[sess] -= 1

    def _end_thread(self, sess: Any) -> None:
        """Closes the queue if this is the last thread of the session."""
        with self._lock:
            self._running[sess] -= 1
            if self._running[sess] > 0:
                return
            try:
                sess.run(self._close_op)
            except Exception as error:  # noqa: BLE001 - it may be closed already
                logging.vlog(1, "Ignored exception: %s", error)

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Any) -> None:
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception as error:  # noqa: BLE001 - the session may be closed already
            logging.vlog(1, "Ignored exception: %s", error)

    # -- messages --------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the QueueRunnerDef; None if the queue is not in export_scope."""
        from headrace.formats.proto.queue_runner_pb2 import QueueRunnerDef

        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None

        def name(element: Any) -> str:
            return strip_name_scope(element.name, export_scope)

        codes: list[Any] = [error_code_from_exception_type(kind) for kind in self._closed_types]
        return QueueRunnerDef(
            queue_name=name(self.queue),
            enqueue_op_name=[name(node) for node in self.enqueue_ops],
            close_op_name=name(self.close_op),
            cancel_op_name=name(self.cancel_op),
            queue_closed_exception_types=codes,
        )

    @staticmethod
    def from_proto(queue_runner_def: Proto, import_scope: str | None = None) -> QueueRunner:
        """Returns the QueueRunner of a message, for nodes that are in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _check_types(types: Any) -> None:
    if types is None:
        return
    if (
        not isinstance(types, tuple)
        or not types
        or not all(isinstance(t, type) and issubclass(t, OpError) for t in types)
    ):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of hr.errors types, but "
            f"saw: {types}"
        )


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a queue runner to a collection of the graph."""
    add_to_collection(collection, qr)


def start_queue_runners(
    sess: SessionLike | None = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Creates, and by default starts, the threads of all queue runners in a collection.

    Args:
      sess: session; by default the default session. A MonitoredSession starts its threads itself,
        so that nothing is done for it.
      coord: Coordinator of the threads.
      daemon, start: as for QueueRunner.create_threads.
    Returns: the threads.
    Raises: ValueError without a session; TypeError for another object.
    """
    if sess is None:
        sess = get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "hr.train.start_queue_runners(sess=sess)"
            )
    if not hasattr(sess, "make_callable"):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `hr.Session` object. Given class: {type(sess)}")
    with sess.graph.as_default():
        runners = get_collection(collection)
        if not runners:
            logging.warning(
                "`hr.train.start_queue_runners()` was called when no queue runners were defined. "
                "You can safely remove the call to this deprecated function."
            )
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]
