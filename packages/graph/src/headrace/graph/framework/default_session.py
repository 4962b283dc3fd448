"""The default session of each thread, for Tensor.eval and Operation.run."""

from __future__ import annotations

import threading
from typing import Any

from headrace.graph.typing.aliases import FeedDict, SessionLike


class _SessionStack(threading.local):
    """The default sessions of each thread, innermost last."""

    def __init__(self) -> None:
        self.sessions: list[Any] = []


session_stack = _SessionStack()


def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None."""
    return session_stack.sessions[-1] if session_stack.sessions else None


class AsDefault:
    """Context manager: pushes a session on the thread's stack of default sessions."""

    __slots__ = ("_session",)

    def __init__(self, session: SessionLike) -> None:
        self._session = session

    def __enter__(self) -> Any:
        session_stack.sessions.append(self._session)
        return self._session

    def __exit__(self, *_: object) -> None:
        if not session_stack.sessions or session_stack.sessions[-1] is not self._session:
            raise AssertionError(
                "Nesting violated for default stack of Session objects: leave as_default scopes "
                "in the reverse order of entering"
            )
        session_stack.sessions.pop()


def eval_using_default_session(
    tensors: Any, feed_dict: FeedDict | None, graph: Any, session: SessionLike | None = None
) -> Any:
    """Evaluates tensors in a session, by default the default session.

    Raises: ValueError if there is no default session, or the session has another graph.
    """
    return _session_for(graph, session, "evaluate tensor", "eval").run(tensors, feed_dict)


def run_using_default_session(
    operation: Any, feed_dict: FeedDict | None, graph: Any, session: SessionLike | None = None
) -> None:
    """Runs an operation in a session, by default the default session.

    Raises: as eval_using_default_session.
    """
    _session_for(graph, session, "execute operation", "run").run(operation, feed_dict)


def _session_for(graph: Any, session: Any, what: str, method: str) -> Any:
    found = get_default_session() if session is None else session
    if found is None:
        raise ValueError(
            f"Cannot {what} using `{method}()`: No default session is registered. Use "
            f"`with sess.as_default()` or pass an explicit session to `{method}(session=sess)`"
        )
    if found.graph is not graph:
        which = "default session" if session is None else "session"
        raise ValueError(
            f"Cannot use the {which} to {what}: its graph is different from the session's graph. "
            f"Pass an explicit session to `{method}(session=sess)`."
        )
    return found
