"""What a run was asked beside its values (RunOptions)."""

from __future__ import annotations

from headrace.formats.proto import run_pb2


def timeout_s(options: bytes) -> float:
    """The run's timeout in seconds; 0: none."""
    return _parsed(options).timeout_in_ms / 1000.0


def wants_trace(options: bytes) -> bool:
    """Whether each kernel's times are asked for."""
    return _parsed(options).trace_level > run_pb2.RunOptions.NO_TRACE


def wants_partition_graphs(options: bytes) -> bool:
    """Whether the graphs that the devices run are asked for."""
    return _parsed(options).output_partition_graphs


def _parsed(options: bytes) -> run_pb2.RunOptions:
    return run_pb2.RunOptions.FromString(options)
