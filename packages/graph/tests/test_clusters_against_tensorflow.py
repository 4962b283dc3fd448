"""ClusterSpec and the devices that replica_device_setter gives, compared with TensorFlow's."""

from __future__ import annotations

import os
import re

import pytest
from placement_programs import PROGRAMS

import headrace.graph as hr

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

# Operations on variables and files: each one of TensorFlow's is in our graph.
OF_STATE = re.compile(
    "VariableV2|VarHandleOp|Assign.*|.*Apply.*|Scatter.*|.*Accumulator.*|Save.*|Restore.*|Merge.*"
)
# TensorFlow 2 leaves reads to the placer, under other names; 1.15 reads where the variable is.
NEWER = "ReadVariableOp"


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


def devices(m, program) -> dict[str, tuple[str, str]]:
    """Returns types and devices of the operations of a program, by name."""
    with m.Graph().as_default() as graph:
        program(m)
    # TensorFlow 2 pins some operations to any CPU.
    return {
        op.name: (op.type, op.device.removesuffix("/device:CPU:*")) for op in graph.get_operations()
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_operation_has_the_device_that_tensorflow_gives_it(program, tf) -> None:
    expected, found = devices(tf, program), devices(hr, program)
    missing = [
        name
        for name, (kind, _) in expected.items()
        if name not in found and OF_STATE.fullmatch(kind)
    ]
    assert missing == []
    common = sorted(expected.keys() & found.keys())
    assert len(common) >= 0.4 * len(expected)
    others = {
        name: (found[name], expected[name])
        for name in common
        if found[name][1] != expected[name][1] and expected[name][0] != NEWER
    }
    assert others == {}


def outcome(call):
    try:
        return call()
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize(
    "cluster",
    [
        {"ps": ["a:1", "b:1"], "worker": ["c:1"]},
        {"worker": {3: "c:1", 1: "d:1"}, "ps": ("a:1",)},
        {"ps": {}},
        {"ps": []},
        {},
        {"ps": "a:1"},
        {"ps": [1]},
        {"ps": {0: None}},
        {5: ["a:1"]},
        ["a:1"],
    ],
)
def test_a_cluster_spec_answers_as_tensorflows(cluster, tf) -> None:
    def answers(m):
        spec = outcome(lambda: m.train.ClusterSpec(cluster))
        if isinstance(spec, type):
            return spec
        copies = m.train.ClusterSpec(spec), m.train.ClusterSpec(spec.as_cluster_def())
        found = [spec.as_dict(), bool(spec), repr(spec).partition("(")[2], sorted(spec.jobs)]
        found += [spec == copy for copy in copies]
        found.append(spec.as_cluster_def().SerializeToString(deterministic=True))
        for job in ("ps", "worker", "x"):
            for query in (spec.num_tasks, spec.task_indices):
                found.append(outcome(lambda query=query, job=job: query(job)))
            if job == "x" or cluster.get(job):  # TensorFlow fails for a job without tasks
                found.append(outcome(lambda job=job: spec.job_tasks(job)))
            found += [
                outcome(lambda job=job, i=i: spec.task_address(job, i)) for i in (0, 1, 3, -1)
            ]
        return found

    assert answers(hr) == answers(tf)


DEVICES = """/job:ps /job:ps/task:3 /job:ps/replica:0/task:3/device:CPU:0 /cpu:0 /gpu:1 /GPU:*
    /device:GPU:* /device:gpu:2 /job:muu/device:TPU:2 /task:7 /replica:1/cpu:0 job:ps
    /job:ps/ps:0 /cpu:x /device:cpu:0 /job:a:b /device:XLA_CPU:0 /tpu:0 /CPU
    /job:ps/job:qs /gpu:1:2""".split()


def test_device_names_are_read_and_merged_as_by_tensorflow(tf) -> None:
    def answers(m):
        specs = [outcome(lambda d=d: m.DeviceSpec.from_string(d)) for d in ("", *DEVICES)]
        texts = [s if isinstance(s, type) else s.to_string() for s in specs]
        valid = [s for s in specs if not isinstance(s, type)]
        return texts, [[a.make_merged_spec(b).to_string() for a in valid] for b in valid]

    assert answers(hr) == answers(tf)
