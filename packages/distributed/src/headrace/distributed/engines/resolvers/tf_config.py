"""TF_CONFIG, as TensorFlow 1.15 reads it.

Source: tf.estimator.RunConfig and tf.distribute.cluster_resolver.TFConfigClusterResolver.
"""

from __future__ import annotations

import json
import re
from typing import Any

from headrace.distributed.cluster.cluster_text import cluster_from_jobs
from headrace.distributed.cluster.tasks import Task, tasks_of
from headrace.distributed.engines.resolvers.explicit import ENGINE, restart_count_of
from headrace.distributed.engines.resolvers.resolved_cluster import (
    CHIEF_JOBS,
    EVALUATOR,
    ResolvedCluster,
    resolved,
)
from headrace.distributed.engines.resolvers.variables import Environment, invalid, text
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.cluster_pb2 import ClusterDef

TF_CONFIG = "TF_CONFIG"

# TensorFlow's keys; `job`, and `trial` and `cloud` of a task, are set by Cloud ML Engine.
_KEYS = {
    "cluster",
    "task",
    "environment",
    "rpc_layer",
    "session_master",
    "eval_session_master",
    "model_dir",
    "service",
    "job",
}
_TASK_KEYS = {"type", "index", "trial", "cloud"}


def resolve_tf_config(environ: Environment) -> ResolvedCluster:
    """Reads TF_CONFIG.

    With a job `chief` or `master`, the rules are those of RunConfig: one such task, not both jobs,
    no evaluator beside `master`. Without either, worker 0 is the chief. An evaluator is not part of
    the cluster: it gets an empty one. Without `cluster`, the process is the only one: `worker` 0.

    Raises: InvalidArgumentError for text that is not a JSON object, an unknown key, or values that
      TensorFlow rejects.
    """
    config = _object(text(environ, TF_CONFIG, "a JSON object"))
    _check_keys(config, _KEYS, "")
    given = config.get("task", {})
    if not isinstance(given, dict):
        raise _invalid(f'"task" is {given!r}: expected an object with "type" and "index"')
    _check_keys(given, _TASK_KEYS, ' of "task"')
    environment = config.get("environment", "")
    if not isinstance(environment, str):
        raise _invalid(f'"environment" is {environment!r}: expected a string')
    if config.get("service"):
        raise _invalid('"service" is set: Headrace has no such service (TensorFlow uses it on TPU)')
    cluster = _cluster(config.get("cluster") or {})
    task = _task(cluster, given)
    master = _target(config, "session_master")
    if task.job == EVALUATOR:
        cluster, master = ClusterDef(), _target(config, "eval_session_master") or ""
    elif not cluster.job and master is None:
        master = ""
    if not cluster.job and task.job != EVALUATOR:
        return ResolvedCluster(
            "tf_config",
            f"{TF_CONFIG} is set, without a cluster",
            cluster,
            task.job,
            task.index,
            True,
            master or "",
            restart_count_of(environ),
            environment,
        )
    launcher = environ.get(ENGINE, "")
    return resolved(
        launcher or "tf_config",
        f"{TF_CONFIG} is set" + (f" by headrace-launch, engine {launcher}" if launcher else ""),
        cluster,
        task,
        master=master,
        restart_count=restart_count_of(environ),
        environment=environment,
    )


def _object(value: str) -> dict[str, Any]:
    try:
        config = json.loads(value)
    except ValueError as error:
        raise _invalid(f"it is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise _invalid(f"expected a JSON object, got {type(config).__name__}")
    return config


def _check_keys(found: dict[str, Any], known: set[str], of: str) -> None:
    unknown = sorted(found.keys() - known)
    if unknown:
        raise _invalid(
            f"unknown keys{of}: {', '.join(map(repr, unknown))} (known: {', '.join(sorted(known))})"
        )


def _cluster(jobs: Any) -> ClusterDef:
    if not isinstance(jobs, dict) or not all(isinstance(tasks, list) for tasks in jobs.values()):
        raise _invalid(f'"cluster" is {jobs!r}: expected lists of addresses by job')
    if not jobs:
        return ClusterDef()
    try:
        cluster = cluster_from_jobs(jobs)
    except InvalidArgumentError as error:
        raise _invalid(error.message) from None
    for job in CHIEF_JOBS:
        if len(jobs.get(job, [])) > 1:
            raise _invalid(f'"cluster" has {len(jobs[job])} tasks {job!r}: it must have one')
    if all(job in jobs for job in CHIEF_JOBS):
        raise _invalid('"cluster" has both "chief" and "master": it must have one of them')
    if EVALUATOR in jobs:
        raise _invalid('"cluster" has a job "evaluator": evaluators are not part of a cluster')
    return cluster


def _task(cluster: ClusterDef, given: dict[str, Any]) -> Task:
    job, index = given.get("type"), given.get("index")
    if not cluster.job:
        job = job or "worker"
        index = 0 if index is None else index
    if not job:
        raise _invalid('"cluster" is set, so "task" must have a "type"')
    if index is None:
        raise _invalid('"cluster" is set, so "task" must have an "index"')
    if not isinstance(job, str):
        raise _invalid(f'the "type" of "task" is {job!r}: expected the name of a job')
    if isinstance(index, bool | float) or not re.fullmatch(r"-?[0-9]{1,9}", str(index)):
        raise _invalid(f'the "index" of "task" is {index!r}: expected a number')
    task = Task(job, int(index))
    if task.index < 0:
        raise _invalid(f'the "index" of "task" is {task.index}: expected at least 0')
    if not cluster.job:
        if task != Task("worker", 0):
            raise _invalid(f'"cluster" is not set, so the task must be worker 0, not {job} {index}')
    elif job == EVALUATOR:
        if any(known.name == "master" for known in cluster.job):
            raise _invalid('"cluster" has a job "master", beside which there is no evaluator')
    elif task not in tasks_of(cluster):
        known_tasks = ", ".join(f"{t.job} {t.index}" for t in tasks_of(cluster))
        raise _invalid(f"the cluster has no task {job} {task.index} (its tasks: {known_tasks})")
    return task


def _target(config: dict[str, Any], key: str) -> str | None:
    target = config.get(key)
    if target is not None and not isinstance(target, str):
        raise _invalid(f'"{key}" is {target!r}: expected the target of a session')
    return target


def _invalid(why: str) -> InvalidArgumentError:
    return invalid(f"{TF_CONFIG}: {why}")
