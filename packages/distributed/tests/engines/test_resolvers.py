"""Each engine's environment gives the cluster, the task and the target; what is wrong is named."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.distributed.cluster.cluster_text import cluster_to_text
from headrace.distributed.engines import (
    ENGINES,
    ResolvedCluster,
    __main__,
    detect,
    expand_hostlist,
    resolve,
    resolve_explicit,
    resolve_indexed_job,
    resolve_jobset,
    resolve_mpi,
    resolve_slurm,
    resolvers,
)
from headrace.distributed.engines.resolvers.hostlist import expand_counts
from headrace.formats.errors import InvalidArgumentError, NotFoundError

TF_CONFIG = json.dumps(
    {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
)
EXPLICIT = {
    "HEADRACE_CLUSTER": "ps=p:1,worker=a:1|b:1",
    "HEADRACE_JOB": "worker",
    "HEADRACE_TASK": "1",
}
INDEXED = {
    "JOB_COMPLETION_INDEX": "2",
    "HOSTNAME": "train-2",
    "HEADRACE_JOBS": "ps=1,worker=2",
    "HEADRACE_SERVICE": "train-service",
    "HEADRACE_RESTART_COUNT": "1",
}
JOBSET = {
    "JOBSET_NAME": "train",
    "REPLICATED_JOB_NAME": "worker",
    "JOB_INDEX": "0",
    "JOB_COMPLETION_INDEX": "1",
    "JOBSET_RESTART_ATTEMPT": "3",
    "HEADRACE_JOBS": "ps=1,worker=2",
    "HOSTNAME": "train-worker-0-1",
}
# As `srun -n4` over two nodes sets them, with Slurm 22.05.
SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
    "SLURM_NTASKS": "4",
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "node[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "HEADRACE_JOBS": "ps=1,worker=3",
}
# As `mpiexec -n 3` of MPICH 5 and of Open MPI 4 set them.
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "3", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "3"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "3",
}
RAY = {"TF_CONFIG": TF_CONFIG, "HEADRACE_ENGINE": "ray"}
ENVIRONMENTS = {
    "explicit": EXPLICIT,
    "tf_config": {"TF_CONFIG": TF_CONFIG},
    "kubernetes": INDEXED,
    "jobset": JOBSET,
    "slurm": SLURM,
    "mpi": MPICH,
    "ray": RAY,
    "none": {},
}


def summary(found: ResolvedCluster) -> tuple[str, str, int, bool, str, int | None]:
    return (
        cluster_to_text(found.cluster_def),
        found.job_name,
        found.task_index,
        found.is_chief,
        found.master,
        found.restart_count,
    )


def test_examples_of_docstrings() -> None:
    for module in pkgutil.iter_modules(resolvers.__path__, resolvers.__name__ + "."):
        assert doctest.testmod(importlib.import_module(module.name)).failed == 0


@pytest.mark.parametrize(
    ("resolver", "environ", "expected"),
    [
        (
            resolve_explicit,
            EXPLICIT,
            ("ps=p:1,worker=a:1|b:1", "worker", 1, False, "grpc://b:1", None),
        ),
        (
            resolve_explicit,
            # Indices with gaps: the worker of the lowest index is the chief.
            {
                "HEADRACE_CLUSTER": "ps=p:1,worker=3@a:1|7@b:1",
                "HEADRACE_JOB": "worker",
                "HEADRACE_TASK": "3",
            },
            ("ps=p:1,worker=3@a:1|7@b:1", "worker", 3, True, "grpc://a:1", None),
        ),
        (
            resolve_indexed_job,
            INDEXED,
            (
                "ps=train-0.train-service:2222,"
                "worker=train-1.train-service:2222|train-2.train-service:2222",
                "worker",
                1,
                False,
                "grpc://train-2.train-service:2222",
                1,
            ),
        ),
        (
            resolve_indexed_job,
            {
                "JOB_COMPLETION_INDEX": "0",
                "HOSTNAME": "j-0",
                "HEADRACE_JOBS": "worker=2",
                "HEADRACE_PORT": "9",
            },
            ("worker=j-0.j:9|j-1.j:9", "worker", 0, True, "grpc://j-0.j:9", None),
        ),
        (
            resolve_jobset,
            JOBSET,
            (
                "ps=train-ps-0-0.train:2222,"
                "worker=train-worker-0-0.train:2222|train-worker-0-1.train:2222",
                "worker",
                1,
                False,
                "grpc://train-worker-0-1.train:2222",
                3,
            ),
        ),
        (
            resolve_jobset,
            JOBSET
            | {
                "REPLICATED_JOB_NAME": "ps",
                "JOB_COMPLETION_INDEX": "0",
                "HEADRACE_RESTART_COUNT": "2",
            },
            (
                "ps=train-ps-0-0.train:2222,"
                "worker=train-worker-0-0.train:2222|train-worker-0-1.train:2222",
                "ps",
                0,
                False,
                "grpc://train-ps-0-0.train:2222",
                5,
            ),
        ),
        (
            resolve_slurm,
            SLURM,
            (
                "ps=node1:20336,worker=node1:20337|node2:20336|node2:20337",
                "worker",
                1,
                False,
                "grpc://node2:20336",
                0,
            ),
        ),
        (
            resolve_slurm,
            SLURM | {"SLURM_DISTRIBUTION": "cyclic", "SLURM_LOCALID": "1", "HEADRACE_PORT": "10"},
            (
                "ps=node1:10,worker=node2:10|node1:11|node2:11",
                "worker",
                1,
                False,
                "grpc://node1:11",
                0,
            ),
        ),
        (
            resolve_slurm,
            SLURM | {"SLURM_STEP_RESV_PORTS": "12001-12002", "SLURM_RESTART_COUNT": "2"},
            (
                "ps=node1:12001,worker=node1:12002|node2:12001|node2:12002",
                "worker",
                1,
                False,
                "grpc://node2:12001",
                2,
            ),
        ),
        (
            resolve_slurm,
            {
                "SLURM_PROCID": "0",
                "SLURM_NTASKS": "2",
                "SLURM_NODELIST": "a",
                "HEADRACE_PORT": "8888",
            },
            ("worker=a:8888|a:8889", "worker", 0, True, "grpc://a:8888", 0),
        ),
        (
            resolve_mpi,
            MPICH | {"HEADRACE_JOBS": "ps=1,worker=2"},
            (
                "ps=127.0.0.1:2222,worker=127.0.0.1:2223|127.0.0.1:2224",
                "worker",
                0,
                True,
                "grpc://127.0.0.1:2223",
                None,
            ),
        ),
        (
            resolve_mpi,
            OPEN_MPI | {"HEADRACE_ADDRESSES": "a:1,b:2,c:3", "HEADRACE_RESTART_COUNT": "1"},
            ("worker=a:1|b:2|c:3", "worker", 1, False, "grpc://b:2", 1),
        ),
    ],
)
def test_environment_of_an_engine(
    resolver: Callable[..., ResolvedCluster], environ: dict[str, str], expected: tuple[object, ...]
) -> None:
    assert summary(resolver(environ)) == expected


@pytest.mark.parametrize(
    ("resolver", "environ", "why"),
    [
        (resolve_explicit, {}, "HEADRACE_CLUSTER is not set"),
        (resolve_explicit, EXPLICIT | {"HEADRACE_JOB": ""}, "HEADRACE_JOB is not set"),
        (resolve_explicit, EXPLICIT | {"HEADRACE_TASK": "x"}, "HEADRACE_TASK is 'x': expected its"),
        (resolve_explicit, EXPLICIT | {"HEADRACE_CLUSTER": "ps"}, "has no '='"),
        (resolve_indexed_job, {}, "JOB_COMPLETION_INDEX is not set"),
        (resolve_indexed_job, INDEXED | {"JOB_COMPLETION_INDEX": "3"}, "is 3, but the jobs"),
        (resolve_indexed_job, INDEXED | {"HOSTNAME": ""}, "HOSTNAME is not set"),
        (resolve_indexed_job, INDEXED | {"HOSTNAME": "x-1"}, "expected JOB-2"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_JOBS": ""}, "HEADRACE_JOBS is not set"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_JOBS": "ps"}, "expected JOB=COUNT"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_JOBS": "ps=1,ps=2"}, "occurs twice"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_JOBS": "ps=0"}, "names no job with tasks"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_PORT": "70000"}, "HEADRACE_PORT is 70000"),
        (resolve_indexed_job, INDEXED | {"HEADRACE_RESTART_COUNT": "-1"}, "RESTART_COUNT is '-1'"),
        (resolve_jobset, INDEXED, "JOBSET_NAME is not set"),
        (resolve_jobset, JOBSET | {"REPLICATED_JOB_NAME": "chief"}, "has no such task"),
        (
            resolve_jobset,
            JOBSET | {"JOB_COMPLETION_INDEX": "2"},
            "has no such task .ps=1, worker=2",
        ),
        (resolve_jobset, JOBSET | {"JOB_INDEX": "1"}, "replicas: 1"),
        (resolve_slurm, {}, "SLURM_PROCID is not set"),
        (resolve_slurm, SLURM | {"SLURM_PROCID": "4"}, "SLURM_PROCID is 4, but the jobs"),
        (
            resolve_slurm,
            SLURM | {"HEADRACE_JOBS": "ps=1,worker=2"},
            "ps=1,worker=2 have 3 tasks, but SLURM_STEP_NUM_TASKS is 4",
        ),
        (resolve_slurm, SLURM | {"SLURM_LOCALID": "1"}, "SLURM_LOCALID is 1, but rank 2 of 4"),
        (resolve_slurm, SLURM | {"SLURM_STEP_TASKS_PER_NODE": "2,1"}, r"are \[2, 1\]"),
        (resolve_slurm, SLURM | {"SLURM_STEP_TASKS_PER_NODE": "2x2"}, "tasks per node"),
        (resolve_slurm, SLURM | {"SLURM_STEP_TASKS_PER_NODE": ""}, "TASKS_PER_NODE is not set"),
        (resolve_slurm, SLURM | {"SLURM_STEP_NODELIST": "a["}, "do not match"),
        (resolve_slurm, SLURM | {"SLURM_STEP_RESV_PORTS": "12001"}, "1 ports, but a node has 2"),
        (resolve_slurm, SLURM | {"SLURM_JOB_ID": "x"}, "SLURM_JOB_ID is 'x'"),
        (resolve_mpi, {}, "none of OMPI_COMM_WORLD_RANK"),
        (resolve_mpi, {"PMI_RANK": "0"}, "PMI_SIZE is not set"),
        (resolve_mpi, MPICH | {"PMI_RANK": "3"}, "PMI_RANK is 3, but the jobs"),
        (resolve_mpi, MPICH | {"MPI_LOCALNRANKS": "2"}, "set HEADRACE_RENDEZVOUS to a folder"),
        (resolve_mpi, MPICH | {"HEADRACE_ADDRESSES": "a:1,b:1"}, "2 addresses, but PMI_SIZE is 3"),
        (resolve_mpi, MPICH | {"HEADRACE_ADDRESSES": "a:1,b:1,c"}, "'c' is not an address"),
        (resolve_mpi, MPICH | {"HEADRACE_JOBS": "ps=1"}, "1 tasks, but PMI_SIZE is 3"),
    ],
)
def test_what_is_wrong_is_named(
    resolver: Callable[..., ResolvedCluster], environ: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        resolver(environ)


def test_task_that_the_cluster_does_not_have() -> None:
    with pytest.raises(NotFoundError, match=r"no task worker:2 \(its tasks: ps:0, worker:0"):
        resolve_explicit(EXPLICIT | {"HEADRACE_TASK": "2"})


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_is_detected_and_the_reason_is_said(engine: str) -> None:
    environ = ENVIRONMENTS[engine]
    assert detect(environ) == ("tf_config" if engine == "ray" else engine)
    found = resolve(environ=environ)
    assert found.engine == engine
    assert found.reason
    assert resolve(engine, environ) == found
    assert json.loads(json.dumps(found.describe()))["job_name"] == found.job_name


@pytest.mark.parametrize(
    ("environ", "engine"),
    [
        (SLURM | MPICH | EXPLICIT | {"TF_CONFIG": TF_CONFIG}, "explicit"),
        (SLURM | MPICH | {"TF_CONFIG": TF_CONFIG}, "tf_config"),
        # mpiexec within an allocation; its ranks are not those of srun
        (SLURM | MPICH, "mpi"),
        # srun --mpi=pmi2
        (SLURM | {"PMI_RANK": "2", "PMI_SIZE": "4"}, "slurm"),
        # a batch script is rank 0 of no step
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "3", "SLURM_JOB_ID": "7"}, "none"),
        ({"TF_CONFIG": "", "HOSTNAME": "host"}, "none"),
    ],
)
def test_precedence(environ: dict[str, str], engine: str) -> None:
    assert detect(environ) == engine


def test_sizes_of_jobs_may_be_arguments() -> None:
    found = resolve("slurm", SLURM, {"worker": 2, "ps": 2})
    assert (found.job_name, found.task_index) == ("ps", 0)
    found = resolve("kubernetes", INDEXED, {"chief": 1, "ps": 0, "worker": 2})
    assert cluster_to_text(found.cluster_def).startswith("chief=train-0.train-service:2222,worker=")
    assert (found.job_name, found.task_index, found.is_chief) == ("worker", 1, False)


def test_engine_that_does_not_exist() -> None:
    with pytest.raises(InvalidArgumentError, match="no engine 'yarn' .known: auto, explicit"):
        resolve("yarn", {})
    with pytest.raises(InvalidArgumentError, match="expected 'ray'"):
        resolve("ray", {"TF_CONFIG": TF_CONFIG})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10],m", ["n08", "n09", "n10", "m"]),
        ("r[1-2]n[1,3]", ["r1n1", "r1n3", "r2n1", "r2n3"]),
        ("n[1]-ib[2]", ["n1-ib2"]),
    ],
)
def test_lists_of_nodes(text: str, names: list[str]) -> None:
    assert expand_hostlist(text) == names


@pytest.mark.parametrize(
    "text", ["", ",", "n[", "n]", "n[[1]]", "n[]", "n[a]", "n[2-1]", "n[1-2-3]", "n[1-999999999]"]
)
def test_what_is_no_list_of_nodes(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        expand_hostlist(text)


@given(st.text("n[],-0123456789", max_size=12))
def test_any_text_is_expanded_or_rejected(text: str) -> None:
    try:
        names = expand_hostlist(text)
    except InvalidArgumentError:
        return
    assert names
    assert not any(set(name) & set("[],") for name in names)


@pytest.mark.parametrize(
    ("text", "counts"), [("3", [3]), ("2(x3),1", [2, 2, 2, 1]), ("1,2(x1),0", [1, 2, 0])]
)
def test_tasks_of_nodes(text: str, counts: list[int]) -> None:
    assert expand_counts(text) == counts


@pytest.mark.parametrize("text", ["", "2,", "x", "2(3)", "2(x)", "-1", "1(x999999999)"])
def test_what_is_no_list_of_tasks_of_nodes(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not a list of tasks per node"):
        expand_counts(text)


@given(st.sampled_from(sorted(ENVIRONMENTS)), st.data())
def test_a_changed_variable_gives_a_cluster_or_an_error_that_names_it(
    engine: str, data: st.DataObject
) -> None:
    environ = dict(ENVIRONMENTS[engine])
    if environ:
        name = data.draw(st.sampled_from(sorted(environ)))
        environ[name] = data.draw(st.text(max_size=6))
    try:
        found = resolve(engine, environ)
    except (InvalidArgumentError, NotFoundError) as error:
        assert str(error)
    else:
        assert isinstance(found, ResolvedCluster)


def test_command_prints_the_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in EXPLICIT.items():
        monkeypatch.setenv(name, value)
    assert __main__.main([]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "HEADRACE_CLUSTER is set"
    assert __main__.main(["--format", "tf_config"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "cluster": {"ps": ["p:1"], "worker": ["a:1", "b:1"]},
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    assert __main__.main(["--format", "env"]) == 0
    assert "export HEADRACE_CLUSTER='ps=p:1,worker=a:1|b:1'\n" in capsys.readouterr().out
    monkeypatch.setenv("HEADRACE_TASK", "x")
    assert __main__.main([]) == 2
    assert "HEADRACE_TASK is 'x'" in capsys.readouterr().err
