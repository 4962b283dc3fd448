"""hr.summary.FileWriter: writes event files during training."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType

from headrace.formats.event_file import EventFileWriter
from headrace.formats.file_systems import is_remote
from headrace.formats.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from headrace.formats.proto.summary_pb2 import Summary
from headrace.graph.framework.graph import Graph
from headrace.graph.typing.aliases import Proto, SessionLike


class FileWriter:
    """Appends summaries and graphs to an event file.

    Events are flushed when max_queue events are pending, flush_secs after the last flush, and by
    `flush` and `close`. The writer is thread-safe.

    By URL, each flush uploads the last file of events again, or a new one from 4 MiB on, since such
    stores cannot append. There max_queue does not cause flushes.

    Args:
      logdir: path or URL of the folder; created if necessary.
      graph: graph to write first.
      max_queue: maximum number of pending events.
      flush_secs: interval of flushes in seconds.
      graph_def: deprecated form of graph.
      filename_suffix: appended to the file name.
      session: a session of the program; the writer writes the same file with it and without.
    Raises: TypeError for a session of another type; an OpError for each failure of the file system.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Proto | None = None,
        filename_suffix: str | None = None,
        session: SessionLike | None = None,
    ) -> None:
        if session is not None and not hasattr(session, "run"):
            raise TypeError(f"session must be a Session, not {session!r}")
        self._logdir = os.fspath(logdir)
        self._is_remote = is_remote(self._logdir)
        self._max_queue = max_queue
        self._flush_s = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.RLock()
        self._seen_tags: set[str] = set()
        self._file: EventFileWriter | None = None
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            if graph is not None:
                from headrace.graph.serialization.meta_graph import create_meta_graph_def

                nodes = graph.as_graph_def(add_shapes=True)
                self.add_meta_graph(create_meta_graph_def(graph_def=nodes, graph=graph))

    def get_logdir(self) -> str:
        """Returns the folder of the file."""
        return self._logdir

    def add_summary(self, summary: Proto | bytes, global_step: int | None = None) -> None:
        """Writes a Summary message or a serialized one.

        The metadata of a tag is written only with its first value.
        """
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        else:
            copied = Summary()
            copied.CopyFrom(summary)
            summary = copied
        with self._lock:
            for value in summary.value:
                if not value.HasField("metadata"):
                    continue
                if value.tag in self._seen_tags:
                    value.ClearField("metadata")
                else:
                    self._seen_tags.add(value.tag)
            self._add(Event(summary=summary), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: int | None = None) -> None:
        """Writes a SessionLog: the start or end of a session, or a checkpoint."""
        self._add(Event(session_log=session_log), global_step)

    def add_graph(
        self, graph: Graph | None, global_step: int | None = None, graph_def: Proto | None = None
    ) -> None:
        """Writes a graph.

        Args:
          graph: Graph, written with shapes.
          graph_def: deprecated; a GraphDef.
        Raises: ValueError unless exactly one is given; TypeError for other types.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            graph_def = graph.as_graph_def(add_shapes=True)
        elif graph is not None:
            if not hasattr(graph, "node"):
                raise TypeError(f"The passed graph must be a Graph, or a GraphDef, not {graph!r}")
            graph_def = graph
        elif graph_def is None:
            raise ValueError("add_graph needs a graph")
        self._add(Event(graph_def=graph_def.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Proto, global_step: int | None = None) -> None:
        """Writes a MetaGraphDef."""
        if not hasattr(meta_graph_def, "graph_def"):
            raise TypeError(f"meta_graph_def must be a MetaGraphDef, not {type(meta_graph_def)}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(
        self, run_metadata: Proto, tag: str, global_step: int | None = None
    ) -> None:
        """Writes the RunMetadata of a traced step; each tag can be used once.

        Raises: ValueError if the tag was already used.
        """
        with self._lock:
            if tag in self._run_tags:
                raise ValueError(f"The provided tag was already used for this event type: {tag!r}")
            self._run_tags.add(tag)
            tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
            self._add(Event(tagged_run_metadata=tagged), global_step)

    _run_tags: set[str]

    def add_event(self, event: Event) -> None:
        """Writes an Event unchanged; warns and does nothing if the writer is closed."""
        with self._lock:
            if self._file is None:
                import warnings

                warnings.warn(
                    "FileWriter: the writer is closed and drops this event; call reopen() first",
                    stacklevel=2,
                )
                return
            self._file.write(event)
            self._waiting += 1
            late = time.monotonic() - self._flushed >= self._flush_s
            full = self._waiting >= self._max_queue and not self._is_remote
            if full or late:
                self.flush()

    def flush(self) -> None:
        """Makes all events so far visible to readers."""
        with self._lock:
            if self._file is not None:
                self._file.flush()
            self._waiting = 0
            self._flushed = time.monotonic()

    def close(self) -> None:
        """Flushes and closes the file; later calls do nothing."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def reopen(self) -> None:
        """Starts a new file in the folder if the writer is closed."""
        with self._lock:
            if self._file is None:
                self._file = EventFileWriter(self._logdir, self._suffix)
                self._run_tags = set()
                self._waiting = 0
                self._flushed = time.monotonic()

    def _add(self, event: Event, global_step: int | None) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class FileWriterCache:
    """Cache of FileWriters, one per folder."""

    _writers: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """Returns the writer of a folder, created at the first call with the default graph."""
        folder = os.fspath(logdir)
        with FileWriterCache._lock:
            if folder not in FileWriterCache._writers:
                FileWriterCache._writers[folder] = FileWriter(folder)
            return FileWriterCache._writers[folder]

    @staticmethod
    def clear() -> None:
        """Closes and removes all writers."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers = {}
