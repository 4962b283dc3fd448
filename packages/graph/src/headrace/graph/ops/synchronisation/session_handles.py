"""Session handles: tensors that stay in the session between runs."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.device_spec import canonical
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, device
from headrace.graph.ops.arrays.placeholders import placeholder
from headrace.graph.typing.aliases import DTypeLike


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Keeps a tensor in the session, and returns its handle.

    A run that fetches the handle returns a `TensorHandle`, whose `handle` names the tensor in
    `get_session_tensor` and `delete_session_tensor`.

    Args:
      data: tensor to keep.
    Returns: [] string.
    Raises: TypeError if data is not a tensor.

    >>> import headrace.graph as hr
    >>> handle = hr.get_session_handle(hr.constant([1.0, 2.0]))
    >>> with hr.Session() as session:
    ...     kept = session.run(handle)
    ...     holder, value = hr.get_session_tensor(kept.handle, hr.float32)
    ...     print(session.run(value * 10.0, {holder: kept.handle}))
    [10. 20.]
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return op("GetSessionHandle", data, name=name)


def get_session_tensor(
    handle: str, dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns a tensor that the session keeps.

    Args:
      handle: handle of such a tensor; it tells the device only, a run may feed another one.
      dtype: dtype of the tensor.
    Returns: (placeholder for the handle, [] string; the tensor).
    """
    with device(device_of(handle)):
        holder = placeholder(as_dtype("string"))
        return holder, op("GetSessionTensor", holder, dtype=as_dtype(dtype), name=name)


def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """Creates an operation that removes a tensor from the session.

    Args:
      handle: as for `get_session_tensor`.
    Returns: (placeholder for the handle, [] string; the operation).
    """
    with device(device_of(handle)):
        holder = placeholder(as_dtype("string"))
        return holder, op("DeleteSessionTensor", holder, name=name)


def device_of(handle: Any) -> str:
    """Returns the device in a handle, NODE;NUMBER;DEVICE."""
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    return canonical(text.rpartition(";")[2])


no_gradient("GetSessionHandle", "its output is a handle")
no_gradient("GetSessionHandleV2", "its output is a handle")
no_gradient("GetSessionTensor", "values pass through a session between steps, not within one")
no_gradient("DeleteSessionTensor", "it has no output")
