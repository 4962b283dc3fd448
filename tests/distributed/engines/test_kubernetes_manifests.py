"""Manifests are YAML, and what Kubernetes' own schemas allow."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launched_job import LAUNCH

from headrace.distributed.engines.launchers.yaml_text import yaml_documents

VALIDATE = shutil.which("kubernetes-validate", path=str(Path(sys.executable).parent))

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(importlib.util.find_spec("yaml") is None, reason="no PyYAML"),
]


def written(tmp_path: Path, *options: str) -> Path:
    path = tmp_path / "job.yaml"
    command = [*LAUNCH, "--engine=kubernetes", "--image=registry:5000/a/b:1", f"--output={path}"]
    subprocess.run([*command, *options, "train.py", "--x", "on"], check=True, timeout=60)
    return path


def validate(path: Path) -> str:
    command = [str(VALIDATE), "--strict", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.skipif(VALIDATE is None, reason="no kubernetes-validate")
@pytest.mark.parametrize(
    "options",
    [
        ["--workers=2", "--ps=2", "--cpus=4", "--memory=16Gi", "--namespace=ml", "--env=A=1"],
        ["--workers=3", "--chief", "--restarts=0"],
        [],
    ],
)
def test_indexed_job_passes_the_strict_schema(tmp_path: Path, options: list[str]) -> None:
    said = validate(written(tmp_path, *options))
    assert "passed for resource service/headrace" in said
    assert "passed for resource job/headrace" in said


@pytest.mark.skipif(VALIDATE is None, reason="no kubernetes-validate")
def test_jobs_of_a_jobset_pass_the_strict_schema(tmp_path: Path) -> None:
    import yaml

    (jobset,) = yaml.safe_load_all(
        written(tmp_path, "--jobset", "--workers=2", "--ps=1").read_text()
    )
    for job in jobset["spec"]["replicatedJobs"]:
        alone = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"a-{job['name']}"},
            "spec": job["template"]["spec"],
        }
        path = tmp_path / f"{job['name']}.json"
        path.write_text(json.dumps(alone))
        assert f"passed for resource job/a-{job['name']}" in validate(path)


SCALARS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["on", "No", "null", "1", "1e3", "0x1", "a: b", "- a", "a #b", "2024-01-01"]),
    st.integers(-(10**9), 10**9),
    st.booleans(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(
        st.dictionaries(st.text(max_size=6), VALUES, min_size=1, max_size=3), min_size=1, max_size=2
    )
)
def test_yaml_is_read_as_it_was_meant(documents: list[dict[str, Any]]) -> None:
    import yaml

    assert list(yaml.safe_load_all(yaml_documents(documents))) == documents
