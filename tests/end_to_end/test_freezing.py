"""freeze_graph and inspect_checkpoint, as programs import them from tensorflow.python.tools."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.checkpoints import checkpoint_listing
from headrace.graph.python.tools import freeze_graph, inspect_checkpoint
from headrace.graph.training import graph_freezing


@pytest.fixture
def trained(tmp_path):
    """Returns a folder with a graph as text and binary, its MetaGraph and a checkpoint."""
    for use_resource in (False, True):
        folder = tmp_path / f"{use_resource}"
        with hr.Graph().as_default() as graph, hr.Session() as session:
            x = hr.placeholder(hr.float32, [None, 2], name="x")
            w = hr.get_variable("w", initializer=[[2.0], [3.0]], use_resource=use_resource)
            hr.identity(hr.matmul(x, w), name="y")
            session.run(hr.global_variables_initializer())
            hr.train.Saver().save(session, str(folder / "model"))
            hr.train.write_graph(graph, str(folder), "graph.pbtxt")
            hr.train.write_graph(graph, str(folder), "graph.pb", as_text=False)
            hr.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": w})
    return tmp_path


def output(message):
    with hr.Graph().as_default(), hr.Session() as session:
        (y,) = hr.import_graph_def(message, return_elements=["y:0"], name="")
        return session.run(y, {"x:0": [[1.0, 10.0]]}).tolist()


@pytest.mark.parametrize("kind", ["False", "True"])
def test_a_graph_is_frozen_from_each_form(trained, kind) -> None:
    folder = trained / kind
    model = str(folder / "model")
    rest = ("save/restore_all", "save/Const:0", str(folder / "out" / "frozen.pb"), True, "")
    freeze = freeze_graph.freeze_graph
    assert freeze is graph_freezing.freeze_graph
    found = [
        freeze(str(folder / "graph.pbtxt"), "", False, model, "y", *rest),
        freeze(str(folder / "graph.pb"), "", True, model, " y", *rest),
        freeze("", "", True, model, "y", *rest, input_meta_graph=f"{model}.meta"),
        freeze("", "", True, "", "y", *rest, input_saved_model_dir=str(folder / "saved")),
    ]
    for message in found:
        assert not {n.op for n in message.node} & {"VariableV2", "VarHandleOp", "Assign"}
        assert output(message) == [[32.0]]
    with open(folder / "out" / "frozen.pb", "rb") as file:
        assert output(hr.GraphDef.FromString(file.read())) == [[32.0]]
    with pytest.raises(hr.errors.NotFoundError, match="none' doesn't exist"):
        freeze(str(folder / "graph.pb"), "", True, "none", "y", *rest)
    with pytest.raises(ValueError, match="supply the name of a node"):
        freeze(str(folder / "graph.pb"), "", True, model, "", *rest)


def test_the_tensors_of_a_checkpoint_are_printed(trained, capsys) -> None:
    show = inspect_checkpoint.print_tensors_in_checkpoint_file
    assert show is checkpoint_listing.print_tensors_in_checkpoint_file
    path = str(trained / "False" / "model")
    show(path, "w", all_tensors=False)
    text = capsys.readouterr().out
    assert "tensor_name:  w" in text and "[2.]" in text and "number of params: 2" in text
    show(path, "", all_tensors=False, all_tensor_names=True)
    assert "[2.]" not in capsys.readouterr().out
    show(path, "", all_tensors=True, count_exclude_pattern="^w$")
    text = capsys.readouterr().out
    assert str(np.array([[2.0], [3.0]], np.float32)) in text and "number of params: 0" in text
    show(path, "", all_tensors=False)
    assert "w" in capsys.readouterr().out
    with pytest.raises(hr.errors.NotFoundError):
        show(path, "none", all_tensors=False)
