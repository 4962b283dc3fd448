from __future__ import annotations

import time

import numpy as np

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph_codec import graph_wire
from headrace.graph.serialization.graph_import import import_graph_def


def a_bit_of_everything():
    x = hr.placeholder(hr.float32, [None, 3], name="x")
    w = hr.Variable(np.ones([3, 2], np.float32), name="w")
    with hr.device("/cpu:0"), hr.control_dependencies([w.initializer]):
        y = op("MatMul", x, w, name="y")
    op("TopKV2", y, 1, name="top")
    hr.constant(["a", b"\xff"], name="strings")
    hr.constant(np.array([1 + 2j]), name="complex")
    hr.constant(np.zeros([0, 2], np.int64), name="empty")
    hr.FIFOQueue(-1, [hr.float32, hr.string], shapes=[[2], []], name="queue")
    op("MaxPool", hr.placeholder(hr.float32), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
       padding="SAME", name="pool")  # fmt: skip
    hr.while_loop(lambda i: i < 3, lambda i: i + 1, [0])


def test_serialized_graph_equals_protobuf_output(graph):
    a_bit_of_everything()
    message = graph.as_graph_def()
    assert GraphDef.FromString(message.SerializeToString()) == message
    y = next(n for n in message.node if n.name == "y")
    assert list(y.input) == ["x", "w/read", "^w/Assign"]
    assert y.device == "/device:CPU:0"
    assert y.attr["T"].type == 1 and y.attr["transpose_a"].b is False
    queue = next(n for n in message.node if n.name == "queue")
    assert list(queue.attr["component_types"].list.type) == [1, 7]
    assert queue.attr["capacity"].i == -1
    assert [len(s.dim) for s in queue.attr["shapes"].list.shape] == [1, 0]
    assert message.versions.producer > 0


def test_imported_graph_is_exported_unchanged(graph):
    a_bit_of_everything()
    first = graph.as_graph_def()
    with hr.Graph().as_default() as copy:
        import_graph_def(first, name="")
    assert copy.as_graph_def().versions == first.versions
    assert list(copy.as_graph_def().node).__len__() == len(first.node)
    again = {n.name: n for n in copy.as_graph_def().node}
    for node in first.node:
        assert again[node.name] == node


def test_from_version_exports_only_new_nodes(graph):
    hr.constant(1.0, name="a")
    version = graph.version
    hr.constant(2.0, name="b")
    assert [n.name for n in graph.as_graph_def(from_version=version).node] == ["b"]


def test_add_shapes_exports_output_shapes(graph):
    hr.placeholder(hr.float32, [None, 3])
    node = graph.as_graph_def(add_shapes=True).node[0]
    assert [d.size for d in node.attr["_output_shapes"].list.shape[0].dim] == [-1, 3]


def test_building_and_writing_stay_fast_enough(graph):
    """Detects slowdowns of an order of magnitude; benchmarks/build_cost.py measures exactly."""
    x = hr.placeholder(hr.float32, [2])
    start = time.process_time()
    for _ in range(3000):
        x = op("Tanh", x) + x
    built = time.process_time() - start
    start = time.process_time()
    graph_wire(graph, 0)
    written = time.process_time() - start
    assert built / 6000 < 60e-6
    assert written / 6000 < 20e-6
