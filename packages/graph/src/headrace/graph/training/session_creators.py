"""Creators of the sessions of monitored sessions: for the chief, and for other workers."""

from __future__ import annotations

from typing import Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.training.scaffold import Scaffold
from headrace.graph.training.session_manager import SessionManager
from headrace.graph.typing.aliases import Proto


class SessionCreator:
    """Base class of factories for the session of a MonitoredSession."""

    # Seconds for which a MonitoredSession makes its session anew before an error ends it.
    _max_wait_s: float = 7200

    def create_session(self) -> Any:
        """Returns an initialised session."""
        raise NotImplementedError(f"{type(self).__name__}.create_session")


class ChiefSessionCreator(SessionCreator):
    """Creates a session, and restores the model from a checkpoint or initialises it.

    Args:
      scaffold: Scaffold; a default one if None.
      master: session target.
      config: ConfigProto.
      checkpoint_dir: folder of checkpoints; or checkpoint_filename_with_path: a checkpoint.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Proto | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._folder = checkpoint_dir
        self._path = checkpoint_filename_with_path
        self._manager: SessionManager | None = None

    def create_session(self) -> Any:
        """Returns a restored or initialised session. Raises: as SessionManager.prepare_session."""
        if self._manager is None:  # later sessions are of the same graph
            self._manager = _manager(self._scaffold.finalize())
        return self._manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._folder,
            checkpoint_filename_with_path=self._path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Creates a session, and waits until the chief has restored or initialised the model.

    Args: as in ChiefSessionCreator, and
      max_wait_secs: maximum waiting time in seconds.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Proto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._max_wait_s = max_wait_secs
        self._manager: SessionManager | None = None

    def create_session(self) -> Any:
        """Returns a session that the chief has initialised.

        Raises: DeadlineExceededError after max_wait_secs.
        """
        if self._manager is None:  # later sessions are of the same graph
            self._manager = _manager(self._scaffold.finalize())
        return self._manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_s
        )


def _manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=get_default_graph(),
    )
