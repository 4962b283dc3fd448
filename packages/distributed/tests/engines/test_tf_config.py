"""TF_CONFIG means what it means to TensorFlow 1.15."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.distributed.cluster.cluster_text import cluster_to_text
from headrace.distributed.engines import resolve_tf_config
from headrace.formats.errors import InvalidArgumentError

CHIEF = {"chief": ["c:1"], "worker": ["a:1", "b:1"], "ps": ["p:1"]}
WORKERS = {"worker": ["a:1", "b:1"], "ps": ["p:1"]}
MASTER = {"master": ["m:1"], "worker": ["a:1"], "ps": ["p:1"]}


def config(**fields: Any) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps(fields)}


def task(job: str, index: Any) -> dict[str, Any]:
    return {"type": job, "index": index}


@pytest.mark.parametrize(
    ("cluster", "job", "index", "is_chief", "master"),
    [
        (CHIEF, "chief", 0, True, "grpc://c:1"),
        (CHIEF, "worker", 0, False, "grpc://a:1"),
        (CHIEF, "worker", 1, False, "grpc://b:1"),
        (CHIEF, "ps", 0, False, "grpc://p:1"),
        (MASTER, "master", 0, True, "grpc://m:1"),
        (MASTER, "worker", 0, False, "grpc://a:1"),
        (WORKERS, "worker", 0, True, "grpc://a:1"),
        (WORKERS, "worker", 1, False, "grpc://b:1"),
        (WORKERS, "ps", 0, False, "grpc://p:1"),
        ({"chief": ["c:1"]}, "chief", 0, True, ""),
        ({"worker": ["a:1"]}, "worker", 0, True, ""),
    ],
)
def test_task_chief_and_target(
    cluster: dict[str, list[str]], job: str, index: int, is_chief: bool, master: str
) -> None:
    found = resolve_tf_config(config(cluster=cluster, task=task(job, index)))
    assert (found.engine, found.job_name, found.task_index) == ("tf_config", job, index)
    assert (found.is_chief, found.master) == (is_chief, master)
    assert {
        j.name: list(dict(sorted(j.tasks.items())).values()) for j in found.cluster_def.job
    } == cluster
    assert found.restart_count is None


def test_evaluator_is_outside_of_the_cluster() -> None:
    found = resolve_tf_config(config(cluster=CHIEF, task=task("evaluator", 0)))
    assert (found.job_name, found.task_index, found.is_chief) == ("evaluator", 0, False)
    assert (found.master, list(found.cluster_def.job)) == ("", [])
    found = resolve_tf_config(
        config(cluster=CHIEF, task=task("evaluator", 1), eval_session_master="grpc://e:1")
    )
    assert (found.task_index, found.master) == (1, "grpc://e:1")


@pytest.mark.parametrize("fields", [{}, {"task": {}}, {"cluster": {}, "task": task("worker", 0)}])
def test_without_cluster_the_process_is_the_only_one(fields: dict[str, Any]) -> None:
    found = resolve_tf_config(config(**fields))
    assert (found.job_name, found.task_index, found.is_chief) == ("worker", 0, True)
    assert (found.master, list(found.cluster_def.job)) == ("", [])


def test_other_fields_of_tensorflow() -> None:
    found = resolve_tf_config(
        config(
            cluster=WORKERS,
            task={"type": "worker", "index": "1", "trial": "7", "cloud": "x"},
            environment="cloud",
            session_master="grpc://elsewhere:1",
            rpc_layer="grpc",
            model_dir="/models",
            job={"scale_tier": "BASIC"},
        )
    )
    assert (found.task_index, found.environment) == (1, "cloud")
    assert found.master == "grpc://elsewhere:1"
    assert resolve_tf_config(config(session_master="grpc://x:1")).master == "grpc://x:1"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "TF_CONFIG is not set"),
        ("{", "not JSON"),
        ("[]", "expected a JSON object, got list"),
        ('{"clusters": {}}', "unknown keys: 'clusters' .known: cluster, "),
        ('{"task": {"id": 0}}', "unknown keys of \"task\": 'id'"),
        ('{"task": 3}', '"task" is 3'),
        ('{"environment": 3}', '"environment" is 3'),
        ('{"service": {"tpu": "a"}}', '"service" is set'),
        ('{"cluster": []}', None),
        ('{"cluster": ["a:1"]}', "expected lists of addresses by job"),
        ('{"cluster": {"worker": "a:1"}}', "expected lists of addresses by job"),
        ('{"cluster": {"worker": ["a"]}, "task": {}}', "'a' is not an address"),
        ('{"cluster": {"worker": []}, "task": {}}', "has no tasks"),
        ('{"cluster": {"worker": ["a:1"]}}', 'must have a "type"'),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}', 'must have an "index"'),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": 1, "index": 0}}', "name of a job"),
        (json.dumps({"cluster": WORKERS, "task": task("worker", "x")}), "expected a number"),
        (json.dumps({"cluster": WORKERS, "task": task("worker", "--1")}), "expected a number"),
        (json.dumps({"cluster": WORKERS, "task": task("worker", True)}), "expected a number"),
        (json.dumps({"cluster": WORKERS, "task": task("worker", 1.5)}), "expected a number"),
        (json.dumps({"cluster": WORKERS, "task": task("worker", -1)}), "at least 0"),
        (
            json.dumps({"cluster": WORKERS, "task": task("worker", 2)}),
            "no task worker 2 .its tasks: ps 0, worker 0, worker 1",
        ),
        (json.dumps({"cluster": WORKERS, "task": task("chief", 0)}), "no task chief 0"),
        (json.dumps({"cluster": MASTER, "task": task("evaluator", 0)}), "beside which"),
        (json.dumps({"cluster": MASTER | CHIEF, "task": task("ps", 0)}), "both"),
        (
            json.dumps({"cluster": {"chief": ["a:1", "b:1"]}, "task": task("chief", 0)}),
            "has 2 tasks 'chief'",
        ),
        (
            json.dumps({"cluster": {"evaluator": ["a:1"]}, "task": task("evaluator", 0)}),
            "not part of a cluster",
        ),
        (json.dumps({"task": task("ps", 0)}), "must be worker 0, not ps 0"),
        (json.dumps({"task": task("worker", 1)}), "must be worker 0, not worker 1"),
        (json.dumps({"session_master": 1}), '"session_master" is 1'),
    ],
)
def test_what_is_wrong_is_named(value: str, why: str | None) -> None:
    if why is None:  # an empty list is as good as no cluster, as in TensorFlow
        assert resolve_tf_config({"TF_CONFIG": value}).job_name == "worker"
        return
    with pytest.raises(InvalidArgumentError, match=why):
        resolve_tf_config({"TF_CONFIG": value})


def test_what_is_written_is_read_again() -> None:
    found = resolve_tf_config(config(cluster=CHIEF, task=task("ps", 0), environment="cloud"))
    again = resolve_tf_config({"TF_CONFIG": found.to_tf_config()})
    assert again == found
    assert cluster_to_text(again.cluster_def) == "chief=c:1,ps=p:1,worker=a:1|b:1"


def test_launchers_say_who_they_are_and_how_often_they_started_the_task() -> None:
    environ = config(cluster=WORKERS, task=task("worker", 1))
    environ |= {"HEADRACE_ENGINE": "ray", "HEADRACE_RESTART_COUNT": "2"}
    found = resolve_tf_config(environ)
    assert (found.engine, found.restart_count) == ("ray", 2)
    assert "by headrace-launch, engine ray" in found.reason
    with pytest.raises(InvalidArgumentError, match="HEADRACE_RESTART_COUNT is 'x'"):
        resolve_tf_config(environ | {"HEADRACE_RESTART_COUNT": "x"})
