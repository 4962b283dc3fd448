"""What manifests say, and that the pods of a manifest find each other."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.distributed.cluster.tasks import Task, tasks_of
from headrace.distributed.engines import ResolvedCluster, resolve
from headrace.distributed.engines.launchers.job_plan import JobPlan
from headrace.distributed.engines.launchers.kubernetes import (
    PodOptions,
    manifest,
    manifest_objects,
)
from headrace.formats.errors import InvalidArgumentError

PLAN = JobPlan(
    ("train.py", "--rate", "0.1"), workers=3, ps=2, name="digits", env=("DATA=/d",), restarts=4
)
PODS = PodOptions("registry/train:1", namespace="ml", cpus="4", memory="16Gi", port=7777)


def pod_environments(objects: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Returns the environment of each pod, as Kubernetes and JobSet make it of the objects."""
    *_, root = objects
    if root["kind"] == "Job":
        jobs = [(root["metadata"]["name"], "", root["spec"])]
    else:
        name = root["metadata"]["name"]
        jobs = [
            (f"{name}-{job['name']}-0", job["name"], job["template"]["spec"])
            for job in root["spec"]["replicatedJobs"]
        ]
    found = []
    for job_name, replicated, spec in jobs:
        assert spec["completionMode"] == "Indexed"
        (container,) = spec["template"]["spec"]["containers"]
        for index in range(spec["completions"]):
            fields = {
                "metadata.annotations['batch.kubernetes.io/job-index-failure-count']": "1",
                "metadata.labels['jobset.sigs.k8s.io/jobset-name']": root["metadata"]["name"],
                "metadata.labels['jobset.sigs.k8s.io/replicatedjob-name']": replicated,
                "metadata.labels['jobset.sigs.k8s.io/job-index']": "0",
                "metadata.labels['jobset.sigs.k8s.io/restart-attempt']": "2",
            }
            environ = {"HOSTNAME": f"{job_name}-{index}", "JOB_COMPLETION_INDEX": str(index)}
            for variable in container["env"]:
                if "value" in variable:
                    environ[variable["name"]] = variable["value"]
                elif "fieldRef" in variable["valueFrom"]:
                    path = variable["valueFrom"]["fieldRef"]["fieldPath"]
                    environ[variable["name"]] = fields[path]
                else:
                    assert variable["name"] == "HEADRACE_CLUSTER_TOKEN"
                    secret = variable["valueFrom"]["secretKeyRef"]
                    assert secret == {"name": "digits-token", "key": "token"}
            found.append(environ)
    return found


@pytest.mark.parametrize("jobset", [False, True])
def test_pods_of_a_manifest_form_one_cluster(jobset: bool) -> None:
    found: dict[Task, ResolvedCluster] = {}
    for environ in pod_environments(manifest_objects(PLAN, PODS, jobset)):
        cluster = resolve(environ=environ)
        assert cluster.engine == ("jobset" if jobset else "kubernetes")
        assert cluster.restart_count == (3 if jobset else 1)
        host = environ["HOSTNAME"]
        assert cluster.master == f"grpc://{host}.digits:7777"
        found[Task(cluster.job_name, cluster.task_index)] = cluster
        assert environ["DATA"] == "/d"
    assert sorted(found) == sorted(PLAN.tasks())
    assert len({str(cluster.cluster_def) for cluster in found.values()}) == 1
    assert set(tasks_of(found[Task("worker", 0)].cluster_def)) == set(PLAN.tasks())


def test_indexed_job_restarts_pods_and_ends_with_the_workers() -> None:
    service, job = manifest_objects(PLAN, PODS)
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["clusterIP"] == "None"
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"] == "digits"
    assert job["metadata"]["namespace"] == service["metadata"]["namespace"] == "ml"
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimitPerIndex"]) == (5, 5, 4)
    assert spec["successPolicy"] == {"rules": [{"succeededIndexes": "2-4"}]}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"  # backoffLimitPerIndex asks for it
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] == "registry/train:1"
    assert container["resources"] == {"requests": {"cpu": "4", "memory": "16Gi"}}
    assert container["command"][-3:] == ["train.py", "--rate", "0.1"]
    _, alone = manifest_objects(JobPlan(("x.py",)), PodOptions("i"))
    assert "successPolicy" not in alone["spec"]
    assert "resources" not in alone["spec"]["template"]["spec"]["containers"][0]
    assert "namespace" not in alone["metadata"]


def test_jobset_has_a_job_for_each_job_of_the_cluster() -> None:
    (jobset,) = manifest_objects(PLAN, PODS, jobset=True)
    spec = jobset["spec"]
    sizes = {j["name"]: j["template"]["spec"]["completions"] for j in spec["replicatedJobs"]}
    assert sizes == {"ps": 2, "worker": 3}
    assert spec["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["worker"]}
    assert spec["network"]["enableDNSHostnames"] is True


@pytest.mark.parametrize(
    ("plan", "pods", "why"),
    [
        (PLAN, PodOptions(""), "--image is not given"),
        (JobPlan(("x.py",), name="Digits"), PODS, "--name is 'Digits'"),
        (JobPlan(("x.py",), name="d" * 51), PODS, "50 characters at most"),
        (JobPlan(("x.py",), evaluator=True), PODS, "--evaluator is given"),
    ],
)
def test_what_kubernetes_would_reject_is_named(plan: JobPlan, pods: PodOptions, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        manifest(plan, pods)


def test_text_of_a_manifest() -> None:
    text = manifest(JobPlan(("x.py", "yes", "a: b"), env=("A=1",)), PodOptions("i"))
    first, second = text.split("---\n")
    assert first.startswith("apiVersion: v1\nkind: Service\nmetadata:\n  name: headrace\n")
    assert '        - x.py\n        - "yes"\n        - "a: b"\n        env:\n' in second
    assert '        - name: A\n          value: "1"\n' in second
