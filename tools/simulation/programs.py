"""The graphs that the simulated clusters run, built and planned as a program for a cluster is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulation.partitions import Signature, bytes_of_tensors, signature_of

import headrace.graph as hr
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.services import RUNTIMES, find_service

MODEL_BYTES = 100_000_000  # of Inception-v3: 25 million parameters
N_LAYERS = 34
WIDTH, DRAWN = 256, 32  # elements of a row of an embedding, rows of a step


@dataclass(frozen=True)
class Program:
    """What a worker runs.

    Attributes:
      train: the operation of a training step.
      update: what the chief runs beside its steps, where gradients are averaged.
      begin: what the chief runs first.
      shares: of the time of a training step, by node.
    """

    graph: hr.Graph
    train: str
    update: str = ""
    begin: tuple[str, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)


def task(job: str, index: int) -> str:
    return f"/job:{job}/replica:0/task:{index}"


def plan(program: Program, targets: Sequence[str], tasks: Sequence[str]) -> list[Signature]:
    """Returns the signature of each target, as the runtime's planner cuts it.

    Args:
      tasks: the tasks of the session, with one device each; the first one is the default.
    """
    planner = find_service(RUNTIMES, "local")().open_planner(ConfigProto().SerializeToString())
    planner.extend(program.graph.as_graph_def().SerializeToString())
    devices = [f"{name}/device:CPU:0" for name in tasks]
    sizes = bytes_of_tensors(program.graph)
    return [
        signature_of(planner.plan([], [], [target], devices), sizes, program.shares)
        for target in targets
    ]


def null_steps(n_ps: int, n_workers: int) -> Program:
    """In-graph replication: one client runs all workers, each of which reads a scalar from each
    parameter server and sends an update back."""
    with hr.Graph().as_default() as graph:
        variables = []
        for i in range(n_ps):
            with hr.device(task("ps", i)):
                variables.append(hr.Variable(1.0))
        updates: list[list[Any]] = [[] for _ in variables]
        for i in range(n_workers):
            with hr.device(task("worker", i)):
                for variable, found in zip(variables, updates):
                    found.append(hr.minimum(variable, 1.0))
        done = []
        for i, (variable, found) in enumerate(zip(variables, updates)):
            with hr.device(task("ps", i)):
                done.append(hr.assign_add(variable, hr.add_n(found)))
        hr.group(*done, name="train")
    return Program(graph, "train")


def dense_model(n_elements: int) -> Callable[[int], Any]:
    """The null step with a model that is shared equally by the parameter servers (Figure 6)."""

    def build(n_ps: int) -> Any:
        share = [] if n_elements == n_ps else [n_elements // n_ps]
        zeros = hr.zeros_initializer()
        variables = [hr.get_variable(f"v{i}", share, initializer=zeros) for i in range(n_ps)]
        return [(hr.minimum(v, 1.0), v) for v in variables], {}

    return build


def sparse_model(n_bytes: int) -> Callable[[int], Any]:
    """The null step with rows of an embedding that the parameter servers share (Figure 6)."""

    def build(n_ps: int) -> Any:
        n_rows = n_bytes // (4 * WIDTH)
        zeros = hr.zeros_initializer()
        shards = [
            hr.get_variable(f"shard{i}", [n_rows // n_ps, WIDTH], initializer=zeros)
            for i in range(n_ps)
        ]
        ids = hr.random_uniform([DRAWN], 0, n_rows, hr.int32)
        rows = hr.nn.embedding_lookup(shards, ids, partition_strategy="mod")
        gradients = hr.gradients(hr.reduce_sum(rows), shards)
        return list(zip(gradients, shards)), {}

    return build


def layered_model(n_ps: int) -> Any:
    """A convolutional network in outline: each layer needs its weights, forwards and backwards.

    The weights grow with the depth, as in Inception-v3; a third of the time goes forwards.
    """
    unit = MODEL_BYTES // 4 // (N_LAYERS * (N_LAYERS + 1) // 2)
    zeros = hr.zeros_initializer()
    shares, weights, layer = {}, [], hr.zeros([])
    for i in range(N_LAYERS):
        weights.append(hr.get_variable(f"weights{i}", [unit * (i + 1)], initializer=zeros))
        layer = hr.add_n([layer, hr.gather(weights[i], 0)], name=f"forward{i}")
        shares[f"forward{i}"] = 1 / 3 / N_LAYERS
    pairs = []
    for i in reversed(range(N_LAYERS)):
        layer = hr.negative(layer, name=f"backward{i}")
        shares[f"backward{i}"] = 2 / 3 / N_LAYERS
        pairs.append((hr.minimum(weights[i], layer), weights[i]))
    return pairs, shares


def data_parallel(
    build: Callable[[int], Any], n_ps: int, worker: int, n_workers: int, n_averaged: int
) -> Program:
    """Between-graph replication: the graph of one of the workers.

    Args:
      build: adds a model, and returns its gradients with their variables, and shares.
      n_averaged: gradients in an average; 0: asynchronous.
    """
    placement = hr.train.replica_device_setter(n_ps, worker_device=task("worker", worker))
    with hr.Graph().as_default() as graph, hr.device(placement):
        step = hr.train.get_or_create_global_step()
        pairs, shares = build(n_ps)
        optimizer: Any = hr.train.GradientDescentOptimizer(0.1)
        if not n_averaged:
            return Program(graph, optimizer.apply_gradients(pairs, step).name, shares=shares)
        optimizer = hr.train.SyncReplicasOptimizer(optimizer, n_averaged, n_workers)
        train = optimizer.apply_gradients(pairs, global_step=step).op.name
        update = optimizer.get_chief_queue_runner().enqueue_ops[0].name
        return Program(graph, train, update, (optimizer.chief_init_op.name,), shares)
