"""TensorHandle: a tensor that stays in the session, as `Session.run` returns it."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.ops.synchronisation.session_handles import (
    delete_session_tensor,
    get_session_tensor,
)

_MANY_DEAD = 10  # handles that are collected before their tensors are deleted


class TensorHandle:
    """The handle of a tensor that the session keeps; it is deleted with its last handle.

    A handle may be fed in place of the value.

    Args:
      handle: name of the tensor.
      dtype: dtype of the tensor.
      session: the session that keeps it.
    """

    def __init__(self, handle: bytes | str, dtype: Any, session: Any) -> None:
        self._handle = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype: DType = as_dtype(dtype)
        self._session = session
        self._auto_gc_enabled = True

    def __del__(self) -> None:
        if self._auto_gc_enabled:
            self._session._dead_handles.append(self._handle)

    def __str__(self) -> str:
        return self._handle

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.eval(), dtype)

    @property
    def handle(self) -> str:
        """The name of the tensor in its session."""
        return self._handle

    def eval(self) -> Any:
        """Returns the tensor's value. Raises: TypeError for a deleted tensor."""
        self._check_kept()
        holder, reader = _nodes_of(self._session, self._handle, self._dtype)
        return self._session.run(reader, {holder: self._handle})

    def delete(self) -> None:
        """Removes the tensor from its session. Raises: TypeError for a deleted tensor."""
        self._check_kept()
        self._auto_gc_enabled = False
        holder, deleter = _nodes_of(self._session, self._handle, None)
        self._session.run(deleter, {holder: self._handle})

    def get_raw_handle(self) -> str:
        """Returns the name; from now on the tensor is kept until it is deleted by name."""
        self._auto_gc_enabled = False
        return self._handle

    def _check_kept(self) -> None:
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")


def delete_dead(session: Any) -> None:
    """Deletes the tensors whose handles no longer exist, once there are some."""
    dead = session._dead_handles
    if len(dead) < _MANY_DEAD:
        return
    handles: list[str] = []
    while dead:
        try:
            handles.append(dead.pop())
        except IndexError:  # another thread took the last one
            break
    for handle in handles:
        if session.graph.finalized and not _has_nodes(session, handle, None):
            continue  # the tensor stays until the session is closed
        holder, deleter = _nodes_of(session, handle, None)
        session._run_any(deleter, deleter, {holder: handle}, None, None)


def handles_among(tensors: list[Tensor]) -> list[tuple[int, DType]]:
    """Returns the position, and the dtype of the kept tensor, of each tensor that is a handle."""
    return [
        (i, t.op.inputs[0].dtype) for i, t in enumerate(tensors) if t.op.type == "GetSessionHandle"
    ]


def _key(handle: str, dtype: Any) -> tuple[Any, str]:
    return dtype, handle.rpartition(";")[2]


def _has_nodes(session: Any, handle: str, dtype: Any) -> bool:
    return _key(handle, dtype) in session._handle_nodes


def _nodes_of(session: Any, handle: str, dtype: Any) -> tuple[Tensor, Tensor | Operation]:
    """Returns the nodes that read (for a dtype) or delete tensors of a handle's device."""
    key = _key(handle, dtype)
    nodes = session._handle_nodes.get(key)
    if nodes is None:
        with session.graph.as_default(), session.graph.name_scope("session_handles"):
            nodes = (
                delete_session_tensor(handle)
                if dtype is None
                else get_session_tensor(handle, dtype)
            )
        session._handle_nodes[key] = nodes
    return nodes
