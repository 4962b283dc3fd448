"""BundleWriter: rejected arguments, atomic replacement, failures and kills."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from bundle_cases import write_bundle

from headrace.formats import bundle_files as files
from headrace.formats import errors
from headrace.formats.bundle_files import bundle_files
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter


def test_writer_rejects_invalid_names_and_slices(tmp_path):
    with BundleWriter(tmp_path / "p") as writer:
        writer.add("v", 1)
        with pytest.raises(errors.AlreadyExistsError, match="'v' was already added"):
            writer.add("v", 1)
        with pytest.raises(errors.InvalidArgumentError, match="needs a name"):
            writer.add("", 1)
        writer.add_slice("s", [2], [0], [1], [1.0])
        with pytest.raises(errors.AlreadyExistsError, match="slice .* was already added"):
            writer.add_slice("s", [2], [0], [1], [1.0])
        with pytest.raises(errors.InvalidArgumentError, match="disagree about its shape"):
            writer.add_slice("s", [3], [1], [1], [1.0])
        with pytest.raises(errors.InvalidArgumentError, match=r"'s' is \[1\], its value \[2\]"):
            writer.add_slice("s", [2], [1], [1], [1.0, 2.0])
    with pytest.raises(errors.NotFoundError, match="Key w not found in checkpoint"):
        BundleReader(tmp_path / "p").read("w")
    with pytest.raises(errors.NotFoundError, match="no checkpoint of this name"):
        BundleReader(tmp_path / "none")


def test_finish_replaces_an_older_bundle_and_its_files(tmp_path):
    for value in range(5):
        prefix = write_bundle(tmp_path / "p", {"v": value})
        with BundleReader(prefix) as reader:
            assert reader.read("v") == value
    assert set(map(os.path.basename, bundle_files(prefix))) == set(os.listdir(tmp_path))


def test_failed_write_leaves_the_older_bundle_and_no_temporary_files(tmp_path):
    prefix = write_bundle(tmp_path / "p", {"v": 1})
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(KeyError), BundleWriter(prefix) as writer:
        writer.add("v", 2)
        raise KeyError
    assert sorted(os.listdir(tmp_path)) == before
    with BundleReader(prefix) as reader:
        assert reader.read("v") == 1
    with pytest.raises(errors.InvalidArgumentError, match="the writer is finished"):
        writer.add("w", 2)


SAVER = """
import sys
import numpy as np
from headrace.formats.bundle_writer import BundleWriter
prefix = sys.argv[1]
print("ready", flush=True)
for step in range(100000):
    with BundleWriter(prefix) as writer:
        for i in range(20):
            writer.add(f"v{i}", np.full(5000, step))
    print("saved", flush=True)
"""


def test_killed_writer_leaves_a_complete_bundle(tmp_path):
    prefix = write_bundle(tmp_path / "p", {f"v{i}": np.full(5000, -1) for i in range(20)})
    rng = random.Random(4)
    seen = set()
    for attempt in range(12):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, prefix], stdout=subprocess.PIPE)
        assert saver.stdout.readline() == b"ready\n"
        if attempt % 2:
            assert saver.stdout.readline() == b"saved\n"
        time.sleep(rng.uniform(0, 0.08))
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        with BundleReader(prefix) as reader:
            values = {v for name in reader.names() for v in reader.read(name).tolist()}
            assert len(reader.names()) == 20 and len(values) == 1
            seen |= values
    assert seen != {-1}  # at least one save replaced the first bundle
    # The next writer removes old temporary files of killed writers.
    litter = [n for n in os.listdir(tmp_path) if ".tmp-" in n]
    for name in litter:
        os.utime(tmp_path / name, (1, 1))
    write_bundle(tmp_path / "q", {})
    assert not [n for n in os.listdir(tmp_path) if ".tmp-" in n]


def test_failed_rename_leaves_the_older_bundle(tmp_path, monkeypatch):
    """Each rename of the publication fails in turn."""
    real = os.replace
    for fail_at in range(4):
        prefix = write_bundle(tmp_path / str(fail_at) / "p", {"v": 1})
        calls = iter(range(100))

        def replace(source, target, calls=calls, fail_at=fail_at):
            if next(calls) == fail_at:
                raise OSError("disk gone")
            real(source, target)

        monkeypatch.setattr(files.os, "replace", replace)
        try:
            write_bundle(prefix, {"v": 2})
            value = 2
        except errors.OpError:
            value = 1
        monkeypatch.setattr(files.os, "replace", real)
        assert value == (2 if fail_at == 3 else 1)
        with BundleReader(prefix) as reader:
            assert reader.read("v") == value
