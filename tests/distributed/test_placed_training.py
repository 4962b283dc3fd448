"""Models over parameter servers: places of operations, what passes between tasks, and results.

The tasks are in this process (in_process_cluster.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from in_process_cluster import InProcessCluster

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PartitionPlan

N_PS = 3
ROWS, WIDTH, BATCH = 20, 4, 6


@pytest.fixture
def cluster(monkeypatch):
    made = InProcessCluster(monkeypatch, n_ps=N_PS, n_workers=1)
    yield made
    made.close()


def table(name: str, shape: list[int], seed: int) -> Any:
    """Returns a partitioned variable with known values."""
    values = np.random.RandomState(seed).randn(*shape).astype(np.float32)

    def initial(shape: list[int], dtype: Any = None, partition_info: Any = None) -> Any:
        first = partition_info.var_offset[0]
        return hr.constant(values[first : first + shape[0]])

    parts = hr.fixed_size_partitioner(N_PS)
    return hr.get_variable(name, shape, initializer=initial, partitioner=parts)


def lookup(strategy: str) -> Any:
    rows = table("table", [ROWS, WIDTH], 1)
    ids = hr.constant([0, 7, 19, 7, 13, 6], hr.int64)
    found = hr.nn.embedding_lookup(rows, ids, strategy)
    return hr.reduce_sum(found * np.arange(WIDTH, dtype=np.float32)), [rows]


def weighted_lookup() -> Any:
    rows = table("table", [ROWS, WIDTH], 1)
    ids = hr.SparseTensor([[0, 0], [0, 1], [1, 0]], hr.constant([5, 19, 5], hr.int64), [2, 2])
    found = hr.nn.embedding_lookup_sparse(rows, ids, None, "div", combiner="mean")
    return hr.reduce_sum(hr.square(found)), [rows]


def sampled_loss(function: Callable[..., Any]) -> Any:
    weights, biases = table("weights", [ROWS, WIDTH], 2), table("biases", [ROWS], 3)
    labels = hr.constant([[3], [0], [19], [3], [8], [12]], hr.int64)
    inputs = np.random.RandomState(4).randn(BATCH, WIDTH).astype(np.float32)
    samples = (
        hr.constant([1, 4, 9, 17], hr.int64),
        hr.fill([BATCH, 1], 0.3),
        hr.constant([0.5, 0.4, 0.3, 0.2]),
    )
    losses = function(
        weights, biases, labels, inputs, 4, ROWS, sampled_values=samples, partition_strategy="div"
    )
    return hr.reduce_mean(losses), [weights, biases]


MODELS = {
    "mod": lambda: lookup("mod"),
    "div": lambda: lookup("div"),
    "sparse": weighted_lookup,
    "sampled_softmax": lambda: sampled_loss(hr.nn.sampled_softmax_loss),
    "nce": lambda: sampled_loss(hr.nn.nce_loss),
}
OPTIMIZERS = {
    "descent": lambda: hr.train.GradientDescentOptimizer(0.1),
    "adagrad": lambda: hr.train.AdagradOptimizer(0.1),
    "adam": lambda: hr.train.AdamOptimizer(0.1),
}


class Model:
    """A model under replica_device_setter."""

    def __init__(self, name: str, optimizer: str = "descent", resource: bool = False) -> None:
        self.graph = hr.Graph()
        with self.graph.as_default(), hr.variable_scope("", use_resource=resource):
            setter = hr.train.replica_device_setter(
                ps_tasks=N_PS, worker_device="/job:worker/task:0"
            )
            with hr.device(setter):
                self.loss, self.tables = MODELS[name]()
                self.train = OPTIMIZERS[optimizer]().minimize(self.loss)
                self.parts = [part for whole in self.tables for part in whole]
            self.begin = hr.global_variables_initializer()

    def trained(self, target: str, steps: int = 4) -> tuple[list[float], list[Any]]:
        """Returns the losses of some steps, and the variables after them."""
        anywhere = hr.ConfigProto(allow_soft_placement=True)
        with hr.Session(target, graph=self.graph, config=anywhere) as session:
            session.run(self.begin)
            losses = [float(session.run([self.loss, self.train])[0]) for _ in range(steps)]
            return losses, session.run(self.parts)

    def plan(self) -> PartitionPlan:
        with hr.Session("tasks://worker/0", graph=self.graph) as session:
            session.extend()
            service: Any = session._service
            return PartitionPlan.FromString(
                service._planner.plan([], [], [self.train.name], service._devices)
            )


def nodes_of_task(plan: PartitionPlan) -> dict[str, dict[str, str]]:
    """Returns the types of the operations by name, by task ("ps:0")."""
    return {
        part.task.removeprefix("/job:").replace("/replica:0/task:", ":"): {
            node.name: node.op for node in GraphDef.FromString(part.graph_def).node
        }
        for part in plan.partition
    }


def test_the_partitions_of_a_table_are_on_the_servers_in_turn() -> None:
    for name in MODELS:
        for whole in Model(name).tables:
            assert [part.device for part in whole] == [f"/job:ps/task:{i}" for i in range(N_PS)]


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_rows_are_gathered_and_updated_where_their_partition_is(
    name, optimizer, resource, cluster
) -> None:
    model = Model(name, optimizer, resource)
    by_task = nodes_of_task(model.plan())
    placed = {name: task for task, nodes in by_task.items() for name in nodes}
    graph_nodes = {node.name: node for node in model.graph.as_graph_def().node}
    variables = {part.op.name: f"ps:{part.device[-1]}" for part in model.parts}
    for variable, task in variables.items():
        assert placed[variable] == task
    n_gathers = n_updates = 0
    for node, task in placed.items():
        inputs = graph_nodes[node].input if node in graph_nodes else ()
        kind = by_task[task][node]
        read = [i.removesuffix("/read") for i in inputs if i.removesuffix("/read") in variables]
        if not read:
            continue
        if kind in ("GatherV2", "ResourceGather"):
            assert task == variables[read[0]], node
            n_gathers += 1
        elif re.match("(Resource)?(Scatter|SparseApply|Apply)|Assign", kind):
            assert task == variables[read[0]], node
            n_updates += 1
    assert n_gathers == len(variables)
    assert n_updates >= len(variables)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_only_rows_and_their_ids_pass_between_tasks(name, optimizer, resource, cluster) -> None:
    model = Model(name, optimizer, resource)
    for edge in model.plan().edge:
        if edge.tensor.startswith("^"):
            continue  # a control edge
        tensor = model.graph.get_tensor_by_name(edge.tensor)
        shape = tensor.get_shape()
        # What has as many rows as the batch has ids, which is not known before, or is a scalar.
        assert shape.ndims == 0 or shape.as_list()[0] is None, (edge.tensor, shape)
        assert shape.ndims < 2 or shape.as_list()[1:] == [WIDTH], (edge.tensor, shape)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_training_over_servers_gives_what_one_session_gives(
    name, optimizer, resource, cluster
) -> None:
    expected_losses, expected = Model(name, optimizer, resource).trained("")
    losses, values = Model(name, optimizer, resource).trained("tasks://worker/0")
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_what_a_worker_does_to_a_variable_is_done_where_the_variable_is(resource, cluster) -> None:
    with hr.Graph().as_default() as graph, hr.variable_scope("", use_resource=resource):
        with hr.device("/job:ps/task:1"):
            v = hr.get_variable("v", [3], initializer=hr.zeros_initializer())
        with hr.device("/job:worker/task:0"):
            more = v.assign_add([1.0, 2.0, 3.0])
            row = hr.scatter_add(v, [0], [5.0])
            known = hr.is_variable_initialized(v)
        begin = hr.global_variables_initializer()
    with hr.Session("tasks://worker/0", graph=graph) as session:
        assert not session.run(known)
        session.run(begin)
        session.run(more)
        session.run(row)
        assert session.run(known)
    with hr.Session("tasks://observer/0", graph=graph) as session:
        assert session.run(v).tolist() == [6.0, 2.0, 3.0]
