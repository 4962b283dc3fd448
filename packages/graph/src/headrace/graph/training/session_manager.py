"""SessionManager: creates sessions, restores or initialises them, and checks readiness."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.formats.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    UnavailableError,
)
from headrace.graph.checkpoints.checkpoint_state import checkpoint_exists, get_checkpoint_state
from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.platform import logging
from headrace.graph.training.attempts import LOST_TASK, Attempts
from headrace.graph.training.living_state import adopts_living_state
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
      recovery_wait_secs: most seconds between checks whether the chief has initialised the model;
        the first ones follow each other sooner, and none is more than a second apart.
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

        Where the target is not "" and its variables are initialised, by a chief that has ended
        since, they are left as they are, unless the latest checkpoint of checkpoint_dir is of a
        later global step. `Session.reset` clears them.

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
        try:
            if not restored:
                self._initialise(session, init_op, init_feed_dict, init_fn)
            done, missing = self._try_local_init(session)
            if not done:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  Init op: "
                    f"{_name(init_op)}, init fn: {init_fn}, error: {missing}"
                )
            ready, missing = self._ready(session, self._ready_op, "Model")
            if not ready:
                raise RuntimeError(
                    f"Init operations did not make model ready.  Init op: {_name(init_op)}, init "
                    f"fn: {init_fn}, local_init_op: {_name(self._local_init_op)}, error: {missing}"
                )
        except BaseException:
            _close(session)
            raise
        return session

    def _initialise(self, session: Session, init_op: Any, feeds: Any, init_fn: Any) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            session.run(init_op, feed_dict=feeds)
        if init_fn:
            init_fn(session)

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
        try:
            done, missing = self._try_local_init(session)
            ready = done and self._ready(session, self._ready_op, "Model")[0]
        except BaseException:
            _close(session)
            raise
        if not ready:
            logging.info("Restoring model did not make it ready: %s", missing)
            return session, False
        logging.info("Restored model from %s", checkpoint_filename_with_path or checkpoint_dir)
        return session, True

    def wait_for_session(
        self, master: str, config: Proto | None = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """Waits until another task has initialised the model, and returns a session.

        Tasks that do not answer, or start again, are waited for as well.

        Raises: after max_wait_secs UnavailableError if a task does not answer, or
          DeadlineExceededError if variables are not initialised; it says what was waited for.
        """
        attempts = Attempts(min(1.0, self._wait_s), max_wait_secs)
        session: Session | None = None
        waited_for: str | None = None
        try:
            while True:
                lost = False
                try:
                    if session is None:
                        session = Session(master, graph=self._graph, config=config)
                    ready, missing = self._try_local_init(session)
                    if ready:
                        ready, missing = self._ready(session, self._ready_op, "Model")
                    if ready:
                        found, session = session, None
                        return found
                except LOST_TASK as error:
                    lost, missing = True, str(error)
                    if session is not None:
                        _close(session)
                        session = None
                if missing != waited_for:
                    waited_for = missing
                    logging.info("Waiting for model to be ready.  %s", missing)
                if not attempts.pause():
                    kind = UnavailableError if lost else DeadlineExceededError
                    raise kind(
                        None,
                        None,
                        f"Session was not ready after waiting {max_wait_secs} secs. {waited_for}",
                    )
        finally:
            if session is not None:
                _close(session)

    def _restored(
        self, master: str, saver: Any, folder: str | None, path: str | None, wait: bool,
        max_wait_s: float, config: Any,
    ) -> tuple[Session, bool]:  # fmt: skip
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        try:
            if saver is None or not (folder or path):
                return session, not path and self._adopts(master, session, None)
            if path:
                saver.restore(session, path)
                return session, True
            state = get_checkpoint_state(folder or "")
            attempts = Attempts(min(1.0, self._wait_s), max_wait_s)
            while wait and not (state and checkpoint_exists(state.model_checkpoint_path)):
                if not attempts.pause():
                    return session, False
                state = get_checkpoint_state(folder or "")
            if not state or not state.model_checkpoint_path:
                return session, self._adopts(master, session, None)
            latest = state.model_checkpoint_path
            exists = checkpoint_exists(latest)
            if not self._adopts(master, session, latest if exists else None):
                saver.restore(session, latest)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            return session, True
        except BaseException:
            _close(session)
            raise

    def _adopts(self, master: str, session: Session, checkpoint: str | None) -> bool:
        if not master:  # its variables are its own
            return False
        # Variables of the chief's own task are lost with it, and initialised again.
        ready_op = self._ready_for_local_init_op
        ready_op = self._ready_op if ready_op is None else ready_op
        return adopts_living_state(session, ready_op, checkpoint)

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


def _close(session: Session) -> None:
    """Closes a session that failed, or that is not needed."""
    try:
        session.close()
    except OpError as error:
        logging.info("Closing the session failed: %s", error)


def _name(operation: Any) -> str | None:
    return getattr(operation, "name", None) if operation is not None else None
