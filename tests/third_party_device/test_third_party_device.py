"""A third party's device, built with the headers of headrace-formats, found by its entry point."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "plain_device"
PRELUDE = "import numpy as np\nimport headrace.graph as hr\n"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it maps memory as on Linux")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package and its metadata, as a wheel would leave them."""
    folder = tmp_path_factory.mktemp("plain_device")
    source, site = folder / "source", folder / "site"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so"))
    for command in (["build", "--build-lib", str(site)], ["dist_info", "--output-dir", str(site)]):
        line = [sys.executable, "setup.py", "-q", *command]
        done = subprocess.run(line, cwd=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert list(site.glob("*.dist-info/entry_points.txt"))
    return site


def run(script: str, site: Path) -> str:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path, "HEADRACE_OPENCL_DEVICES": "none"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_sessions_list_the_device_and_compute_on_it(site: Path) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, 3])
        with hr.device("/device:NPU:0"):
            y = hr.matmul(x * 2.0, np.arange(6, dtype=np.float32).reshape(3, 2)) + [1.0, -1.0]
        with hr.Session() as session:
            device = session.list_devices()[-1]
            assert device.device_type == "NPU" and device.memory_limit == 1 << 28
            for rows in (1, 5, 2, 400):
                fed = np.random.RandomState(rows).randn(rows, 3).astype(np.float32)
                expected = (fed * 2).dot(np.arange(6).reshape(3, 2)) + [1, -1]
                np.testing.assert_allclose(session.run(y, {x: fed}), expected, rtol=1e-4, atol=1e-5)
            report = session.explain(y, [x])
            for op in ("Mul", "MatMul", "AddV2"):
                assert f"{op} (plain_device)" in report, report
        """,
        site,
    )


def test_what_it_has_no_kernel_for_runs_on_the_cpu(site: Path) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, 4])
        w = hr.Variable(hr.ones([4, 1]) * 0.1)
        loss = hr.reduce_mean(hr.square(hr.sigmoid(hr.matmul(x, w) * 2.0) - hr.sigmoid(x[:, :1])))
        train = hr.train.GradientDescentOptimizer(1.0).minimize(loss)
        rng = np.random.RandomState(0)
        with hr.Session(config=hr.ConfigProto(allow_soft_placement=True)) as session:
            session.run(w.initializer)
            losses = []
            for _ in range(100):
                losses.append(session.run([loss, train], {x: rng.randn(16, 4)})[0])
            session.run(loss, {x: rng.randn(16, 4)})
            report = session.explain(loss, [x])
            assert "MatMul (plain_device)" in report and "Square (cpu)" in report, report
        assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10]), losses
        """,
        site,
    )


def test_its_limits_and_errors_reach_the_program(site: Path) -> None:
    run(
        """
        x = hr.placeholder(hr.float32, [None, None], name="rows")
        with hr.device("/device:NPU:0"):
            y = hr.multiply(x, x, name="square")
            z = hr.matmul(x, x, transpose_b=True, name="gram")
        with hr.Session() as session:
            for _ in range(2):
                try:
                    session.run(y, {x: np.ones([1, 1 << 27], np.float32)})
                except hr.errors.ResourceExhaustedError as error:
                    assert "NPU" in str(error) or "plain device" in str(error), error
                else:
                    raise AssertionError("512 MiB fit into 256")
                assert session.run(y, {x: np.full([2, 3], 3.0)}).tolist() == [[9.0] * 3] * 2
            try:
                session.run(z, {x: np.ones([2, 3])})
            except hr.errors.UnimplementedError as error:
                assert "MatMul 'gram'" in str(error) and "transposes nothing" in str(error), error
            else:
                raise AssertionError("transposed")
        """,
        site,
    )
