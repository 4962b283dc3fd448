"""`headrace.runtime.load_graph`: a frozen graph as a callable for any thread.

Modules: session/loaded_graph.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concurrently import concurrently

import headrace.graph as hr
from headrace.formats import errors
from headrace.runtime import LoadedGraph, TensorSpec, load_graph


def _graph() -> bytes:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [None, 3], name="x")
        scale = hr.placeholder(hr.float32, [], name="scale")
        hr.identity(hr.matmul(x, hr.constant(np.eye(3, 2), hr.float32)) * scale, name="y")
        hr.reduce_sum(x, name="total")
        hr.placeholder(hr.string, name="words")
        return graph.as_graph_def().SerializeToString()


@pytest.fixture
def model() -> Any:
    with load_graph(_graph(), ["x", "scale"], {"product": "y", "sum": "total:0"}) as result:
        yield result


def test_arrays_go_in_and_come_out_by_name(model: LoadedGraph) -> None:
    found = model({"scale": np.float32(2), "x": np.ones([4, 3], np.float32)})
    assert list(found) == ["product", "sum"]
    np.testing.assert_array_equal(found["product"], np.full([4, 2], 2.0))
    assert found["sum"] == 12.0 and isinstance(found["sum"], np.float32)


def test_inputs_and_outputs_have_names_dtypes_and_shapes(model: LoadedGraph) -> None:
    assert model.inputs == {
        "x": TensorSpec("x:0", hr.float32, (None, 3)),
        "scale": TensorSpec("scale:0", hr.float32, ()),
    }
    assert model.outputs["product"] == TensorSpec("y:0", hr.float32, None)
    with hr.Graph().as_default() as graph:
        hr.identity(hr.placeholder(hr.int32, [None, 3]), name="y")
        wire = graph.as_graph_def(add_shapes=True).SerializeToString()
    with load_graph(wire, {"in": "Placeholder"}, ["y"]) as other:
        assert other.outputs["y"].shape == (None, 3)
        assert other.outputs["y"].dtype.as_numpy_dtype is np.int32


@pytest.mark.parametrize(
    ("fed", "words"),
    [
        ({"x": np.ones([1, 3])}, "input 'scale' is missing: the graph takes 'x', 'scale'"),
        ({"x": 1, "scale": 1, "z": 1}, "there is no input 'z': the graph takes 'x', 'scale'"),
        (
            {"x": np.ones([3, 1], np.float32), "scale": 1.0},
            "Cannot feed value of shape [3, 1] for Tensor 'x:0', which has shape [?, 3]",
        ),
        (
            {"x": np.array([["a", "b", "c"]]), "scale": 1.0},
            "Cannot feed value for Tensor 'x:0', which has dtype float: expected float32 values, "
            "got <U1",
        ),
        ({"x": [[1.0], [2.0, 3.0]], "scale": 1.0}, "which has dtype float: setting an array"),
    ],
)
def test_a_bad_request_is_the_callers_error(
    model: LoadedGraph, fed: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        model(fed)
    assert words in caught.value.message


def test_eight_threads_call_it_at_once(model: LoadedGraph) -> None:
    wrong = []

    def work(number: int) -> None:
        for i in range(200):
            x = np.full([1 + (i + number) % 5, 3], number, np.float32)
            if model({"x": x, "scale": 1.0})["sum"] != x.sum():
                wrong.append((number, i))

    concurrently(work, 8)
    assert not wrong


def test_a_closed_graph_runs_no_more(model: LoadedGraph) -> None:
    model.close()
    model.close()
    with pytest.raises(RuntimeError, match="closed"):
        model({"x": np.ones([1, 3], np.float32), "scale": 1.0})


def test_a_run_ends_at_its_timeout() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [], name="x")
        hr.while_loop(lambda v: v < 2.0, lambda v: hr.identity(v), [x], name="loop")
        wire = graph.as_graph_def().SerializeToString()
        name = next(n.name for n in graph.as_graph_def().node if n.op == "Exit")
    with load_graph(wire, ["x"], {"y": name}) as model:
        assert model({"x": 3.0}, timeout_s=10.0)["y"] == 3.0
        with pytest.raises(errors.DeadlineExceededError):
            model({"x": 1.0}, timeout_s=0.05)


def test_strings_go_in_as_bytes_or_text() -> None:
    with load_graph(_graph(), {"words": "words"}, {"words": "words"}) as model:
        found = model({"words": np.array([b"a", "b"], object)})["words"]
    assert found.tolist() == [b"a", b"b"]


def test_a_file_is_loaded_binary_or_text(tmp_path: Path) -> None:
    binary, text = tmp_path / "g.pb", tmp_path / "g.pbtxt"
    binary.write_bytes(_graph())
    text.write_text(str(hr.GraphDef.FromString(_graph())))
    for path in (binary, str(text)):
        with load_graph(path, ["x"], ["total"]) as model:
            assert model({"x": np.ones([2, 3], np.float32)})["total"] == 6.0


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt"])
def test_a_file_that_is_not_a_graph_is_named_with_the_offset(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(_graph()[:-3] if name == "g.pb" else b"node { oops")
    with pytest.raises(errors.DataLossError, match=r"at byte") as caught:
        load_graph(path, ["x"], ["y"])
    assert caught.value.path == str(path) and caught.value.offset is not None
    path.unlink()
    with pytest.raises(errors.NotFoundError) as missing:
        load_graph(path, ["x"], ["y"])
    assert missing.value.path == str(path)


def test_names_that_the_graph_has_not_are_rejected_when_it_is_loaded() -> None:
    for inputs, outputs in ((["q"], ["y"]), (["x", "scale"], ["q"])):
        with pytest.raises(errors.NotFoundError, match="no node 'q' in the graph"):
            load_graph(_graph(), inputs, outputs)
    with pytest.raises(errors.InvalidArgumentError, match="You must feed a value for placeholder"):
        load_graph(_graph(), ["x"], ["y"])
    with pytest.raises(errors.InvalidArgumentError, match="name twice"):
        load_graph(_graph(), ["x", "x"], ["total"])
    with pytest.raises(TypeError, match="a list of names"):
        load_graph(_graph(), "x", ["total"])


def test_neither_graph_nor_tensorflow_is_imported(tmp_path: Path) -> None:
    (tmp_path / "g.pb").write_bytes(_graph())
    program = f"""
import sys, numpy as np
from headrace.runtime import load_graph
with load_graph({str(tmp_path / "g.pb")!r}, ["x"], ["total"]) as model:
    assert model({{"x": np.ones([2, 3], np.float32)}})["total"] == 6.0
print([m for m in sys.modules if m.startswith(("headrace.graph", "tensorflow"))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
