"""The options of one run (RunOptions)."""

from __future__ import annotations

from headrace.formats.proto import run_pb2
from headrace.runtime.state.session_options import warn_of_unsupported

_SUPPORTED = frozenset(
    "trace_level timeout_in_ms inter_op_thread_pool output_partition_graphs"
    # TensorFlow's option for sharing threads among runs; here all runs share the pools.
    " experimental.use_run_handler_pool experimental.run_handler_pool_options".split()
)


def timeout_s(options: bytes) -> float:
    """The run's timeout in seconds; 0: none."""
    return _parsed(options).timeout_in_ms / 1000.0


def inter_op_pool(options: bytes) -> int:
    """The number of the session's inter-op pool that the run uses; -1: the calling thread only."""
    return _parsed(options).inter_op_thread_pool


def wants_trace(options: bytes) -> bool:
    """Whether the run is traced."""
    return _parsed(options).trace_level > run_pb2.RunOptions.NO_TRACE


def wants_partition_graphs(options: bytes) -> bool:
    """Whether the metadata contains the graph of each device."""
    return _parsed(options).output_partition_graphs


def _parsed(options: bytes) -> run_pb2.RunOptions:
    parsed = run_pb2.RunOptions.FromString(options)
    warn_of_unsupported(parsed, _SUPPORTED, "RunOptions")
    return parsed
