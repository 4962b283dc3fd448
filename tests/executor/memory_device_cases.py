"""Programs over the CPU and two fake devices with memory of their own.

test_memory_devices.py runs these in a process of their own, because a process keeps the devices.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concurrently import concurrently
from fake_device import FakeDevice, fake_devices
from hypothesis import given, settings
from hypothesis import strategies as st
from program_backends import InAGraph
from programs_over_tasks import nested_loops
from random_device_graphs import RandomGraph
from random_programs import Program, programs, run
from worker_steps import TASKS, Tasks, scattered

import headrace.graph as hr
from headrace.formats import errors

TASK = "/job:localhost/replica:0/task:0"
PLACES = [f"{TASK}/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1")]
SOFT = hr.ConfigProto(allow_soft_placement=True)
ON_CPU = hr.ConfigProto(device_count={"GPU": 0}, allow_soft_placement=True)


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[FakeDevice]:
    folder: Path = tmp_path_factory.mktemp("fake_device")
    return fake_devices(folder)


@pytest.fixture(autouse=True)
def devices(both: list[FakeDevice]) -> Iterator[list[FakeDevice]]:
    """The devices, fast and without faults, which give all memory back after the test."""
    for device in both:
        _reset(device)
    yield both
    for device in both:
        _reset(device)
    gc.collect()
    wait_until_free(both)


def _reset(device: FakeDevice) -> None:
    device.set_latency_us(20)
    device.wait_for_flush(False)
    device.fail_allocation_after(-1)
    device.fail_launch_after(-1)
    device.fail_copy_after(-1)
    device.set_limit(device.record.memory_bytes)


def wait_until_free(devices: list[FakeDevice], seconds: float = 10.0) -> None:
    """Waits for callbacks that are about to release memory."""
    end = time.monotonic() + seconds
    while any(device.memory.live for device in devices):
        assert time.monotonic() < end, "\n".join(device.holders for device in devices)
        time.sleep(0.01)


def over_places(graph: hr.Graph, seed: int) -> hr.Graph:
    """A copy of the graph, each node on a random place."""
    placed = hr.Graph()
    with placed.as_default():
        hr.import_graph_def(scattered(graph, seed, PLACES), name="")
    return placed


def perceptron() -> tuple[hr.Tensor, hr.Tensor, hr.Operation]:
    x = hr.placeholder(hr.float32, [None, 8])
    w = hr.Variable(np.full([8, 4], 0.1, np.float32))
    v = hr.Variable(np.linspace(-1, 1, 4, dtype=np.float32)[:, None])
    loss = hr.reduce_mean(hr.square(hr.matmul(hr.tanh(hr.matmul(x, w)), v) - 0.5))
    return x, loss, hr.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


# ---- the same values as on the CPU -----------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 2**31), st.booleans())
def test_random_programs_over_the_cpu_and_both_devices(
    program: Program, seed: int, late: bool
) -> None:
    for device in fake_devices(Path()):
        device.set_latency_us(100 if late else 0, seed=seed if late else 0)
    rng = np.random.default_rng(program.seed)
    fed = [[rng.normal(size=shape) for shape in program.feeds] for _ in range(3)]
    with hr.Graph().as_default() as graph:
        inputs = [hr.placeholder(hr.float64, shape) for shape in program.feeds]
        backend = InAGraph(program.variables)
        values = run(program.statements, inputs, backend)
        everything = hr.group(*backend.last).name
        fetches = [values[i].name for i in program.fetches]
        reads = [variable.read_value().name for variable in backend.variables]
        init = hr.global_variables_initializer().name
        names = [t.name for t in inputs]
        with (
            hr.Session(graph=graph, config=ON_CPU) as cpu,
            hr.Session(graph=over_places(graph, seed), config=SOFT) as session,
        ):
            cpu.run(init)
            session.run(init)
            for arrays in fed:
                feeds = dict(zip(names, arrays, strict=True))
                expected = cpu.run([*fetches, everything], feeds)[:-1] + cpu.run(reads)
                got = session.run([*fetches, everything], feeds)[:-1] + session.run(reads)
                for one, other in zip(got, expected, strict=True):
                    assert np.shape(one) == np.shape(other)
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31))
def test_nested_loops_and_their_gradients_over_the_cpu_and_both_devices(seed: int) -> None:
    with hr.Graph().as_default() as graph:
        fetches = [t.name for some in nested_loops() for t in some]
        with (
            hr.Session(graph=graph, config=ON_CPU) as cpu,
            hr.Session(graph=over_places(graph, seed), config=SOFT) as session,
        ):
            for one, other in zip(session.run(fetches), cpu.run(fetches), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_training_gives_what_the_cpu_gives(devices: list[FakeDevice]) -> None:
    batches = np.random.default_rng(0).normal(size=[20, 16, 8])

    def losses(config: hr.ConfigProto) -> list[float]:
        with hr.Graph().as_default():
            x, loss, train = perceptron()
            with hr.Session(config=config) as session:
                session.run(hr.global_variables_initializer())
                return [session.run([loss, train], {x: batch})[0] for batch in batches]

    before = devices[0].counts.launches
    assert losses(SOFT) == pytest.approx(losses(ON_CPU), rel=1e-6)
    assert devices[0].counts.launches > before + 100


def test_a_recurrent_network_trains_as_on_the_cpu() -> None:
    batch = np.random.default_rng(0).normal(size=[3, 5, 4]).astype(np.float32)

    def losses(config: hr.ConfigProto) -> list[float]:
        with hr.Graph().as_default():
            x = hr.placeholder(hr.float32, [3, None, 4])
            cell = hr.nn.rnn_cell.BasicLSTMCell(6)
            outputs, _ = hr.nn.dynamic_rnn(
                cell, x, dtype=hr.float32, sequence_length=hr.constant([5, 2, 3])
            )
            loss = hr.reduce_mean(hr.square(outputs - 0.5))
            train = hr.train.GradientDescentOptimizer(0.5).minimize(loss)
            hr.set_random_seed(1)
            with hr.Session(config=config) as session:
                session.run(hr.global_variables_initializer())
                values = [
                    np.full(v.shape.as_list(), 0.1, np.float32) for v in hr.trainable_variables()
                ]
                for variable, value in zip(hr.trainable_variables(), values, strict=True):
                    variable.load(value, session)
                return [session.run([loss, train], {x: batch})[0] for _ in range(5)]

    assert losses(SOFT) == pytest.approx(losses(ON_CPU), rel=1e-5)


def test_strings_and_numbers_meet_beside_the_device() -> None:
    x = hr.placeholder(hr.float32, [3])
    words = hr.placeholder(hr.string, [None])
    lengths = hr.strings.length(hr.string_join([words, "!"]))
    y = hr.as_string(hr.cast(hr.tanh(x) * 0.0, hr.int32) + lengths)
    with hr.Session(config=SOFT) as session:
        got = session.run(y, {x: np.ones(3), words: ["a", "bb", "ccc"]})
    assert got.tolist() == [b"2", b"3", b"4"]


def test_a_feed_may_be_overwritten_after_the_run(devices: list[FakeDevice]) -> None:
    devices[0].set_latency_us(2000)
    x = hr.placeholder(hr.float32, [64, 64])
    total = hr.Variable(np.zeros([64, 64], np.float32))
    add = hr.assign_add(total, hr.tanh(x)).op
    fed = np.zeros([64, 64], np.float32)
    with hr.Session(config=SOFT) as session:
        session.run(total.initializer)
        for value in range(1, 4):
            fed[:] = value
            session.run(add, {x: fed})
            fed[:] = np.nan
        got = session.run(total)
    np.testing.assert_allclose(got, np.full([64, 64], sum(np.tanh([1, 2, 3]))), rtol=1e-5)


def test_dead_branches_go_through_copies() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float64, [3])
        p = hr.placeholder(hr.bool, [])

        def inner() -> hr.Tensor:
            return hr.cond(x[0] > 0.0, lambda: hr.tanh(x) * 2.0, lambda: hr.sin(x) - 1.0)

        y = hr.cond(p, inner, lambda: hr.exp(x)) + hr.reduce_sum(x)
        for seed in range(20):
            with (
                hr.Session(graph=graph, config=ON_CPU) as cpu,
                hr.Session(graph=over_places(graph, seed), config=SOFT) as session,
            ):
                for taken in (True, False):
                    for value in (1.0, -1.0):
                        feeds = {x.name: np.full(3, value), p.name: taken}
                        np.testing.assert_allclose(
                            session.run(y.name, feeds), cpu.run(y.name, feeds), rtol=1e-9
                        )


def test_a_loop_runs_as_far_as_a_value_of_the_device_says() -> None:
    x = hr.placeholder(hr.float32, [4])
    _, y = hr.while_loop(
        lambda i, y: hr.reduce_sum(y) < 100.0, lambda i, y: (i + 1, y * 1.5), [0, x]
    )
    with hr.Session(config=SOFT) as session, hr.Session(config=ON_CPU) as cpu:
        for value in (1.0, 7.0, 1000.0):
            np.testing.assert_allclose(
                session.run(y, {x: np.full(4, value)}), cpu.run(y, {x: np.full(4, value)})
            )


def test_sessions_that_share_a_variable_move_it_between_memories() -> None:
    """The state of a graph's session and a session of one place."""
    with hr.Graph().as_default():
        x, loss, train = perceptron()
        fed = {x: np.ones([4, 8])}
        with hr.Session(config=SOFT) as session:
            session.run(hr.global_variables_initializer())
            before = session.run(loss, fed)
            session.run(train, fed)
            assert session.run(loss, fed) < before


def test_random_graphs_over_tasks_with_devices_of_their_own(devices: list[FakeDevice]) -> None:
    """The tasks share the devices here; a traced step has the lanes of its devices."""
    places = [f"{task}/device:{name}" for task in TASKS for name in ("CPU:0", "GPU:0", "GPU:1")]
    traces: list[bytes] = []
    for seed in range(8):
        made = RandomGraph(seed)
        fetches, feeds = made.step()
        values = [name for name in fetches if ":" in name]
        targets = [name for name in fetches if ":" not in name]
        with hr.Session(graph=made.graph, config=ON_CPU) as cpu:
            cpu.run(made.init)
            expected = cpu.run([*values, *targets], feeds)[: len(values)] + cpu.run(made.reads)
        placed = made.placed(seed, places).as_graph_def()
        tasks = Tasks(placed, SOFT.SerializeToString(), places)
        try:
            tasks.run([], {}, [made.init])
            got = tasks.run(values, feeds, targets, traces) + tasks.run(made.reads, {})
        finally:
            tasks.close()
        for one, other in zip(got, expected, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    lanes = {
        device.device
        for trace in traces
        for device in hr.RunMetadata.FromString(trace).step_stats.dev_stats
    }
    assert any(lane.endswith("GPU:0/stream:all") for lane in lanes), lanes


# ---- devices of a session ---------------------------------------------------------------------


def names(config: hr.ConfigProto) -> list[str]:
    with hr.Session(config=config) as session:
        return [device.name.rpartition("device:")[2] for device in session.list_devices()]


def test_a_window_of_fed_bounds_is_planned_once_for_each_length() -> None:
    value = np.arange(120, dtype=np.float32).reshape(6, 5, 4)
    begin, length = hr.placeholder(hr.int32, []), hr.placeholder(hr.int32, [])
    with hr.device("/gpu:0"):
        window = hr.constant(value)[begin : begin + length]
        loss = hr.reduce_sum(window * 2.0, 0)
        slope = hr.gradients(loss, window)[0]
    with hr.Session(config=SOFT) as session:
        for k in range(4):
            for n in (1, 2):
                got, ones = session.run([loss, slope], {begin: k, length: n})
                np.testing.assert_array_equal(got, value[k : k + n].sum(0) * 2)
                np.testing.assert_array_equal(ones, np.full((n, 5, 4), 2, np.float32))
        plans = session.explain([loss, slope], [begin, length]).count("specialisation for")
        assert plans <= 6, session.explain([loss, slope], [begin, length])
        with pytest.raises(errors.InvalidArgumentError, match="Expected size"):
            session.run(hr.slice(hr.constant(value), [begin, 0, 0], [length, 1, 1]),
                        {begin: 5, length: 2})  # fmt: skip


def test_a_fetch_is_copied_beside_the_updates_that_follow_it(devices: list[FakeDevice]) -> None:
    """Copies to the host come late, and the variable is changed in place meanwhile."""
    for device in devices:
        device.set_latency_us(500, 7)
    with hr.device("/gpu:0"):
        variable = hr.get_variable("v", [1000], initializer=hr.zeros_initializer())
        seen = hr.identity(variable.read_value())
        with hr.control_dependencies([seen]):
            update = variable.assign_add(hr.ones([1000]))
    with hr.Session(config=SOFT) as session:
        session.run(variable.initializer)
        for step in range(30):
            before, _ = session.run([seen, update.op])
            assert (before == step).all(), (step, before)


def test_a_session_has_the_devices_that_its_options_give() -> None:
    options = hr.GPUOptions
    assert names(hr.ConfigProto()) == ["CPU:0", "GPU:0", "GPU:1"]
    assert names(ON_CPU) == ["CPU:0"]
    assert names(hr.ConfigProto(device_count={"GPU": 1})) == ["CPU:0", "GPU:0"]
    assert names(hr.ConfigProto(device_count={"GPU": 9})) == ["CPU:0", "GPU:0", "GPU:1"]
    one = hr.ConfigProto(gpu_options=options(visible_device_list="1"))
    assert names(one) == ["CPU:0", "GPU:0"]
    for wrong, says in [("2", "invalid GPU id '2'"), ("a", "Could not parse entry")]:
        config = hr.ConfigProto(gpu_options=options(visible_device_list=wrong))
        with pytest.raises(errors.InvalidArgumentError, match=says):
            hr.Session(config=config)


def test_a_visible_device_is_the_one_that_computes(devices: list[FakeDevice]) -> None:
    config = hr.ConfigProto(gpu_options=hr.GPUOptions(visible_device_list="1"))
    x = hr.placeholder(hr.float32, [8])
    before = [device.counts.launches for device in devices]
    with hr.Session(config=config) as session:
        session.run(hr.tanh(x), {x: np.ones(8)})
    launched = [d.counts.launches - b for d, b in zip(devices, before, strict=True)]
    assert launched == [0, 1]


def test_a_fraction_bounds_the_memory_of_a_device(devices: list[FakeDevice]) -> None:
    config = hr.ConfigProto(
        gpu_options=hr.GPUOptions(per_process_gpu_memory_fraction=1 / 2048), device_count={"GPU": 1}
    )
    x = hr.placeholder(hr.float32, [None])
    y = hr.reduce_sum(hr.tanh(x))
    with hr.Session(config=config) as session:
        assert session.run(y, {x: np.zeros(100)}) == 0.0
        with pytest.raises(errors.ResourceExhaustedError, match="held by"):
            session.run(y, {x: np.zeros(1 << 19)})
        assert session.run(y, {x: np.zeros(100)}) == 0.0
        (limit,) = [d.memory_limit for d in session.list_devices() if d.device_type == "GPU"]
    assert limit == devices[0].record.memory_bytes // 2048


def test_the_limit_of_plans_counts_arenas_of_devices(devices: list[FakeDevice]) -> None:
    config = hr.ConfigProto()
    config.experimental.plan_memory_limit_bytes = 1 << 20
    x = hr.placeholder(hr.float32, [None])
    y = hr.reduce_sum(hr.tanh(x))
    with hr.Session(config=config) as session:
        assert session.run(y, {x: np.zeros(100)}) == 0.0
        with pytest.raises(errors.ResourceExhaustedError, match="session's memory limit is"):
            session.run(y, {x: np.zeros(1 << 19)})
        for _ in range(50):  # each run gives its arena back
            assert session.run(y, {x: np.zeros(1 << 15)}) == 0.0


def test_without_soft_placement_a_device_takes_only_what_it_has_kernels_for() -> None:
    words = hr.placeholder(hr.string, [2])
    with hr.device("/gpu:0"):
        joined = hr.string_join([words, "!"])
    with hr.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="GPU"):
            session.run(joined, {words: ["a", "b"]})
    with hr.Session(config=SOFT) as session:
        assert session.run(joined, {words: ["a", "b"]}).tolist() == [b"a!", b"b!"]


# ---- faults -----------------------------------------------------------------------------------


def faults(
    devices: list[FakeDevice], fail: Any, expected: type[Exception], says: str, most: int
) -> int:
    """Trains with a fault of the first device in each of the first steps of its work.

    Args:
      fail: called with the device and n: lets what comes after the next n fail.
      most: how many n to try.

    Returns: in how many runs an error came; each session computes right afterwards.
    """
    failed = 0
    device = devices[0]
    with hr.Graph().as_default():
        x, loss, train = perceptron()
        init = hr.global_variables_initializer()
        fed = {x: np.ones([4, 8])}
        with hr.Session(config=ON_CPU) as session:
            session.run(init)
            right = [session.run([loss, train], fed)[0] for _ in range(3)]
        for n in range(most):
            with hr.Session(config=SOFT) as session:
                session.run(init)
                fail(device, n)
                try:
                    session.run([loss, train], fed)
                    session.run(loss, fed)
                except expected as error:
                    failed += 1
                    assert says in str(error), str(error)
                finally:
                    fail(device, -1)
                session.run(init)
                got = [session.run([loss, train], fed)[0] for _ in range(3)]
                assert got == pytest.approx(right, rel=1e-6)
    return failed


def test_an_allocation_that_fails_is_an_error_with_the_holders(devices: list[FakeDevice]) -> None:
    fail = FakeDevice.fail_allocation_after
    assert faults(devices, fail, errors.ResourceExhaustedError, "memory", 40) >= 10


def test_memory_is_held_in_the_name_of_a_node(devices: list[FakeDevice]) -> None:
    x = hr.placeholder(hr.float32, [None, 100])
    kept = hr.Variable(np.zeros((2, 100), np.float32), name="kept")
    product = hr.matmul(x, hr.constant(np.eye(100, dtype=np.float32)), name="product")
    changed = kept.assign(product)
    with hr.Session() as session:
        session.run(kept.initializer)
        session.run(changed.op, {x: np.ones((2, 100))})
        held = "\n".join(device.holders for device in devices)
    assert "a constant of product" in held
    assert "a result" not in held and "product" in held.replace("a constant of product", "")


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_a_launch_that_fails_is_an_error_of_its_step(devices: list[FakeDevice], late: bool) -> None:
    def fail(device: FakeDevice, n: int) -> None:
        device.fail_launch_after(n, late)

    assert faults(devices, fail, errors.InternalError, "a launch failed", 25) >= 10


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_a_copy_that_fails_is_an_error_of_its_step(devices: list[FakeDevice], late: bool) -> None:
    def fail(device: FakeDevice, n: int) -> None:
        device.fail_copy_after(n, late)

    assert faults(devices, fail, errors.InternalError, "copy", 12) >= 2


def test_an_error_behind_an_empty_fetch_is_of_its_step(devices: list[FakeDevice]) -> None:
    """Nothing is copied of what is empty: the step awaits the device all the same."""
    x = hr.placeholder(hr.float32, [None])
    y = hr.tanh(x) * 2.0
    with hr.Session(config=SOFT) as session:
        assert session.run(y, {x: np.zeros(0)}).size == 0
        devices[0].fail_launch_after(0, late=True)
        with pytest.raises(errors.InternalError, match="a launch failed"):
            session.run(y, {x: np.zeros(0)})
        assert session.run(y, {x: np.zeros(3)}).tolist() == [0.0, 0.0, 0.0]


def test_a_step_that_awaits_the_device_first_does_not_take_the_error_of_another(
    devices: list[FakeDevice],
) -> None:
    working, ended = threading.Event(), threading.Event()
    total = hr.Variable(np.zeros(4, np.float32))
    other = hr.Variable(np.zeros(4, np.float32))

    def wait(value: np.ndarray) -> np.ndarray:
        working.set()
        assert ended.wait(30.0)
        return value

    x = hr.placeholder(hr.float32, [4])
    # The function reads what is fed: a value of the device would report the error by itself.
    with hr.control_dependencies([hr.assign_add(total, hr.tanh(x))]):
        slow = hr.py_func(wait, [x], hr.float32).op
    fast = hr.assign_add(other, hr.tanh(x)).op
    failed: list[BaseException] = []
    with hr.Session(config=SOFT) as session:
        session.run([total.initializer, other.initializer])

        def run_slow() -> None:
            try:
                session.run(slow, {x: np.ones(4)})
            except errors.InternalError as error:
                failed.append(error)

        session.run(fast, {x: np.ones(4)})  # plans it
        devices[0].fail_launch_after(0, late=True)
        thread = threading.Thread(target=run_slow)
        thread.start()
        assert working.wait(10.0), failed
        time.sleep(0.1)  # its launch is enqueued
        with pytest.raises(errors.InternalError, match="a launch failed"):
            session.run(fast, {x: np.ones(4)})
        ended.set()
        thread.join()
        assert len(failed) == 1 and "a launch failed" in str(failed[0])
        session.run(fast, {x: np.ones(4)})


def test_variables_of_strings_stay_on_the_host() -> None:
    v = hr.get_variable("v", initializer=np.array([b"a", b"b"], object), use_resource=True)
    with hr.Session() as session:
        session.run(v.initializer)
        assert session.run(v[1:].assign([b"c"])).tolist() == [b"a", b"c"]


def test_an_error_of_the_device_ends_every_step_that_it_may_be_of(
    devices: list[FakeDevice],
) -> None:
    """One of two concurrent steps awaits the device first; the other's values may be wrong."""
    device = devices[0]
    x = hr.placeholder(hr.float32, [8])
    y = x
    for _ in range(10):
        y = hr.tanh(y * 1.1)
    right = np.ones(8)
    for _ in range(10):
        right = np.tanh(right * 1.1)
    wrong: list[Any] = []
    with hr.Session(config=SOFT) as session:
        session.run(y, {x: np.ones(8)})
        device.set_latency_us(200)

        def step(number: int) -> None:
            for _ in range(30):
                try:
                    got = session.run(y, {x: np.ones(8)})
                except errors.InternalError:
                    continue
                if not np.allclose(got, right, rtol=1e-5):
                    wrong.append(got)

        def fail(number: int) -> None:
            if number:
                step(number)
                return
            for _ in range(60):
                device.fail_launch_after(3, late=True)
                time.sleep(0.005)

        concurrently(fail, 4)
        device.fail_launch_after(-1)
        assert not wrong
        np.testing.assert_allclose(session.run(y, {x: np.ones(8)}), right, rtol=1e-5)


# ---- threads, ends and memory -----------------------------------------------------------------


def test_threads_train_shared_variables_at_random_latencies(devices: list[FakeDevice]) -> None:
    total = hr.Variable(np.zeros(16, np.float64))
    other = hr.get_variable("other", [16], hr.float64, use_resource=True)
    x = hr.placeholder(hr.float64, [16])
    adds = [hr.assign_add(total, hr.tanh(x) * 0 + x, use_locking=True).op, other.assign_add(x).op]
    for number, device in enumerate(devices):
        device.set_latency_us(50, seed=number + 1)
    with hr.Session(config=SOFT) as session:
        session.run([total.initializer, other.assign(np.zeros(16)).op])

        def add(number: int) -> None:
            for i in range(40):
                session.run(adds, {x: np.full(16, float(number))})
                if i % 8 == 0:
                    session.run([total, other])

        concurrently(add, 4)
        for value in session.run([total, other]):
            np.testing.assert_array_equal(value, np.full(16, 40.0 * (0 + 1 + 2 + 3)))


def test_a_step_ends_in_time_though_the_device_works(devices: list[FakeDevice]) -> None:
    """On a timeout, a cancellation and at the close of its session."""
    x = hr.placeholder(hr.float32, [4])
    _, y = hr.while_loop(
        lambda i, _: i < 1_000_000, lambda i, y: (i + 1, hr.tanh(y)), [0, x], back_prop=False
    )
    devices[0].set_latency_us(1000)
    session = hr.Session(config=SOFT)
    begun = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError):
        session.run(y, {x: np.ones(4)}, options=hr.RunOptions(timeout_in_ms=300))
    assert time.monotonic() - begun < 3.0
    ended: list[BaseException] = []

    def run_one() -> None:
        try:
            session.run(y, {x: np.ones(4)})
        except BaseException as error:  # noqa: BLE001 - what it is, is the test's question
            ended.append(error)

    thread = threading.Thread(target=run_one)
    thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    session.close()
    thread.join(10.0)
    assert not thread.is_alive()
    assert time.monotonic() - begun < 3.0
    assert [type(error) for error in ended] == [errors.CancelledError]


def test_steps_with_changing_shapes_do_not_grow(devices: list[FakeDevice]) -> None:
    with hr.Graph().as_default():
        x, loss, train = perceptron()
        sizes = np.random.default_rng(0).integers(1, 60, size=2000)
        peaks = []
        with hr.Session(config=SOFT) as session:
            session.run(hr.global_variables_initializer())
            for device in devices:
                device.set_latency_us(0)
            for i, n in enumerate(sizes):
                session.run([loss, train], {x: np.ones([n, 8])})
                if i % 500 == 499:
                    peaks.append(devices[0].memory.in_use)
        assert peaks[-1] <= 1.2 * peaks[0]


def test_memory_is_given_back_when_the_session_closes(devices: list[FakeDevice]) -> None:
    with hr.Graph().as_default():
        x, loss, train = perceptron()
        with hr.Session(config=SOFT) as session:
            session.run(hr.global_variables_initializer())
            session.run([loss, train], {x: np.ones([5, 8])})
            assert devices[0].memory.in_use > 0
    del x, loss, train
