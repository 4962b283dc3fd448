from __future__ import annotations

import headrace.graph as hr
from headrace.graph.client.cost_graph import CostModel, add_cost_graph


def _config(every, after=0):
    options = hr.GraphOptions(build_cost_model=every, build_cost_model_after=after)
    return hr.ConfigProto(graph_options=options)


def test_a_cost_graph_is_due_every_so_many_runs():
    assert not CostModel(None).is_due() and not CostModel(_config(0)).is_due()
    model = CostModel(_config(2, after=1))
    assert [model.is_due() for _ in range(6)] == [False, False, True, False, True, False]


def test_a_cost_graph_has_the_traced_nodes_and_their_edges(graph):
    x = hr.placeholder(hr.float32, [2], name="x")
    with hr.control_dependencies([hr.no_op(name="first")]):
        hr.add(x, x, name="sum")
    metadata = hr.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/cpu:0")
    device.node_stats.add(node_name="first")
    stats = device.node_stats.add(node_name="sum", op_start_rel_micros=2, op_end_rel_micros=9)
    described = stats.output.add().tensor_description
    described.allocation_description.requested_bytes = 8
    described.shape.dim.add(size=2)
    device.node_stats.add(node_name="sum")  # its second iteration
    add_cost_graph(graph, metadata)
    assert [node.name for node in metadata.cost_graph.node] == ["first", "sum", "x"]
    node = metadata.cost_graph.node[1]
    assert (node.id, node.device, node.compute_cost) == (1, "/cpu:0", 7)
    assert [info.preceding_node for info in node.input_info] == [2, 2]
    assert list(node.control_input) == [0]
    assert node.output_info[0].size == 8 and node.output_info[0].shape.dim[0].size == 2


def test_the_time_of_a_node_on_a_device_is_that_of_its_stream(graph):
    x = hr.placeholder(hr.float32, [2], name="x")
    hr.negative(x, name="y")
    metadata = hr.RunMetadata()
    thread = metadata.step_stats.dev_stats.add(device="/device:GPU:0")
    thread.node_stats.add(node_name="y", op_end_rel_micros=1)
    stream = metadata.step_stats.dev_stats.add(device="/device:GPU:0/stream:all")
    stream.node_stats.add(node_name="x:_CopyToDevice", op_end_rel_micros=3)
    stream.node_stats.add(node_name="y:Neg", op_end_rel_micros=70)
    stream.node_stats.add(node_name="y:Neg", op_end_rel_micros=20)  # of the same run of y
    stream.node_stats.add(node_name="y:_CopyToHost", op_end_rel_micros=5)
    add_cost_graph(graph, metadata)
    assert [node.name for node in metadata.cost_graph.node] == ["y", "x"]
    node = metadata.cost_graph.node[0]
    assert (node.device, node.compute_cost) == ("/device:GPU:0", 90)
