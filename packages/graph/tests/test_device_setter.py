"""hr.train.replica_device_setter and the strategies that choose parameter servers."""

from __future__ import annotations

import pytest

import headrace.graph as hr

CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}


def test_variables_go_to_the_parameter_servers_in_turn_and_the_rest_to_a_worker() -> None:
    with hr.device(hr.train.replica_device_setter(cluster=CLUSTER)):
        variables = [hr.Variable([1.0], name=f"v{i}") for i in range(3)]
        total = hr.add_n(variables)
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    for v in variables:
        assert v.value().device == v.device  # the snapshot
        assert v.initializer.device == v.device
        assert v.initializer.inputs[1].device == "/job:worker"
    assert total.device == "/job:worker"


def test_resource_variables_are_assigned_and_read_on_their_server() -> None:
    with hr.device(hr.train.replica_device_setter(ps_tasks=2)):
        variables = [hr.get_variable(f"v{i}", [3], use_resource=True) for i in range(2)]
        reads = [v.value() for v in variables]
    for v, read, task in zip(variables, reads, range(2), strict=True):
        assert v.handle.device == v.initializer.device == read.device == f"/job:ps/task:{task}"


def test_the_number_of_servers_counts_without_a_cluster() -> None:
    setter = hr.train.replica_device_setter(
        ps_tasks=1, ps_device="/job:sun", worker_device="/gpu:0"
    )
    with hr.device(setter):
        v = hr.Variable(1.0)
        w = hr.identity(2.0)
    assert v.device == "/job:sun/task:0" and w.device == "/device:GPU:0"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"cluster": {"worker": ["a:1"]}}, {"cluster": {"ps": []}}, {"cluster": {"ps": {}}}],
)
def test_without_parameter_servers_there_is_no_device_function(arguments) -> None:
    assert hr.train.replica_device_setter(**arguments) is None


def test_a_cluster_may_be_any_form_of_one() -> None:
    spec = hr.train.ClusterSpec({"ps": {1: "a:1", 5: "b:1"}})
    for cluster in (spec, spec.as_cluster_def(), spec.as_dict()):
        with hr.device(hr.train.replica_device_setter(cluster=cluster)):
            devices = [hr.Variable(1.0).device for _ in range(3)]
        assert devices == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]


def test_inner_devices_win_and_are_completed() -> None:
    setter = hr.train.replica_device_setter(
        cluster=CLUSTER, ps_device="/job:ps/cpu:0", worker_device="/job:worker/task:1/cpu:0"
    )
    with hr.device(setter):
        with hr.device("/gpu:3"):
            v, w = hr.Variable(1.0), hr.identity(1.0)
        with hr.device("/job:ps/task:1"):
            pinned = hr.Variable(1.0)
        with hr.device("/job:moon"):
            moon = hr.Variable(1.0)
        after = hr.Variable(1.0)
    assert v.device == "/job:ps/task:0/device:GPU:3"
    assert w.device == "/job:worker/task:1/device:GPU:3"
    assert pinned.device == "/job:ps/task:1/device:CPU:0"
    assert moon.device == "/job:moon/device:CPU:0"
    # `pinned` took a turn, `moon` of another job did not
    assert after.device == "/job:ps/task:0/device:CPU:0"


def test_devices_are_left_alone_without_merging() -> None:
    setter = hr.train.replica_device_setter(cluster=CLUSTER, merge_devices=False)
    with hr.device(setter):
        with hr.device("/gpu:0"):
            v = hr.Variable(1.0)
        w = hr.Variable(1.0)
    assert v.device == "/device:GPU:0" and w.device == "/job:ps/task:0"


def test_an_outer_device_fills_what_the_setter_leaves_open() -> None:
    with hr.device("/replica:2/cpu:1"):
        with hr.device(hr.train.replica_device_setter(cluster=CLUSTER)):
            v = hr.Variable(1.0)
    assert v.device == "/job:ps/replica:2/task:0/device:CPU:1"


def test_ops_of_parameter_servers_can_be_chosen() -> None:
    setter = hr.train.replica_device_setter(cluster=CLUSTER, ps_ops=["Const"])
    with hr.device(setter):
        v, c = hr.get_variable("v", [], initializer=hr.zeros_initializer()), hr.constant(1.0)
    assert v.device == "/job:worker" and c.device.startswith("/job:ps/task:")
    node = c.op.node_def
    node.device = ""
    assert setter(node).startswith("/job:ps/task:")  # a NodeDef will do, as in TensorFlow


def test_tables_and_accumulators_go_to_parameter_servers() -> None:
    with hr.device(hr.train.replica_device_setter(cluster=CLUSTER)):
        table = hr.contrib.lookup.MutableHashTable(hr.string, hr.int64, -1)
        accumulator = hr.ConditionalAccumulator(hr.float32)
        queue = hr.FIFOQueue(1, "float")
    assert table.resource_handle.device == "/job:ps/task:0"
    assert accumulator.accumulator_ref.device == "/job:ps/task:1"
    assert queue.queue_ref.device == "/job:worker"


def test_the_strategy_must_be_callable() -> None:
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        hr.train.replica_device_setter(ps_tasks=1, ps_strategy=1)


def test_the_greedy_strategy_takes_the_server_with_the_least_bytes() -> None:
    load = hr.contrib.training.byte_size_load_fn
    strategy = hr.contrib.training.GreedyLoadBalancingStrategy(2, load)
    with hr.device(hr.train.replica_device_setter(cluster=CLUSTER, ps_strategy=strategy)):
        sizes = [4, 3, 2, 1, 1]
        tasks = [
            hr.get_variable(f"v{i}", [n, 5], use_resource=i % 2 == 0).device[-1]
            for i, n in enumerate(sizes)
        ]
    assert tasks == ["0", "1", "1", "0", "0"]


def test_the_greedy_strategy_counts_what_its_function_returns() -> None:
    strategy = hr.contrib.training.GreedyLoadBalancingStrategy(3, lambda op: float(op))
    assert [strategy(load) for load in (5, 1, 2, 1, 1, 9)] == [0, 1, 2, 1, 1, 2]


def test_bytes_of_a_variable_of_either_kind() -> None:
    load = hr.contrib.training.byte_size_load_fn
    assert load(hr.Variable(hr.zeros([2, 3], hr.float64)).op) == 48
    assert load(hr.get_variable("v", [2, 3], hr.int16, use_resource=True).op) == 12
    assert load(hr.Variable(1.0).op) == 4
    with pytest.raises(ValueError, match="must have a single output"):
        load(hr.no_op())
    with pytest.raises(ValueError, match="is not fully defined"):
        load(hr.placeholder(hr.float32, [None]).op)


def test_the_random_strategy_depends_on_name_and_seed() -> None:
    names = [hr.no_op(name=f"n{i}") for i in range(200)]
    choose = hr.contrib.training.RandomStrategy(4)
    tasks = [choose(op) for op in names]
    again = hr.contrib.training.RandomStrategy(4, seed=0)
    other = hr.contrib.training.RandomStrategy(4, seed=1)
    assert tasks == [again(op) for op in names] != [other(op) for op in names]
    assert {tasks.count(task) > 20 for task in range(4)} == {True}
    assert tasks[:4] == [2, 3, 2, 0]  # as TensorFlow's: the MD5 of "n0_0" and so on
