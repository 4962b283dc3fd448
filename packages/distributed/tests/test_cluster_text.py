"""Cluster specifications as text."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.distributed.cluster import addresses, cluster_text, tasks
from headrace.distributed.cluster.cluster_text import (
    cluster_from_jobs,
    cluster_from_text,
    cluster_to_text,
)
from headrace.distributed.cluster.tasks import Task, address_of, task_of_device, tasks_of
from headrace.formats.errors import InvalidArgumentError, NotFoundError

NAMES = st.from_regex(r"[a-z]\w{0,5}", fullmatch=True).filter(str.isascii)
PORTS = st.integers(0, 65535)


@pytest.mark.parametrize("module", [addresses, cluster_text, tasks])
def test_examples_of_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@given(st.dictionaries(NAMES, st.sets(st.integers(0, 40), min_size=1, max_size=4), min_size=1))
def test_what_is_written_is_read_again(jobs: dict[str, set[int]]) -> None:
    ports = iter(range(1, 10_000))
    cluster = cluster_from_jobs(
        {job: {i: f"host:{next(ports)}" for i in numbers} for job, numbers in jobs.items()}
    )
    assert cluster_from_text(cluster_to_text(cluster)) == cluster


def test_json_gives_the_same_as_text() -> None:
    expected = cluster_from_text("ps=a:1|b:2,worker=7@c:3")
    assert cluster_from_text('{"ps": ["a:1", "b:2"], "worker": {"7": "c:3"}}') == expected
    assert [str(task) for task in tasks_of(expected)] == [
        "/job:ps/replica:0/task:0",
        "/job:ps/replica:0/task:1",
        "/job:worker/replica:0/task:7",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no job"),
        ("ps", "no '='"),
        ("ps=a:1,ps=b:1", "occurs twice"),
        ("ps=", "not an address"),
        ("ps=a", "expected host:port"),
        ("ps=a:65536", "expected host:port"),
        ("ps=::1:2", "expected host:port"),
        ("ps=a:1|a:1", "/job:ps/task:0 and /job:ps/task:1 have one address"),
        ("p-s=a:1", "not the name of a job"),
        ("ps=x@a:1", "not the index of a task"),
        ("ps=1@a:1|b:2", "two tasks 1"),
        ('{"ps": {"x": "a:1"}}', "must be their indices"),
        ('{"ps": []}', "has no tasks"),
        ('{"ps": 3}', "expected a list"),
        ('{"ps": [3]}', "not an address"),
        ("{", "not JSON"),
    ],
)
def test_what_is_wrong_is_named(text: str, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        cluster_from_text(text)


def test_tasks_of_devices() -> None:
    assert task_of_device("/job:ps/task:3") == Task("ps", 3)
    for name in ("", "/job:ps", "/task:3", "/job:ps/replica:1/task:0", "/job:ps/task:x"):
        with pytest.raises(InvalidArgumentError, match="names no task"):
            task_of_device(name)
    cluster = cluster_from_text("ps=a:1")
    assert address_of(cluster, Task("ps", 0)) == "a:1"
    with pytest.raises(NotFoundError, match=r"no task ps:1 \(its tasks: ps:0\)"):
        address_of(cluster, Task("ps", 1))
