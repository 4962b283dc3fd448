"""One RunMetadata of a step over several tasks: one clock, and the transfers (white paper §9.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata


@dataclass(frozen=True)
class _End:
    """One run of a _Send or a _Recv."""

    start_ns: int
    end_ns: int
    n_bytes: int


def merge_traces(
    metadata: bytes,
    partitions: Sequence[GraphDef],
    clock_offsets_ns: Mapping[str, int],
    with_graphs: bool = False,
) -> bytes:
    """Puts the traces of the tasks of one step on one clock, and adds the transfers.

    The k-th run of a Send belongs to the k-th run of its Recv; between them is a transfer, which is
    recorded as TensorFlow does: a node `RecvTensor` of the receiving device.

    Args:
      metadata: the serialized RunMetadata of the tasks, one after the other.
      partitions: the graphs that the tasks ran, by whose _Send and _Recv nodes transfers are found.
      clock_offsets_ns: by task, its wall clock minus the master's.
      with_graphs: whether the result has them as partition_graphs.
    Returns: a serialized RunMetadata.
    """
    merged = RunMetadata.FromString(metadata)
    for task, offset_ns in clock_offsets_ns.items():
        for stats in _node_stats(merged, task):
            _shift(stats, -offset_ns)
    _add_transfers(merged, partitions)
    if with_graphs:
        del merged.partition_graphs[:]
        merged.partition_graphs.extend(partitions)
    return merged.SerializeToString()


def _node_stats(metadata: RunMetadata, task: str) -> Iterator[Any]:
    for device in metadata.step_stats.dev_stats:
        if device.device.startswith(f"{task}/"):
            yield from device.node_stats


def _shift(stats: Any, by_ns: int) -> None:
    for name in ("all_start", "scheduled"):
        micros, nanos = f"{name}_micros", f"{name}_nanos"
        at = getattr(stats, nanos) or getattr(stats, micros) * 1000
        if at:
            setattr(stats, nanos, at + by_ns)
            setattr(stats, micros, (at + by_ns) // 1000)


def _add_transfers(merged: RunMetadata, partitions: Sequence[GraphDef]) -> None:
    ends: dict[tuple[str, str], list[_End]] = defaultdict(list)
    for device in merged.step_stats.dev_stats:
        for stats in device.node_stats:
            ends[device.device, stats.node_name].append(_end(stats))
    sends: dict[tuple[str, str, str], Any] = {}
    receives = []
    for graph in partitions:
        for node in graph.node:
            if node.op in ("_Send", "_Recv"):
                names = ("tensor_name", "send_device", "recv_device")
                key = tuple(node.attr[name].s.decode() for name in names)
                if node.op == "_Send":
                    sends[key] = node
                else:
                    receives.append((key, node))
    by_device: dict[str, list[Any]] = defaultdict(list)
    for key, node in receives:
        source = sends.get(key)
        if source is None:
            continue
        sent = sorted(ends[source.device, source.name], key=lambda end: end.start_ns)
        received = sorted(ends[node.device, node.name], key=lambda end: end.end_ns)
        for start, end in zip(sent, received, strict=False):
            took_ns = max(0, end.end_ns - start.start_ns)
            stats = {
                "node_name": "RecvTensor",
                "timeline_label": _label(key[0], source.device, node.device, end.n_bytes),
                "all_start_micros": start.start_ns // 1000,
                "all_start_nanos": start.start_ns,
                "scheduled_micros": start.start_ns // 1000,
                "scheduled_nanos": start.start_ns,
                "op_end_rel_micros": took_ns // 1000,
                "op_end_rel_nanos": took_ns,
                "all_end_rel_micros": took_ns // 1000,
                "all_end_rel_nanos": took_ns,
            }
            by_device[node.device].append(stats)
    for name, transfers in by_device.items():
        device = merged.step_stats.dev_stats.add(device=name)
        for transfer in transfers:
            device.node_stats.add(**transfer)


def _end(stats: Any) -> _End:
    start_ns = stats.all_start_nanos or stats.all_start_micros * 1000
    took_ns = stats.all_end_rel_nanos or stats.all_end_rel_micros * 1000
    n_bytes = sum(
        output.tensor_description.allocation_description.requested_bytes for output in stats.output
    )
    return _End(start_ns, start_ns + took_ns, n_bytes)


def _label(tensor: str, source: str, target: str, n_bytes: int) -> str:
    return f"[{n_bytes / 1e6:.1f}MB] {tensor} from {source} to {target}"
