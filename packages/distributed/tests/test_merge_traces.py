"""Traces of several tasks become one, on one clock, with the transfers between them."""

from headrace.distributed.traces.merge_traces import merge_traces
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def _partition(task: str, op: str, name: str) -> GraphDef:
    graph = GraphDef()
    node = graph.node.add(name=name, op=op, device=f"{task}/device:CPU:0")
    for key, value in (
        ("tensor_name", b"edge_3_w:0"),
        ("send_device", PS.encode()),
        ("recv_device", WORKER.encode()),
    ):
        node.attr[key].s = value
    return graph


def _trace(task: str, name: str, *times: tuple[int, int]) -> bytes:
    metadata = RunMetadata()
    device = metadata.step_stats.dev_stats.add(device=f"{task}/device:CPU:0")
    for start, took in times:
        stats = device.node_stats.add(
            node_name=name, all_start_nanos=start, all_start_micros=start // 1000,
            all_end_rel_nanos=took, all_end_rel_micros=took // 1000,
        )  # fmt: skip
        output = stats.output.add().tensor_description
        output.allocation_description.requested_bytes = 4_000_000
    return metadata.SerializeToString()


def _merged(offset_ns: int, graphs: bool = False) -> RunMetadata:
    partitions = [_partition(PS, "_Send", "w/_send"), _partition(WORKER, "_Recv", "w/_recv")]
    sent = [(start + offset_ns, 1000) for start in (1_000_000, 3_000_000)]
    traces = _trace(PS, "w/_send", *sent) + _trace(
        WORKER, "w/_recv", (1_500_000, 2000), (3_400_000, 2000)
    )
    return RunMetadata.FromString(merge_traces(traces, partitions, {PS: offset_ns}, graphs))


def test_transfers_lie_between_send_and_receive_on_the_masters_clock() -> None:
    for offset_ns in (0, 5_000_000_000, -900_000):
        merged = _merged(offset_ns)
        found = [
            (stats.all_start_nanos, stats.all_end_rel_nanos, stats.timeline_label)
            for device in merged.step_stats.dev_stats
            for stats in device.node_stats
            if stats.node_name == "RecvTensor"
        ]
        label = f"[4.0MB] edge_3_w:0 from {PS}/device:CPU:0 to {WORKER}/device:CPU:0"
        assert found == [(1_000_000, 502_000, label), (3_000_000, 402_000, label)]
        starts = {
            stats.all_start_micros
            for device in merged.step_stats.dev_stats
            for stats in device.node_stats
        }
        assert starts == {1000, 1500, 3000, 3400}


def test_partition_graphs_are_added_on_request() -> None:
    assert not _merged(0).partition_graphs
    assert [g.node[0].op for g in _merged(0, True).partition_graphs] == ["_Send", "_Recv"]


def test_a_task_without_a_trace_does_no_harm() -> None:
    assert merge_traces(b"", [], {}) == b""
