"""A frozen graph as a callable for services: `headrace.runtime.load_graph`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from google.protobuf import text_format

from headrace.formats import errors
from headrace.formats.dtypes import DType, as_dtype
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunOptions

Names = Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a loaded graph.

    Args:
      name: its name in the graph, such as "x:0".
      dtype: of its arrays (`dtype.as_numpy_dtype`); strings are object arrays of bytes.
      shape: None for any rank; otherwise one entry per dimension, None for any size. The shape of
      an output is known if the GraphDef contains it (`as_graph_def(add_shapes=True)`).
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...] | None


class LoadedGraph:
    """A callable graph, made by `load_graph`. Safe to call from several threads at once.

    `inputs` and `outputs` are its signature: TensorSpec by name.
    """

    def __init__(self, session: Any, inputs: dict[str, str], outputs: dict[str, str]) -> None:
        self._session = session
        self.inputs: dict[str, TensorSpec] = _specs(session, inputs)
        self.outputs: dict[str, TensorSpec] = _specs(session, outputs)
        self._order = tuple(inputs)
        self._names = tuple(outputs)
        self._step = session.prepare(
            [spec.name for spec in self.inputs.values()],
            [spec.name for spec in self.outputs.values()],
            [],
        )

    def __call__(
        self, values: Mapping[str, Any] | None = None, timeout_s: float | None = None
    ) -> dict[str, np.ndarray]:
        """Runs the graph once.

        Args:
          values: input name -> array of its dtype and shape; read during the call only.
          timeout_s: seconds after which the run ends with DeadlineExceededError.
        Returns: output name -> array, which the caller owns; a scalar as a NumPy scalar.
        Raises: errors.InvalidArgumentError for an input that is missing, unknown, or of another
        shape or dtype; RuntimeError if the graph is closed; otherwise errors.OpError, with
        `.node_name` if one node caused it.
        """
        values = values or {}
        try:
            fed = [values[name] for name in self._order]
        except KeyError:
            raise self._wrong_names(values) from None
        if len(values) != len(fed):
            raise self._wrong_names(values)
        if timeout_s is None:
            return dict(zip(self._names, self._step(fed)))
        options = RunOptions(timeout_in_ms=max(1, round(timeout_s * 1000)))
        return dict(zip(self._names, self._step.run(fed, options.SerializeToString())[0]))

    def explain(self) -> str:
        """A text that describes how the graph runs: kernels, memory, threads."""
        return self._step.explain()

    def close(self) -> None:
        """Frees its memory; runs in progress end with CancelledError."""
        self._session.close()

    def __enter__(self) -> LoadedGraph:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _wrong_names(self, values: Mapping[str, Any]) -> errors.InvalidArgumentError:
        missing = [name for name in self._order if name not in values]
        unknown = [name for name in values if name not in self.inputs]
        parts = [f"input {name!r} is missing" for name in missing]
        parts += [f"there is no input {name!r}" for name in unknown]
        takes = ", ".join(map(repr, self._order)) or "none"
        return errors.InvalidArgumentError(
            None, None, f"{'; '.join(parts)}: the graph takes {takes}"
        )


def load_graph(
    source: str | os.PathLike[str] | bytes, inputs: Names, outputs: Names, config: Any = None
) -> LoadedGraph:
    """Loads a frozen graph, which can then run many times on any threads.

    Args:
      source: path of a GraphDef file (as text where it ends in ".pbtxt"), or the message's bytes.
      inputs: tensors to feed: their names in the graph ("x", "x:0"), or a mapping from names of
      your choice to these.
      outputs: tensors to fetch, in the same form.
      config: a ConfigProto message, or its bytes.
    Raises: NotFoundError for a missing file, tensor or kernel; DataLossError, with path and offset,
    for a file that is not a GraphDef; InvalidArgumentError for a graph that cannot run, such as one
    that needs a placeholder which is not among the inputs.
    """
    # Imported here because it takes time, and before the graph's threads run.
    from headrace.runtime.session.local_session import open_session

    path = None if isinstance(source, bytes) else os.fspath(source)
    wire = source if isinstance(source, bytes) else _graph_bytes(os.fspath(source))
    if config is not None and not isinstance(config, bytes):
        config = config.SerializeToString()
    session = open_session("", config or b"")
    try:
        _extend(session, wire, path)
        return LoadedGraph(session, _by_name(inputs, "inputs"), _by_name(outputs, "outputs"))
    except BaseException:
        session.close()
        raise


def _extend(session: Any, wire: bytes, path: str | None) -> None:
    try:
        session.extend(wire)
    except errors.OpError as error:
        if path is None:
            raise
        offset = error.offset
        kind: Any = type(error) if offset is None else errors.DataLossError
        raise kind(
            None, None, f"{path}: {error}", node_name=error.node_name, path=path, offset=offset or 0
        ) from None


def _graph_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise errors.NotFoundError(
            None, None, f"{path}; No such file or directory", path=path
        ) from None
    if not path.endswith(".pbtxt"):
        return data
    try:
        return text_format.Parse(data.decode(), GraphDef()).SerializeToString()
    except (UnicodeDecodeError, text_format.ParseError) as error:
        raise errors.DataLossError(
            None, None, f"{path}: at byte 0: no GraphDef: {error}", path=path, offset=0
        ) from None


def _by_name(names: Names, what: str) -> dict[str, str]:
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what} must be a list of names or a mapping, not one name: {names!r}")
    if isinstance(names, Mapping):
        return dict(names)
    found = {name: name for name in names}
    if len(found) != len(names):
        raise errors.InvalidArgumentError(None, None, f"{what} has a name twice: {list(names)}")
    return found


def _specs(session: Any, names: dict[str, str]) -> dict[str, TensorSpec]:
    found = {}
    for mine, name in names.items():
        full, dtype, shape = session.tensor_spec(name)
        found[mine] = TensorSpec(full, as_dtype(dtype), shape)
    return found
