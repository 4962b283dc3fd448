"""mypy and pyright accept a program that uses the public API, and report its mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import numpy as np

import headrace.graph as hr
from headrace.graph.typing import TensorLike


def hidden(x: TensorLike, width: int) -> hr.Tensor:
    h = hr.layers.dense(inputs=x, units=width, activation=hr.nn.relu, name="hidden")
    return hr.nn.dropout(h, keep_prob=0.5)


x = hr.placeholder(hr.float32, [None, 784], name="x")
labels = hr.placeholder(hr.int64, [None])
w = hr.Variable(hr.zeros([784, 10]), name="w")
b = hr.get_variable("b", [10], initializer=hr.zeros_initializer())
logits = hr.matmul(hidden(x, 784), w) + b
logits = x @ w + 2.0 * b
loss = hr.reduce_mean(
    hr.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
)
train = hr.train.AdamOptimizer(1e-3).minimize(loss, var_list=[w, b])
product = hr.raw_ops.MatMul(a=x, b=w, transpose_a=True)
same_name = hr.compat.v1.matmul(x, [[1.0]])
with hr.Session() as session:
    session.run(hr.global_variables_initializer())
    value = session.run(loss, {x: np.zeros([1, 784]), labels: [1]})

reveal_type(hr.exp(x))
reveal_type(w - 1)
reveal_type(loss)
reveal_type(product)
reveal_type(same_name)
reveal_type(hidden(1.0, 2))
"""
# A line with a mistake, and the words of both checkers' errors.
MISTAKES = {
    "hr.matmull(1, 2)": "matmull",
    "hr.nn.rellu(1.0)": "rellu",
    "hr.train.AdamOptimiser(0.1)": "AdamOptimiser",
    "hr.compat.v1.matmull(1, 2)": "matmull",
    "hr.raw_ops.MatMull(a=1, b=2)": "MatMull",
    "hr.matmul(1, 2, transpose_x=True)": "transpose_x",
    "hr.layers.dense(1.0, 3, unitz=3)": "unitz",
    "hr.train.AdamOptimizer(learnrate=1e-3)": "learnrate",
    "hr.raw_ops.MatMul(a=1, b=2, c=3)": "c",
    "hr.reduce_sum(1.0, axxis=1)": "axxis",
    "hr.matmul(object(), 2)": "object",
    "hr.placeholder(3.5)": "float",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "good.py").write_text(PROGRAM)
    (folder / "bad.py").write_text("import headrace.graph as hr\n\n" + "\n".join(MISTAKES) + "\n")
    return folder


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.stdout, done.stderr
    return done.stdout


def test_mypy_strict_accepts_the_program_and_finds_each_mistake(programs: Path) -> None:
    output = run(programs, "mypy", "--strict", "--no-error-summary", "good.py", "bad.py")
    messages = re.findall(r"^(\w+)\.py:(\d+): (error|note): (.*)$", output, re.M)
    assert [m for m in messages if m[0] == "good" and m[2] == "error"] == []
    revealed = [m[3] for m in messages if m[0] == "good" and m[3].startswith("Revealed")]
    tensor = 'Revealed type is "headrace.graph.framework.operation.Tensor"'
    assert revealed == [tensor] * PROGRAM.count("reveal_type")
    errors = {int(m[1]): m[3] for m in messages if m[0] == "bad" and m[2] == "error"}
    assert_each_mistake_is_found(errors)


def test_pyright_accepts_the_program_and_finds_each_mistake(programs: Path) -> None:
    (programs / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    options = ["--pythonpath", sys.executable, "--outputjson"]
    output = run(programs, "basedpyright", *options, "good.py", "bad.py")
    messages = json.loads(output)["generalDiagnostics"]
    of_good = [m for m in messages if m["file"].endswith("good.py")]
    assert [m["message"] for m in of_good if m["severity"] == "error"] == []
    revealed = [m["message"] for m in of_good if m["severity"] == "information"]
    assert len(revealed) == PROGRAM.count("reveal_type")
    assert all(text.endswith('is "Tensor"') for text in revealed), revealed
    errors = {
        m["range"]["start"]["line"] + 1: m["message"]
        for m in messages
        if m["file"].endswith("bad.py") and m["severity"] == "error"
    }
    assert_each_mistake_is_found(errors)


def assert_each_mistake_is_found(errors: dict[int, str]) -> None:
    for number, (line, wrong) in enumerate(MISTAKES.items(), start=3):
        assert f'"{wrong}"' in errors.get(number, ""), f"{line}: {errors.get(number)}"
    assert len(errors) == len(MISTAKES)
