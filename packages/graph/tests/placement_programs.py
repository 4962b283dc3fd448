"""Programs whose operations are placed by replica_device_setter; `m` is Headrace or TensorFlow."""

from __future__ import annotations

from typing import Any

CLUSTER = {"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1", "e:1"]}


def setter(m: Any, **arguments: Any) -> Any:
    return m.train.replica_device_setter(
        cluster=m.train.ClusterSpec(CLUSTER), worker_device="/job:worker/task:1", **arguments
    )


def perceptron(m: Any, optimizer: Any, **arguments: Any) -> None:
    """Two layers, their gradients and updates, and a global step."""
    with m.device(setter(m, **arguments)):
        step = m.train.get_or_create_global_step()
        x = m.placeholder(m.float32, [4, 3], name="x")
        w = m.get_variable("w", [3, 5])
        b = m.get_variable("b", [5], initializer=m.zeros_initializer())
        h = m.nn.relu(m.matmul(x, w) + b, name="h")
        v = m.get_variable("v", [5, 2])
        loss = m.reduce_mean(m.square(m.matmul(h, v)), name="loss")
        optimizer(m).minimize(loss, global_step=step, name="train")


def descent(m: Any) -> None:
    perceptron(m, lambda m: m.train.GradientDescentOptimizer(0.1))


def adam(m: Any) -> None:
    perceptron(m, lambda m: m.train.AdamOptimizer())


def momentum_on_gpus(m: Any) -> None:
    perceptron(m, lambda m: m.train.MomentumOptimizer(0.1, 0.9), ps_device="/job:ps/cpu:0")


def without_merging(m: Any) -> None:
    perceptron(m, lambda m: m.train.GradientDescentOptimizer(0.1), merge_devices=False)


def resource_variables(m: Any) -> None:
    with m.variable_scope("", use_resource=True):
        perceptron(m, lambda m: m.train.MomentumOptimizer(0.1, 0.9))


def adam_of_resources(m: Any) -> None:
    with m.variable_scope("", use_resource=True):
        adam(m)


def synchronous(m: Any) -> None:
    perceptron(
        m,
        lambda m: m.train.SyncReplicasOptimizer(m.train.MomentumOptimizer(0.1, 0.9), 2, 3),
    )


def scopes(m: Any) -> None:
    """Devices, device functions and colocation inside and around of the setter."""
    with m.device("/replica:1/gpu:0"):
        with m.device(setter(m, ps_device="/job:ps")):
            v = m.Variable(1.0, name="v")
            with m.device("/cpu:1"):
                m.identity(v, name="inner")
                m.Variable(1.0, name="w")
            with m.device("/job:ps"):
                m.Variable(1.0, name="any_ps")
                m.no_op(name="no_op_on_ps")
            with m.device("/job:chief"):
                m.Variable(1.0, name="of_chief")
            with m.device(None):
                m.Variable(1.0, name="nowhere")
                with m.device("/task:3"):
                    m.identity(v, name="task_only")
            with m.colocate_with(v):
                m.constant(1.0, name="beside")
                with m.device("/cpu:5"):
                    m.constant(1.0, name="beside_in_a_device")
            with m.device(lambda op: "/job:moon" if op.type == "Const" else op.device):
                m.constant(1.0, name="on_the_moon")
                m.no_op(name="by_setter")
            with m.device(v.device):
                m.no_op(name="with_device_of_v")
        m.no_op(name="outside")


def partitioned(m: Any) -> None:
    """A partitioned embedding: lookups, gradients and updates of its rows."""
    with m.device(setter(m)):
        ids = m.placeholder(m.int64, [7], name="ids")
        table = m.get_variable("table", [10, 4], partitioner=m.fixed_size_partitioner(3))
        for strategy in ("mod", "div"):
            found = m.nn.embedding_lookup(table, ids, strategy, name=f"found_{strategy}")
        loss = m.reduce_sum(found, name="loss")
        m.train.AdagradOptimizer(0.1).minimize(loss, name="train")


def sampled(m: Any) -> None:
    """Sampled softmax over partitioned classes."""
    with m.device(setter(m)):
        labels = m.placeholder(m.int64, [6, 1], name="labels")
        inputs = m.placeholder(m.float32, [6, 4], name="inputs")
        parts = m.fixed_size_partitioner(3)
        weights = m.get_variable("weights", [20, 4], partitioner=parts)
        biases = m.get_variable("biases", [20], partitioner=parts)
        losses = m.nn.sampled_softmax_loss(
            weights, biases, labels, inputs, 5, 20, partition_strategy="div"
        )
        m.train.GradientDescentOptimizer(0.1).minimize(m.reduce_mean(losses), name="train")


def averages(m: Any) -> None:
    """Moving averages, metrics and updates of variables."""
    with m.device(setter(m)):
        v = m.get_variable("v", [3], initializer=m.zeros_initializer())
        w = m.get_variable("w", [3], initializer=m.zeros_initializer())
        m.metrics.mean(v, name="mean_of_v")
        update = v.assign_add([1.0, 2.0, 3.0])
        with m.control_dependencies([update]):
            average = m.train.ExponentialMovingAverage(0.9)
            average.apply([v, w])
        m.identity(average.average(v), name="average_of_v")
        m.scatter_add(w, [0], [1.0], name="scattered")


def control_flow(m: Any) -> None:
    """A branch and a loop that read a variable."""
    with m.device(setter(m)):
        v = m.get_variable("v", [], initializer=m.zeros_initializer())
        m.cond(v > 0.0, lambda: v + 1.0, lambda: v - 1.0, name="branch")
        m.while_loop(lambda i: i < 3.0, lambda i: i + v, [0.0], name="loop")


def saved(m: Any) -> None:
    """A sharded saver."""
    with m.device(setter(m)):
        m.get_variable("a", [3])
        m.get_variable("b", [3])
        m.get_variable("table", [10, 4], partitioner=m.fixed_size_partitioner(3))
    m.train.Saver(sharded=True)


PROGRAMS = [
    descent, adam, momentum_on_gpus, without_merging, resource_variables, adam_of_resources,
    synchronous, scopes, partitioned, sampled, averages, control_flow, saved,
]  # fmt: skip
