"""A process that is killed while it reads ahead goes on from its last checkpoint."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import headrace.graph as hr

sys.path.insert(0, str(Path(__file__).parents[1] / "executor"))
import child_process  # noqa: E402

KILLS = 4

# `total` sums the squares of 0, 1, 2, ...; a checkpoint has it, the step and the iterator's state.
PROGRAM = """
dataset = hr.data.Dataset.range(1 << 40).map(lambda x: x * x, num_parallel_calls=3)
dataset = dataset.interleave(hr.data.Dataset.from_tensors, 2, 1, num_parallel_calls=2).prefetch(4)
iterator = hr.data.make_initializable_iterator(dataset)
element = iterator.get_next()
total = hr.get_variable("total", [], hr.int64, hr.zeros_initializer(), use_resource=True)
step = hr.train.get_or_create_global_step()
with hr.control_dependencies([total.assign_add(element)]):
    train = hr.assign_add(step, 1)
saver = hr.train.Saver([total, step, hr.data.experimental.make_saveable_from_iterator(iterator)])
"""
TRAINING = """
path = hr.train.latest_checkpoint(%r)
with hr.Session() as session:
    session.run([iterator.initializer, hr.global_variables_initializer()])
    if path:
        saver.restore(session, path)
    for number in range(1 << 40):
        saver.save(session, %r, global_step=session.run(train))
        if number == 2:
            started()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is for Unix")
def test_the_sequence_goes_on_where_the_checkpoint_was_written(tmp_path: Path) -> None:
    dice = random.Random(3)
    names: dict[str, Any] = {"hr": hr}
    exec(PROGRAM, names)  # noqa: S102 - the graph of the child
    before = 0
    for _ in range(KILLS):
        child = child_process.begin(PROGRAM + TRAINING % (str(tmp_path), f"{tmp_path}/model"))
        assert child.stdout is not None
        assert child.stdout.readline() == "started\n"
        time.sleep(dice.random() * 0.1)
        child.kill()
        child.communicate()
        path = hr.train.latest_checkpoint(str(tmp_path))
        assert path is not None
        with hr.Session() as session:
            session.run(names["iterator"].initializer)
            names["saver"].restore(session, path)
            steps, total = session.run([names["step"], names["total"]])
            assert steps >= before + 3, "an older checkpoint than was saved"
            assert total == sum(i * i for i in range(steps))
            assert session.run(names["element"]) == steps**2
        before = int(steps)
