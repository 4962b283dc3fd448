"""AsyncSaver and its hook: one step's values, written while training goes on."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import headrace.graph as hr
from headrace.formats import file_systems


class GateStore(MemoryFileSystem):
    """A store in memory under the scheme "gate": opening a file for writing waits for `gate`."""

    protocol = ("gate",)
    cachable = False
    gate = threading.Event()
    arrived = threading.Event()
    fails = False

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return MemoryFileSystem._strip_protocol(str(path).replace("gate://", "memory://"))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode == "wb":
            self.arrived.set()
            assert self.gate.wait(60)
            if type(self).fails:
                raise OSError(28, "No space left on device")
        return super()._open(path, mode, **options)


fsspec.register_implementation("gate", GateStore, clobber=True)


@pytest.fixture(autouse=True)
def graph() -> Iterator[hr.Graph]:
    with hr.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture
def folder() -> Iterator[str]:
    """A folder of the store, whose gate is open."""
    GateStore.gate.set()
    GateStore.arrived.clear()
    GateStore.fails = False
    yield f"gate://{uuid.uuid4().hex}"
    GateStore.gate.set()


class Program:
    """Variables of each kind, and the update that adds 1 to all of them."""

    def __init__(self) -> None:
        zeros = hr.zeros_initializer()
        self.variables = [
            hr.get_variable("reference", [1000], initializer=zeros, use_resource=False),
            hr.get_variable("resource", [1000], initializer=zeros, use_resource=True),
            *hr.get_variable(
                "parts", [7, 5], initializer=zeros, partitioner=hr.fixed_size_partitioner(3)
            ),
        ]
        self.step = hr.train.get_or_create_global_step()
        self.update = hr.group(
            *[v.assign_add(hr.ones_like(v)) for v in self.variables], self.step.assign_add(1)
        )


def values_in(prefix: str) -> list[float]:
    """The distinct values of a checkpoint."""
    reader = hr.train.load_checkpoint(prefix)
    names = reader.get_variable_to_shape_map()
    assert {"reference", "resource", "parts", "global_step"} <= set(names)
    return np.unique(np.concatenate([np.ravel(reader.get_tensor(n)) for n in names])).tolist()


@pytest.mark.parametrize("sharded", [False, True])
def test_a_checkpoint_has_the_values_of_the_step_of_save(folder: str, sharded: bool) -> None:
    program = Program()
    saver = hr.train.Saver(sharded=sharded)
    background = hr.train.AsyncSaver(saver)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for _ in range(5):
            session.run(program.update)
        GateStore.gate.clear()
        background.save(session, f"{folder}/model", global_step=program.step)
        assert GateStore.arrived.wait(60)
        for _ in range(20):
            session.run(program.update)
        assert background.is_writing
        assert not file_systems.exists(f"{folder}/model-5.index")
        GateStore.gate.set()
        assert background.wait() == f"{folder}/model-5"
        assert not background.is_writing
        assert values_in(f"{folder}/model-5") == [5.0]
        assert hr.train.latest_checkpoint(folder) == f"{folder}/model-5"
        assert file_systems.exists(f"{folder}/model-5.meta")
        background.save(session, f"{folder}/model", global_step=25)
        background.close()
        assert values_in(hr.train.latest_checkpoint(folder) or "") == [25.0]
        saver.restore(session, f"{folder}/model-5")
        assert session.run(program.step) == 5
    assert saver.last_checkpoints == [f"{folder}/model-5", f"{folder}/model-25"]


def test_kept_values_are_freed_when_the_checkpoint_is_complete(tmp_path: Path) -> None:
    program = Program()
    background = hr.train.AsyncSaver(hr.train.Saver(), name="kept")
    reads = [
        node for node in hr.get_default_graph().get_operations()
        if node.type == "ReadVariableOp" and node.name.startswith("kept/")
    ]  # fmt: skip
    assert len(reads) == 6
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(program.update)
        background.save(session, str(tmp_path / "model"))
        background.wait()
        for read in reads:
            with pytest.raises((hr.errors.FailedPreconditionError, hr.errors.NotFoundError)):
                session.run(read.outputs[0])


def test_one_checkpoint_is_written_at_a_time(folder: str) -> None:
    program = Program()
    background = hr.train.AsyncSaver(hr.train.Saver())
    begun = threading.Event()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        GateStore.gate.clear()
        background.save(session, f"{folder}/model", global_step=1)

        def second() -> None:
            background.save(session, f"{folder}/model", global_step=2)
            begun.set()

        thread = threading.Thread(target=second)
        thread.start()
        assert GateStore.arrived.wait(60)
        assert not begun.wait(0.2)
        GateStore.gate.set()
        thread.join(60)
        background.close()
        assert begun.is_set()
        session.run(program.update)
    assert values_in(f"{folder}/model-1") == values_in(f"{folder}/model-2") == [0.0]


def test_an_error_is_raised_by_the_next_call_once(folder: str) -> None:
    Program()
    background = hr.train.AsyncSaver(hr.train.Saver())
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        background.save(session, f"{folder}/model", global_step=1)
        background.wait()
        GateStore.fails = True
        background.save(session, f"{folder}/model", global_step=2)
        with pytest.raises(hr.errors.ResourceExhaustedError, match="No space left on device"):
            background.save(session, f"{folder}/model", global_step=3)
        background.save(session, f"{folder}/model", global_step=4)
        with pytest.raises(hr.errors.ResourceExhaustedError):
            background.close()
        background.close()
        background.save(session, f"{folder}/model", global_step=5)
        background.abandon()
        GateStore.fails = False
        assert hr.train.latest_checkpoint(folder) == f"{folder}/model-1"
        background.save(session, f"{folder}/model", global_step=6)
        assert background.wait() == f"{folder}/model-6"
        # Arguments are checked before anything is written.
        with pytest.raises(ValueError, match="collides"):
            background.save(session, f"{folder}/checkpoint")


def test_an_uninitialized_variable_is_an_error_of_save(tmp_path: Path) -> None:
    Program()
    background = hr.train.AsyncSaver(hr.train.Saver())
    with hr.Session() as session, pytest.raises(hr.errors.FailedPreconditionError):
        background.save(session, str(tmp_path / "model"))


def test_tables_are_saved_and_iterators_refused(tmp_path: Path) -> None:
    table = hr.contrib.lookup.MutableHashTable(hr.string, hr.int64, -1, checkpoint=True)
    insert = table.insert(hr.constant(["a", "b"]), hr.constant([1, 2], hr.int64))
    more = table.insert(hr.constant(["c"]), hr.constant([3], hr.int64))
    saver = hr.train.Saver()
    background = hr.train.AsyncSaver(saver)
    with hr.Session() as session:
        session.run(insert)
        background.save(session, str(tmp_path / "model"))
        session.run(more)
        path = background.wait()
    with hr.Session() as session:
        saver.restore(session, path)
        assert session.run(table.lookup(hr.constant(["a", "b", "c"]))).tolist() == [1, 2, -1]
    iterator = hr.data.Dataset.range(3).make_initializable_iterator()
    saveable = hr.data.experimental.make_saveable_from_iterator(iterator)
    with pytest.raises(ValueError, match="is a variant, which a variable cannot keep"):
        hr.train.AsyncSaver(hr.train.Saver([saveable]))


def test_savers_without_variables(tmp_path: Path) -> None:
    empty = hr.train.AsyncSaver(hr.train.Saver(allow_empty=True))
    with hr.Session() as session:
        empty.save(session, str(tmp_path / "model"))
        assert empty.wait() is None
    hr.get_variable("v", [])
    message = hr.train.Saver().as_saver_def()
    with pytest.raises(ValueError, match="has the nodes of a SaverDef"):
        hr.train.AsyncSaver(hr.train.Saver(saver_def=message))


# ---- the hook ----


class Listener(hr.train.CheckpointSaverListener):
    """Records its calls; `stop_at` stops training after that checkpoint."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.calls: list[tuple[str, int]] = []
        self._stop_at = stop_at

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append(("before", global_step_value))

    def after_save(self, session: Any, global_step_value: int) -> bool:
        self.calls.append(("after", global_step_value))
        return global_step_value == self._stop_at

    def end(self, session: Any, global_step_value: int) -> None:
        self.calls.append(("end", global_step_value))


def trained(folder: str, steps: int, listener: Listener, wait: bool = False, **options: Any) -> int:
    """Trains with the hook, and after each step waits for its checkpoint; returns the steps."""
    program = Program()
    hook = hr.train.CheckpointSaverHook(
        folder, save_steps=3, listeners=[listener], asynchronous=True, **options
    )
    done = 0
    with hr.train.MonitoredTrainingSession(
        hooks=[hr.train.StopAtStepHook(last_step=steps), hook],
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop():
            session.run(program.update)
            done += 1
            if wait:
                hook._background.wait()
    return done


@pytest.mark.parametrize("store", ["disk", "url"])
def test_the_hook_saves_at_intervals_and_at_the_end(
    folder: str, tmp_path: Path, store: str
) -> None:
    where = folder if store == "url" else str(tmp_path / "run")
    listener = Listener()
    assert trained(where, 8, listener, wait=True) == 8
    steps = [step for kind, step in listener.calls if kind == "before"]
    assert steps == [0, 3, 6, 8]
    assert [step for kind, step in listener.calls if kind == "after"] == steps
    assert listener.calls[-1] == ("end", 8) and ("after", 8) in listener.calls
    for step in steps:
        assert values_in(f"{where}/model.ckpt-{step}") == [float(step)]
    assert hr.gfile.Exists(f"{where}/graph.pbtxt")


def test_what_is_due_while_a_checkpoint_is_written_is_left_out(folder: str) -> None:
    class CloseGate(Listener):
        """Closes the gate after the first checkpoint, and opens it for the second one."""

        def after_save(self, session: Any, global_step_value: int) -> bool:
            GateStore.gate.clear()
            GateStore.arrived.clear()
            return super().after_save(session, global_step_value)

    class OpenGate(hr.train.SessionRunHook):
        def __init__(self) -> None:
            self.steps = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.steps += 1
            if self.steps == 11:
                assert GateStore.arrived.wait(60)
                GateStore.gate.set()

        def end(self, session: Any) -> None:
            GateStore.gate.set()

    listener = CloseGate()
    program = Program()
    hook = hr.train.CheckpointSaverHook(
        folder, save_steps=3, listeners=[listener], asynchronous=True, save_graph_def=False
    )
    with hr.train.MonitoredTrainingSession(
        hooks=[hr.train.StopAtStepHook(last_step=11), OpenGate(), hook],
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop():
            session.run(program.update)
        GateStore.gate.set()
        hook._background.wait()
        GateStore.gate.set()
    saved = [step for kind, step in listener.calls if kind == "after"]
    assert saved == [0, 3, 11]
    assert values_in(f"{folder}/model.ckpt-3") == [3.0]
    assert values_in(f"{folder}/model.ckpt-11") == [11.0]


def test_a_listener_of_the_hook_stops_training(tmp_path: Path) -> None:
    assert trained(str(tmp_path), 1000, Listener(stop_at=3), wait=True) < 1000


def test_an_error_of_a_background_checkpoint_ends_training(folder: str) -> None:
    class FailLater(Listener):
        def after_save(self, session: Any, global_step_value: int) -> bool:
            GateStore.fails = True
            return super().after_save(session, global_step_value)

    listener = FailLater()
    with pytest.raises(hr.errors.ResourceExhaustedError, match="No space left on device"):
        trained(folder, 30, listener, save_graph_def=False)
    assert [call for call in listener.calls if call[0] == "after"] == [("after", 0)]
    GateStore.fails = False
    assert hr.train.latest_checkpoint(folder) == f"{folder}/model.ckpt-0"


@pytest.mark.parametrize("given", ["saver", "scaffold", "scaffold with saver"])
def test_the_hook_uses_the_saver_of_the_program(tmp_path: Path, given: str) -> None:
    program = Program()
    saver = hr.train.Saver(max_to_keep=2) if given != "scaffold" else None
    scaffold = hr.train.Scaffold(saver=saver if given != "saver" else None)
    options = {"saver": saver} if given == "saver" else {"scaffold": scaffold}
    hook = hr.train.AsyncCheckpointSaverHook(str(tmp_path), save_steps=1, **options)
    with hr.train.MonitoredTrainingSession(
        scaffold=scaffold,
        hooks=[hr.train.StopAtStepHook(last_step=7), hook],
        save_checkpoint_secs=None,
        save_summaries_steps=None,
    ) as session:
        while not session.should_stop():
            session.run(program.update)
            hook._background.wait()
    kept = hr.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert len(kept) == (5 if given == "scaffold" else 2)
    assert values_in(kept[-1]) == [7.0]
    assert scaffold.saver is not None
