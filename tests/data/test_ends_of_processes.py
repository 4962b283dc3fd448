"""Processes that end, by themselves or killed, while datasets read ahead or write a cache."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "executor"))
from child_process import HANGS_S, begin, output

READING = """
    pipe = hr.data.Dataset.range(1 << 40).map(lambda x: x * 2, num_parallel_calls=4).prefetch(4)
    following = pipe.make_one_shot_iterator().get_next()
    session = hr.Session()
    assert session.run(following) == 0
"""
CACHING = """
    pipe = hr.data.Dataset.range(2000).map(lambda x: x * 2).cache({name!r})
    following = pipe.make_one_shot_iterator().get_next()
    session = hr.Session()
"""


def test_a_process_ends_well_while_threads_read_ahead() -> None:
    for end in ("", "session.close()", "del session; sys.exit(0)"):
        assert output(f"{READING}    print('read')\n    {end}\n") == "read\n"


def test_a_process_that_is_killed_while_it_reads_ahead_leaves_no_other() -> None:
    child = begin(f"{READING}    started()\n    time.sleep(1000)\n")
    assert child.stdout is not None and child.stdout.readline() == "started\n"
    child.kill()
    child.communicate(timeout=HANGS_S)
    assert child.returncode == -signal.SIGKILL


def test_a_cache_that_a_killed_process_was_writing_is_written_anew(tmp_path: Path) -> None:
    caching = CACHING.format(name=str(tmp_path / "cache"))
    child = begin(
        f"{caching}    for _ in range(500): session.run(following)\n"
        "    started()\n    time.sleep(1000)\n"
    )
    assert child.stdout is not None and child.stdout.readline() == "started\n"
    child.kill()
    child.communicate(timeout=HANGS_S)
    for _ in range(2):  # the second process reads what the first has written
        printed = output(
            f"{caching}    found = []\n"
            "    try:\n        while True: found.append(session.run(following))\n"
            "    except hr.errors.OutOfRangeError: pass\n"
            "    assert found == list(range(0, 4000, 2))\n    print('whole')\n"
        )
        assert printed == "whole\n"
