from __future__ import annotations

import pytest

from headrace.board.trace.reading.device_name import in_reading_order, read_device
from headrace.board.trace.reading.timeline_label import (
    TimelineLabel,
    node_of,
    producer_of,
    read_label,
)

W0, PS = "/job:worker/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:0/device:CPU:0"

# As TensorFlow 2.21 and Headrace wrote them.
LABELS = [
    ("a/mm", "a/mm = MatMul(x:1, ^b/c)", TimelineLabel("MatMul", ("x", "b/c"))),
    (
        "layer2/mm",
        "[cpu 0.2MB 0.2MB] layer2/mm = MatMul(layer1/Relu/_5, layer2/mm/ReadVariableOp)",
        TimelineLabel("MatMul", ("layer1/Relu/_5", "layer2/mm/ReadVariableOp")),
    ),
    ("Const", "Const = Const()", TimelineLabel("Const")),
    ("conv1/Conv2D", "conv1/Conv2D = Conv2D", TimelineLabel("Conv2D")),
    (
        "conv1/Relu",
        "conv1/add = AddV2; conv1/Relu = Relu",
        TimelineLabel("AddV2+Relu", fused=("conv1/add", "conv1/Relu")),
    ),
    (
        "RecvTensor",
        f"[0.2MB] [4.5Gb/s] edge_27_layer2/w from {PS} to {W0}",
        TimelineLabel("RecvTensor", tensor="edge_27_layer2/w", source=PS, target=W0),
    ),
    ("r", f"r = _Recv(edge_1_a @{PS})", TimelineLabel("_Recv", tensor="edge_1_a", source=PS)),
    ("s", f"s = _Send(edge_1_a @{W0})", TimelineLabel("_Send", tensor="edge_1_a", target=W0)),
    ("x", "", TimelineLabel()),
    ("x", "RpcWait", TimelineLabel("RpcWait")),
    ("x", "anything at all; it is = not (a label", TimelineLabel()),
]


@pytest.mark.parametrize(("name", "label", "meant"), LABELS)
def test_labels_say_what_ran_on_what(name: str, label: str, meant: TimelineLabel) -> None:
    assert read_label(name, label, on_stream=False) == meant


def test_on_a_stream_the_name_ends_in_the_op() -> None:
    assert read_label("layer/mm:MatMul", "sgemm_128", on_stream=True).op == "MatMul"
    assert read_label("Memcpy", "MEMCPYHtoD 12 bytes", on_stream=True).op == "MEMCPYHtoD"


def test_names_of_nodes_lose_ports_and_marks() -> None:
    assert [node_of(t) for t in ("a:0", "^a", "a/b", "a:x")] == ["a", "a", "a/b", "a:x"]
    assert [producer_of(t) for t in ("edge_12_a/b", "a/b")] == ["a/b", "a/b"]


def test_devices_come_apart() -> None:
    gpu = read_device("/job:worker/replica:0/task:1/device:GPU:0/stream:all")
    assert (gpu.task, gpu.device, gpu.stream) == (
        "/job:worker/replica:0/task:1",
        "GPU:0",
        "stream:all",
    )
    assert gpu.title_of_task == "worker 1"
    assert read_device("/cpu:0").device == "CPU:0"
    assert read_device("/device:GPU:0/memcpy").is_stream
    assert read_device("").device == ""
    assert read_device("anything").title_of_task == "this process"


def test_numbers_sort_by_value() -> None:
    names = ["/job:w/task:10", "/job:w/task:2", "/job:ps/task:0"]
    assert sorted(names, key=in_reading_order) == [names[2], names[1], names[0]]
