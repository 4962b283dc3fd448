"""SessionManager: creates sessions, restores or initialises them, and checks readiness."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.formats.errors import DeadlineExceededError, FailedPreconditionError
from headrace.graph.checkpoints.checkpoint_state import checkpoint_exists, get_checkpoint_state
from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.platform import logging
from headrace.graph.typing.aliases import FeedDict, Proto

if TYPE_CHECKING:
    from headrace.graph.checkpoints.saver import Saver
    from headrace.graph.framework.operation import Operation, Tensor


class SessionManager:
    """Creates sessions with initialised variables.

    Args:
      local_init_op: runs in each new session, with local_init_feed_dict, when
        ready_for_local_init_op returns no names.
      ready_op: [n] string, names of uninitialised variables; None means always ready.
      ready_for_local_init_op: same, for the variables that local_init_op needs.
      graph: the graph; by default the default graph.
      recovery_wait_secs: seconds between checks whether the chief has initialised the model.
      local_init_run_options: RunOptions of local_init_op.
    Raises: ValueError for a ready_for_local_init_op without local_init_op.
    """

    def __init__(
        self,
        local_init_op: Tensor | Operation | None = None,
        ready_op: Tensor | Operation | None = None,
        ready_for_local_init_op: Tensor | Operation | None = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Proto | None = None,
        local_init_feed_dict: FeedDict | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op, "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._wait_s = recovery_wait_secs
        self._options = local_init_run_options
        self._local_init_feeds = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Tensor | Operation | None = None,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Proto | None = None,
        init_feed_dict: FeedDict | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Returns a session that is restored from a checkpoint, or initialised if there is none.

        Args:
          master: session target.
          checkpoint_dir: folder, of which the latest checkpoint is used; or
          checkpoint_filename_with_path: a checkpoint.
          wait_for_checkpoint: wait up to max_wait_secs for a checkpoint.
          init_op, init_feed_dict, init_fn: initialisation if nothing is restored.
        Raises: RuntimeError if nothing is restored and there is no initialisation, or the model is
          not ready afterwards; ValueError for both a folder and a checkpoint.
        """
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                session.close()
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(session)
        done, missing = self._try_local_init(session)
        if not done:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  Init op: "
                f"{_name(init_op)}, init fn: {init_fn}, error: {missing}"
            )
        ready, missing = self._ready(session, self._ready_op, "Model")
        if not ready:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_name(init_op)}, init fn: "
                f"{init_fn}, local_init_op: {_name(self._local_init_op)}, error: {missing}"
            )
        return session

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Proto | None = None,
    ) -> tuple[Session, bool]:
        """Returns (session, whether it is restored and ready); arguments as in prepare_session."""
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        if not restored:
            return session, False
        done, missing = self._try_local_init(session)
        ready = done and self._ready(session, self._ready_op, "Model")[0]
        if not ready:
            logging.info("Restoring model did not make it ready: %s", missing)
            return session, False
        logging.info("Restored model from %s", checkpoint_filename_with_path or checkpoint_dir)
        return session, True

    def wait_for_session(
        self, master: str, config: Proto | None = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """Waits until another task has initialised the model, and returns a session.

        Raises: DeadlineExceededError after max_wait_secs.
        """
        end = time.monotonic() + (float("inf") if max_wait_secs is None else max_wait_secs)
        while True:
            session = Session(master, graph=self._graph, config=config)
            done, missing = self._try_local_init(session)
            if done:
                ready, missing = self._ready(session, self._ready_op, "Model")
                if ready:
                    return session
            session.close()
            if time.monotonic() + self._wait_s > end:
                raise DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs."
                )
            logging.info("Waiting for model to be ready.  %s", missing)
            time.sleep(self._wait_s)

    def _restored(
        self, master: str, saver: Any, folder: str | None, path: str | None, wait: bool,
        max_wait_s: float, config: Any,
    ) -> tuple[Session, bool]:  # fmt: skip
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        if saver is None or not (folder or path):
            return session, False
        try:
            if path:
                saver.restore(session, path)
                return session, True
            end = time.monotonic() + max_wait_s
            state = get_checkpoint_state(folder or "")
            while wait and not (state and checkpoint_exists(state.model_checkpoint_path)):
                if time.monotonic() >= end:
                    return session, False
                time.sleep(min(self._wait_s, max(0.0, end - time.monotonic())))
                state = get_checkpoint_state(folder or "")
            if not state or not state.model_checkpoint_path:
                return session, False
            saver.restore(session, state.model_checkpoint_path)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return session, True
        except BaseException:
            session.close()
            raise

    def _try_local_init(self, session: Session) -> tuple[bool, str | None]:
        if self._local_init_op is None:
            return True, None
        ready, missing = self._ready(
            session, self._ready_for_local_init_op, "Model is not ready for local init"
        )
        if ready:
            session.run(self._local_init_op, self._local_init_feeds, self._options)
        return ready, missing

    def _ready(self, session: Session, ready_op: Any, what: str) -> tuple[bool, str | None]:
        """Returns (ready, message with the names that ready_op returns)."""
        if ready_op is None:
            return True, None
        try:
            names = np.asarray(session.run(ready_op)).reshape(-1)
        except FailedPreconditionError as error:
            if "uninitialized" not in str(error) and "not initialized" not in str(error):
                raise
            return False, f"{what}: {error}"
        if names.dtype == np.bool_:
            return bool(names.all()), None if names.all() else f"{what} is not ready"
        if names.size == 0:
            return True, None
        listed = ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in names)
        return False, f"Variables not initialized: {listed}"


def _name(operation: Any) -> str | None:
    return getattr(operation, "name", None) if operation is not None else None
