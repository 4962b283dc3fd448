"""What a cluster does when the network of a task fails: cables of network namespaces are pulled.

A task that is stopped (test_faults.py) still has a kernel that answers for it; one that is cut off
has none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from cluster_processes import Cluster
from hosts import Hosts, can_make_hosts
from test_faults import (
    DEAD_S,
    FAST,
    check_counted_once,
    largest_gap,
    measured,
    steps_of,
)

Make = Callable[..., Cluster]


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if not can_make_hosts():
        pytest.skip("needs root and iproute2")
    made = Hosts()
    yield made
    made.close()


def test_a_short_cut_changes_nothing(make_cluster: Make, hosts: Hosts) -> None:
    cluster = make_cluster(1, 1, hosts)  # 5 s until a task is dead
    cluster.start_ps(0)
    cluster.start_worker(0)
    cluster.until_step("worker:0", 20)
    hosts.pull("ps:0")
    time.sleep(1.5)
    hosts.plug("ps:0")
    last = steps_of(cluster, "worker:0")[-1]["step"]
    cluster.until_step("worker:0", last + 50)
    steps = [event["step"] for event in steps_of(cluster, "worker:0")]
    assert steps == list(range(steps[0], steps[0] + len(steps)))
    check_counted_once(steps_of(cluster, "worker:0"))


def test_a_parameter_server_that_is_cut_off_is_an_error_in_time(
    make_cluster: Make, hosts: Hosts
) -> None:
    cluster = make_cluster(1, 1, hosts, **FAST)
    cluster.start_ps(0)
    cluster.start_worker(0, script="plain_worker.py")
    cluster.until_step("worker:0", 5)
    pulled = time.time()
    hosts.pull("ps:0")
    error = cluster.until("worker:0", lambda event: "error" in event)
    measured("the error", error["time"] - pulled, DEAD_S + 1)
    assert error["error"] in ("UnavailableError", "AbortedError")
    before = error["count"]
    hosts.plug("ps:0")
    plugged = time.time()
    again = cluster.until("worker:0", lambda event: event.get("event") == "again")
    measured("the next session", again["time"] - plugged, 5.0)
    # The server kept its variables. (The count was fetched before the update of its own step.)
    assert before <= again["count"] <= before + 2


def test_training_goes_on_with_the_living_state_once_the_server_is_back(
    make_cluster: Make, hosts: Hosts
) -> None:
    cluster = make_cluster(2, 2, hosts, **FAST)
    for i in range(2):
        cluster.start_ps(i)
    for i in range(2):
        cluster.start_worker(i)
    cluster.until_step("worker:0", 50)
    cluster.until("worker:1", lambda event: event.get("done", 0) >= 10)
    hosts.pull("ps:1")
    time.sleep(2 * DEAD_S)
    before = max(steps_of(cluster, f"worker:{i}")[-1]["step"] for i in range(2))
    hosts.plug("ps:1")
    for i in range(2):
        cluster.until_step(f"worker:{i}", before + 100)
        assert cluster.starts[f"worker:{i}"] == 1
        steps = [event["step"] for event in steps_of(cluster, f"worker:{i}")]
        assert steps == sorted(steps), "nothing was rolled back"
    # Each worker may have ended a step of which one server counted and the other did not.
    last = steps_of(cluster, "worker:0")[-1]
    assert abs(last["count"] - last["step"]) <= 2 + 3


def test_others_train_while_a_worker_is_cut_off_and_it_comes_back(
    make_cluster: Make, hosts: Hosts
) -> None:
    cluster = make_cluster(1, 2, hosts, **FAST)
    cluster.start_ps(0)
    cluster.start_worker(0)
    cluster.start_worker(1)
    cluster.until_step("worker:0", 20)
    cluster.until("worker:1", lambda event: event.get("done", 0) >= 10)
    pulled = time.time()
    hosts.pull("worker:1")
    time.sleep(2 * DEAD_S)
    last = steps_of(cluster, "worker:0")[-1]["step"]
    measured("pause of the other worker", largest_gap(steps_of(cluster, "worker:0"), pulled), 0.5)
    done = len(steps_of(cluster, "worker:1"))
    hosts.plug("worker:1")
    cluster.until_step("worker:0", last + 50)
    cluster.until("worker:1", lambda event: event.get("done", 0) >= done + 20)
    assert cluster.starts["worker:1"] == 1
    check_counted_once(steps_of(cluster, "worker:0"))


def test_a_synchronous_quorum_shrinks_while_a_worker_is_cut_off(
    make_cluster: Make, hosts: Hosts
) -> None:
    cluster = make_cluster(1, 3, hosts, **FAST)
    cluster.start_ps(0)
    for i in range(3):
        cluster.start_worker(i, "--sync", "3")
    cluster.until_step("worker:0", 20)
    pulled = time.time()
    hosts.pull("worker:2")
    last = steps_of(cluster, "worker:0")[-1]["step"]
    cluster.until_step("worker:0", last + 50)
    gap = largest_gap(steps_of(cluster, "worker:0"), pulled)
    measured("pause of the others", gap, DEAD_S + 2)
    done = len(steps_of(cluster, "worker:2"))
    hosts.plug("worker:2")
    cluster.until("worker:2", lambda event: event.get("done", 0) >= done + 20)
    check_counted_once(steps_of(cluster, "worker:0"))
