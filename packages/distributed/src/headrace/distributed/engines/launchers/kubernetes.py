"""Manifests for Kubernetes: an Indexed Job, or a JobSet.

Kubernetes starts pods again (`backoffLimitPerIndex`), does not count evictions as failures
(`podFailurePolicy`), and ends the parameter servers when all workers have ended (`successPolicy`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.distributed.engines.launchers.command_lines import run_task_command
from headrace.distributed.engines.launchers.job_plan import PS, JobPlan
from headrace.distributed.engines.launchers.job_token import TOKEN
from headrace.distributed.engines.launchers.yaml_text import yaml_documents
from headrace.distributed.engines.resolvers.explicit import RESTARTS
from headrace.distributed.engines.resolvers.job_sizes import JOBS, sizes_to_text
from headrace.distributed.engines.resolvers.kubernetes import (
    DEFAULT_PORT,
    JOB_INDEX,
    JOBSET,
    JOBSET_RESTARTS,
    PORT,
    REPLICATED_JOB,
    SERVICE,
)
from headrace.formats.errors import InvalidArgumentError

# The longest name of a host has room for "-INDEX" after it.
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,48}[a-z0-9])?", re.ASCII)
_USAGE_ERROR = 2  # of argparse and of Python itself: the same command fails again
_FAILURES = "batch.kubernetes.io/job-index-failure-count"
_JOBSET = "jobset.sigs.k8s.io/"


@dataclass(frozen=True)
class PodOptions:
    """What a manifest says about pods beyond the job itself.

    Attributes:
      image: container image, in which headrace is installed and the script is.
      namespace: "" for that of kubectl.
      cpus, memory: what each pod requests, such as "4" and "16Gi"; "" for nothing.
      port: of each pod's server.
      token_secret: the Secret whose key `token` is the token of the cluster; "" for that named
        after the job, with "-token".
    """

    image: str
    namespace: str = ""
    cpus: str = ""
    memory: str = ""
    port: int = DEFAULT_PORT
    token_secret: str = ""


def manifest(plan: JobPlan, pods: PodOptions, jobset: bool = False) -> str:
    """Returns a manifest that `kubectl apply -f` accepts; see `manifest_objects`."""
    return yaml_documents(manifest_objects(plan, pods, jobset))


def manifest_objects(plan: JobPlan, pods: PodOptions, jobset: bool = False) -> list[dict[str, Any]]:
    """Returns the objects of a manifest.

    Args:
      jobset: whether to write a JobSet (jobset.x-k8s.io/v1alpha2), which the cluster must know.
    Raises: InvalidArgumentError for a name that Kubernetes rejects, no image, or an evaluator.
    """
    if not pods.image:
        raise _invalid("--image is not given: expected a container image with the script")
    if not _NAME.fullmatch(plan.name):
        raise _invalid(
            f"--name is {plan.name!r}: Kubernetes expects lower-case letters, digits and '-',"
            " a letter first, 50 characters at most"
        )
    if plan.evaluator:
        raise _invalid("--evaluator is given: run the evaluator as a Job of its own")
    return [_jobset(plan, pods)] if jobset else _indexed_job(plan, pods)


def _indexed_job(plan: JobPlan, pods: PodOptions) -> list[dict[str, Any]]:
    sizes = plan.sizes()
    variables = _variables(plan, pods, service=plan.name)
    spec = _job_spec(plan, pods, sum(sizes.values()), variables, subdomain=plan.name)
    spec["template"]["metadata"] = {"labels": _labels(plan)}
    if plan.ps:
        first = sizes[PS]  # ranks of parameter servers come first
        spec["successPolicy"] = {
            "rules": [{"succeededIndexes": f"{first}-{sum(sizes.values()) - 1}"}]
        }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(plan, pods),
        "spec": {
            "clusterIP": "None",
            # Tasks look for each other before all of them serve.
            "publishNotReadyAddresses": True,
            "selector": _labels(plan),
            "ports": [{"name": "grpc", "port": pods.port}],
        },
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(plan, pods),
        "spec": spec,
    }
    return [service, job]


def _jobset(plan: JobPlan, pods: PodOptions) -> dict[str, Any]:
    variables = _variables(plan, pods, service=plan.name)
    variables += [
        _copied(JOBSET, f"metadata.labels['{_JOBSET}jobset-name']"),
        _copied(REPLICATED_JOB, f"metadata.labels['{_JOBSET}replicatedjob-name']"),
        _copied(JOB_INDEX, f"metadata.labels['{_JOBSET}job-index']"),
        _copied(JOBSET_RESTARTS, f"metadata.labels['{_JOBSET}restart-attempt']"),
    ]
    jobs = [
        {"name": job, "replicas": 1, "template": {"spec": _job_spec(plan, pods, count, variables)}}
        for job, count in plan.sizes().items()
    ]
    training = [job for job in plan.sizes() if job != PS]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": _metadata(plan, pods),
        "spec": {
            "network": {
                "enableDNSHostnames": True,
                "subdomain": plan.name,
                "publishNotReadyAddresses": True,
            },
            "successPolicy": {"operator": "All", "targetReplicatedJobs": training},
            "failurePolicy": {"maxRestarts": 0},  # pods are started again by their Jobs
            "replicatedJobs": jobs,
        },
    }


def _job_spec(
    plan: JobPlan,
    pods: PodOptions,
    count: int,
    variables: list[dict[str, Any]],
    subdomain: str = "",
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "task",
        "image": pods.image,
        "command": run_task_command(plan, python="python"),
        "env": variables,
        "ports": [{"name": "grpc", "containerPort": pods.port}],
    }
    amounts = {"cpu": pods.cpus, "memory": pods.memory}
    requests = {name: amount for name, amount in amounts.items() if amount}
    if requests:
        container["resources"] = {"requests": requests}
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    if subdomain:
        pod["subdomain"] = subdomain
    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "backoffLimitPerIndex": plan.restarts,
        # A task that failed for good ends the job.
        "maxFailedIndexes": 0,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                {
                    "action": "FailJob",
                    "onExitCodes": {
                        "containerName": "task",
                        "operator": "In",
                        "values": [_USAGE_ERROR],
                    },
                },
            ]
        },
        "template": {"spec": pod},
    }


def _variables(plan: JobPlan, pods: PodOptions, service: str) -> list[dict[str, Any]]:
    values = {
        JOBS: sizes_to_text(plan.sizes()),
        SERVICE: service,
        PORT: str(pods.port),
        # A pod may start before its own name is known.
        "HEADRACE_BIND": "0.0.0.0",
        "PYTHONUNBUFFERED": "1",
        **plan.variables(),
    }
    plain: list[dict[str, Any]] = [{"name": name, "value": text} for name, text in values.items()]
    secret = {"name": secret_name(plan, pods), "key": "token"}
    token = {"name": TOKEN, "valueFrom": {"secretKeyRef": secret}}
    return [*plain, token, _copied(RESTARTS, f"metadata.annotations['{_FAILURES}']")]


def secret_name(plan: JobPlan, pods: PodOptions) -> str:
    """Returns the name of the Secret that the pods take their token from."""
    return pods.token_secret or f"{plan.name}-token"


def _copied(name: str, field: str) -> dict[str, Any]:
    """Returns a variable that Kubernetes fills with a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _metadata(plan: JobPlan, pods: PodOptions) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": plan.name}
    if pods.namespace:
        metadata["namespace"] = pods.namespace
    return metadata | {"labels": _labels(plan)}


def _labels(plan: JobPlan) -> Mapping[str, str]:
    return {"app.kubernetes.io/name": plan.name, "app.kubernetes.io/managed-by": "headrace-launch"}


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, why)
