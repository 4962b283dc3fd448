"""What a run was asked beside its values (RunOptions), and what it reports (RunMetadata)."""

from __future__ import annotations

from headrace.formats.proto import run_pb2

_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def timeout_s(options: bytes) -> float:
    """The run's timeout in seconds; 0: none."""
    return _parsed(options).timeout_in_ms / 1000.0


def wants_trace(options: bytes) -> bool:
    """Whether each kernel's times are asked for."""
    return _parsed(options).trace_level > run_pb2.RunOptions.NO_TRACE


def step_metadata(trace: list[tuple[str, str, int, int]] | None, device: str = _CPU) -> bytes:
    """A RunMetadata message.

    Args:
      trace: (node, op, start in ns, end in ns) of each kernel; None: nothing was traced.
      device: full name of the device that all of them ran on.
    """
    metadata = run_pb2.RunMetadata()
    if trace:
        stats = metadata.step_stats.dev_stats.add(device=device)
        for node, op, start_ns, end_ns in trace:
            stats.node_stats.add(
                node_name=node,
                timeline_label=f"{node} = {op}",
                all_start_micros=start_ns // 1000,
                op_start_rel_micros=0,
                op_end_rel_micros=(end_ns - start_ns) // 1000,
                all_end_rel_micros=(end_ns - start_ns) // 1000,
                all_start_nanos=start_ns,
                op_start_rel_nanos=0,
                op_end_rel_nanos=end_ns - start_ns,
                all_end_rel_nanos=end_ns - start_ns,
            )
    return metadata.SerializeToString()


def _parsed(options: bytes) -> run_pb2.RunOptions:
    return run_pb2.RunOptions.FromString(options)
