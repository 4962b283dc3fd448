"""Readers of a checkpoint see one complete version while two processes save under its name."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter

NAMES = [f"v{i}" for i in range(6)]

SAVE_IN_PYTHON = """
import sys, numpy as np
from headrace.formats.bundle_writer import BundleWriter
print("ready", flush=True)
for step in range(1_000_000):
    with BundleWriter(sys.argv[1], sync=False) as writer:
        for i in range(6):
            writer.add(f"v{i}", np.full(5000, step, np.float32))
"""

SAVE_BY_A_SESSION = """
import sys, numpy as np
import headrace.graph as hr
value = hr.placeholder(hr.float32, [5000])
names = [f"v{i}" for i in range(6)]
save = hr.raw_ops.SaveV2(prefix=sys.argv[1], tensor_names=names, shape_and_slices=[""] * 6,
                         tensors=[value] * 6)
with hr.Session() as session:
    print("ready", flush=True)
    for step in range(1_000_000):
        session.run(save, {value: np.full(5000, step, np.float32)})
"""


def _read_in_python(prefix: str) -> list[np.ndarray]:
    with BundleReader(prefix) as reader:
        return [reader.read(name) for name in NAMES]


def _restorer() -> Callable[[str], list[np.ndarray]]:
    with hr.Graph().as_default() as graph:
        prefix = hr.placeholder(hr.string, [])
        read = hr.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=NAMES, shape_and_slices=[""] * 6, dtypes=[hr.float32] * 6
        )
        session = hr.Session(graph=graph)
    return lambda path: session.run(list(read), {prefix: path})


@pytest.mark.parametrize(
    "savers", [(SAVE_IN_PYTHON, SAVE_IN_PYTHON), (SAVE_IN_PYTHON, SAVE_BY_A_SESSION)]
)
@pytest.mark.parametrize("reader", ["Python", "RestoreV2"])
def test_no_reader_sees_corruption_or_two_versions(
    tmp_path: Path, savers: tuple[str, str], reader: str
) -> None:
    prefix = str(tmp_path / "model")
    with BundleWriter(prefix) as writer:
        for name in NAMES:
            writer.add(name, np.full(5000, -1, np.float32))
    read = _read_in_python if reader == "Python" else _restorer()
    children = [
        subprocess.Popen([sys.executable, "-c", saver, prefix], stdout=subprocess.PIPE)
        for saver in savers
    ]
    ends: Counter[str] = Counter()
    seen = set()
    try:
        for child in children:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        now = time.monotonic()
        end, patience = now + 4, now + 120
        while now < end or (ends["whole"] < 100 or len(seen) <= 3) and now < patience:
            try:
                values = {v for array in read(prefix) for v in np.unique(array).tolist()}
                ends["whole" if len(values) == 1 else f"a mixture of {sorted(values)}"] += 1
                seen |= values
            except Exception as error:  # noqa: BLE001 - which it is, is the question
                ends[f"{type(error).__name__}: {error}"] += 1
                if sum(ends.values()) > 2000:
                    break
            now = time.monotonic()
    finally:
        for child in children:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
    assert set(ends) == {"whole"}, ends
    assert len(seen) > 3  # saves did happen


def test_the_error_for_a_replaced_checkpoint_of_many_shards_advises_reopening(
    tmp_path: Path,
) -> None:
    prefix = tmp_path / "model"

    def save(value: int) -> None:
        with BundleWriter(prefix, max_shard_bytes=1) as writer:
            for i in range(80):
                writer.add(f"v{i:02}", np.full(4, value))

    save(1)
    with BundleReader(prefix) as reader:
        assert reader.num_shards == 80 and reader.read("v00")[0] == 1
        save(2)
        with pytest.raises(hr.errors.AbortedError, match="open it again"):
            reader.read("v79")
    with BundleReader(prefix) as reader:
        assert reader.read("v79")[0] == 2
