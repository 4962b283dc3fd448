"""hr.train.ClusterSpec: forms of clusters, queries, and TensorFlow's errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr

DENSE = {"ps": ["ps0:2222", "ps1:2222"], "worker": ["worker0:2222"]}
SPARSE = {"ps": ["ps0:2222"], "worker": {7: "worker7:2222", 1: "worker1:2222"}}


@pytest.mark.parametrize("cluster", [DENSE, SPARSE, {}, {"ps": ()}, {"ps": {}}])
def test_every_form_of_a_cluster_gives_the_same_spec(cluster) -> None:
    spec = hr.train.ClusterSpec(cluster)
    message = spec.as_cluster_def()
    for other in (hr.train.ClusterSpec(spec), hr.train.ClusterSpec(message)):
        assert other.as_dict() == spec.as_dict()
        assert other == spec
        assert not other != spec
        assert other.as_cluster_def() == message
    assert hr.train.ClusterSpec(spec.as_dict()) == spec
    assert bool(spec) == bool(cluster)


def test_the_message_lists_jobs_by_name() -> None:
    message = hr.train.ClusterSpec({"b": ["x:1"], "a": {3: "y:2"}}).as_cluster_def()
    assert [(job.name, dict(job.tasks)) for job in message.job] == [
        ("a", {3: "y:2"}),
        ("b", {0: "x:1"}),
    ]


def test_tasks_of_dense_and_sparse_jobs() -> None:
    spec = hr.train.ClusterSpec(SPARSE)
    assert spec.jobs == ["ps", "worker"]
    assert [spec.num_tasks(job) for job in spec.jobs] == [1, 2]
    assert spec.task_indices("worker") == [1, 7]
    assert spec.task_address("worker", 7) == "worker7:2222"
    assert spec.job_tasks("ps") == ["ps0:2222"]
    assert spec.job_tasks("worker") == [None, "worker1:2222", *[None] * 5, "worker7:2222"]
    assert spec.as_dict() == {"ps": ["ps0:2222"], "worker": {1: "worker1:2222", 7: "worker7:2222"}}


def test_a_spec_is_printed_by_job() -> None:
    spec = hr.train.ClusterSpec({"worker": {1: "w:1"}, "ps": ["p:1"]})
    assert repr(spec) == "ClusterSpec({'ps': ['p:1'], 'worker': {1: 'w:1'}})"


def test_specs_of_other_clusters_differ() -> None:
    assert hr.train.ClusterSpec(DENSE) != hr.train.ClusterSpec(SPARSE)
    assert hr.train.ClusterSpec(DENSE) != 3


def test_addresses_may_be_bytes() -> None:
    assert hr.train.ClusterSpec({"ps": [b"p:1"]}).as_dict() == {"ps": ["p:1"]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.num_tasks("chief"), "No such job in cluster: 'chief'"),
        (lambda s: s.task_indices("chief"), "No such job in cluster: 'chief'"),
        (lambda s: s.task_address("chief", 0), "No such job in cluster: 'chief'"),
        (lambda s: s.job_tasks("chief"), "No such job in cluster: 'chief'"),
        (lambda s: s.task_address("worker", 2), "No task with index 2 in job 'worker'"),
    ],
)
def test_an_unknown_job_or_task_is_named(call, message) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        call(hr.train.ClusterSpec(SPARSE))


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("ps=a:1", "`cluster` must be a dictionary mapping one or more job names"),
        (["a:1"], "`cluster` must be a dictionary mapping one or more job names"),
        ({"ps": "a:1"}, "The tasks for job 'ps' must be a list or a dictionary from integers"),
        ({"ps": [1]}, "Task address 1 must be bytes or unicode"),
        ({"ps": {0: None}}, "Task address None must be bytes or unicode"),
        ({1: ["a:1"]}, "Job name 1 must be bytes or unicode"),
    ],
)
def test_another_value_is_no_cluster(cluster, message) -> None:
    with pytest.raises(TypeError, match=message):
        hr.train.ClusterSpec(cluster)
