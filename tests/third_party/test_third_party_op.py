"""A third-party op, installed beside Headrace and found by its entry points.

The package is the one that docs/guides/custom_op.md writes and installs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "guides"))

from guide import follow  # noqa: E402


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the package, as the guide's commands install it."""
    folder = tmp_path_factory.mktemp("third_party")
    site = str(folder / "site")
    # Into a folder instead of the environment of the tests, and without a registry.
    variables = {
        "PIP_TARGET": site,
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "3",
        "PYTHONPATH": os.pathsep.join(p for p in [site, os.environ.get("PYTHONPATH")] if p),
    }
    follow(ROOT / "docs" / "guides" / "custom_op.md", folder, variables)
    return site


def run(script: str, installed: str | None) -> str:
    path = [installed] if installed else []
    path += [p for p in [os.environ.get("PYTHONPATH")] if p]
    prelude = "import numpy as np\nimport headrace.graph as hr\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", prelude + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_op_runs_its_compiled_kernel_beside_headraces_own(installed: str) -> None:
    run(
        """
        x = hr.placeholder(hr.float64, [None])
        y = hr.constant([1.0, -2.0, 3.0], hr.float64)
        z = hr.raw_ops.OuterSine(x=x * 2.0, y=y, frequency=0.5)
        assert z.shape.as_list() == [None, 3] and z.dtype == hr.float64
        assert z.op.node_def.attr["frequency"].f == 0.5
        config = hr.ConfigProto()
        config.experimental.refuse_reference_kernels = True
        with hr.Session(config=config) as session:
            for n in (0, 4, 1000):
                a = np.linspace(-3, 3, n)
                expected = np.sin(a)[:, None] * [1.0, -2.0, 3.0]
                np.testing.assert_allclose(session.run(z, {x: a}), expected, rtol=1e-12)
            total = hr.reduce_sum(z) + 1.0
            session.run(total, {x: np.ones(5)})
            assert "OuterSine (outer_sine)" in session.explain(total, [x])
        """,
        installed,
    )


def test_gradients_flow_through_the_op_and_training_converges(installed: str) -> None:
    run(
        """
        rng = np.random.default_rng(0)
        x = hr.placeholder(hr.float64, [4])
        y = hr.placeholder(hr.float64, [3])
        weights = hr.constant(rng.normal(size=[4, 3]))
        value = hr.reduce_sum(weights * hr.raw_ops.OuterSine(x=x, y=y, frequency=0.7))
        grads = hr.gradients(value, [x, y])
        at = {x: rng.normal(size=4), y: rng.normal(size=3)}
        with hr.Session() as session:
            for place, got in zip((x, y), session.run(grads, at)):
                for i in range(len(got)):
                    step = np.zeros(len(got))
                    step[i] = 1e-6
                    up = session.run(value, {**at, place: at[place] + step})
                    down = session.run(value, {**at, place: at[place] - step})
                    assert abs((up - down) / 2e-6 - got[i]) < 1e-8, (place, i)
        v = hr.Variable([0.1, 0.2], dtype=hr.float32)
        loss = hr.reduce_mean(hr.square(hr.raw_ops.OuterSine(x=v, y=v) - 0.25))
        train = hr.train.GradientDescentOptimizer(0.5).minimize(loss)
        with hr.Session() as session:
            session.run(v.initializer)
            before = session.run(loss)
            for _ in range(50):
                session.run(train)
            assert session.run(loss) < before / 10
        """,
        installed,
    )


def test_errors_name_the_op_when_the_graph_is_built_and_when_it_runs(installed: str) -> None:
    run(
        """
        def said(build):
            try:
                build()
            except (ValueError, hr.errors.InvalidArgumentError) as error:
                return str(error)
        matrix = np.ones([2, 2], np.float32)
        text = said(lambda: hr.raw_ops.OuterSine(x=matrix, y=[1.0]))
        assert "OuterSine" in text and "x must be a vector, but has rank 2" in text, text
        unknown = hr.placeholder(hr.float32)
        z = hr.raw_ops.OuterSine(x=[1.0], y=unknown, name="wave")
        with hr.Session() as session:
            text = said(lambda: session.run(z, {unknown: matrix}))
            assert text.startswith("OuterSine 'wave' (<string>:"), text
            assert "y must be a vector, but has rank 2" in text, text
        try:
            hr.raw_ops.OuterSine(x=[1], y=[2])
        except (TypeError, ValueError) as error:
            assert "int32" in str(error)
        else:
            raise AssertionError("an int32 was taken")
        """,
        installed,
    )


def test_graph_with_the_op_is_imported_from_its_bytes(installed: str) -> None:
    run(
        """
        hr.raw_ops.OuterSine(x=[0.5], y=[2.0], frequency=2.0, name="wave")
        wire = hr.get_default_graph().as_graph_def().SerializeToString()
        with hr.Graph().as_default(), hr.Session() as session:
            (wave,) = hr.import_graph_def(
                hr.GraphDef.FromString(wire), return_elements=["wave:0"], name="")
            np.testing.assert_allclose(session.run(wave), [[2 * np.sin(1.0)]], rtol=1e-6)
        """,
        installed,
    )


def test_op_is_unknown_without_the_package() -> None:
    run(
        """
        assert not hasattr(hr.raw_ops, "OuterSine")
        """,
        None,
    )
