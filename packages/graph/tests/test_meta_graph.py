from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats.errors import DataLossError
from headrace.graph.serialization.meta_graph import (
    export_scoped_meta_graph,
    import_scoped_meta_graph,
    read_meta_graph_file,
)


def model():
    with hr.variable_scope("net"):
        v = hr.get_variable("v", [2], initializer=hr.zeros_initializer())
        y = v + 1.0
    hr.add_to_collection("outputs", y)
    hr.add_to_collection("numbers", 3)
    hr.add_to_collection("texts", "a")
    hr.while_loop(lambda i: i < 3, lambda i: hr.cond(i < 1, lambda: i + 1, lambda: i + 2), [0])
    return v


@pytest.mark.parametrize("as_text", [False, True])
def test_graph_and_collections_round_trip_through_a_meta_graph(tmp_path, as_text):
    model()
    path = str(tmp_path / "m.meta")
    _, variables = export_scoped_meta_graph(path, as_text=as_text)
    assert list(variables) == ["net/v"]
    with hr.Graph().as_default() as copy:
        found = import_scoped_meta_graph(path)
        assert found["net/v"] is hr.trainable_variables()[0] is hr.global_variables()[0]
        assert copy.get_collection("outputs")[0].name == "net/add:0"
        assert copy.get_collection("numbers") == [3]
        assert copy.get_collection("texts") == [b"a"]
        loop = copy.get_collection(hr.GraphKeys.WHILE_CONTEXT)[0]
        assert loop.loop_exits[0].name == "while/Exit:0" and len(loop.nested) == 2
        assert copy.get_operation_by_name("while/cond/add")._context is loop.nested[0]


def test_import_scope_prefixes_every_name(tmp_path):
    model()
    message, _ = export_scoped_meta_graph()
    with hr.Graph().as_default() as copy:
        found = import_scoped_meta_graph(message, import_scope="again")
        assert found["net/v"].name == "again/net/v:0"
        assert copy.get_collection("outputs")[0].name == "again/net/add:0"


def test_exported_scope_has_no_prefix_and_can_be_rebound():
    x = hr.placeholder(hr.float32, [2], name="x")
    with hr.name_scope("part"):
        hr.identity(x * 2.0, name="out")
    message, _ = export_scoped_meta_graph(export_scope="part")
    assert "out" in [n.name for n in message.graph_def.node]
    with hr.Graph().as_default() as other:
        with pytest.raises(ValueError, match="unbound inputs: x"):
            import_scoped_meta_graph(message)
        mine = hr.constant([1.0, 2.0])
        import_scoped_meta_graph(message, input_map={"x": mine})
        assert other.get_operation_by_name("mul").inputs[0] is mine


def test_export_can_omit_devices_and_default_attributes():
    with hr.device("/cpu:1"):
        hr.raw_ops.MatMul(a=[[1.0]], b=[[1.0]])
    message, _ = export_scoped_meta_graph(clear_devices=True, strip_default_attrs=True)
    product = next(n for n in message.graph_def.node if n.op == "MatMul")
    assert product.device == "" and set(product.attr) == {"T"}


def test_unconvertible_collection_is_omitted_with_a_warning():
    hr.constant(1.0)
    hr.add_to_collection("odd", object())
    with pytest.warns(UserWarning, match="collection 'odd' is left out"):
        message, _ = export_scoped_meta_graph()
    assert "odd" not in message.collection_def


def test_missing_and_corrupted_files_raise(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        read_meta_graph_file(str(tmp_path / "none"))
    (tmp_path / "bad").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataLossError, match="bad is not a MetaGraphDef") as caught:
        read_meta_graph_file(str(tmp_path / "bad"))
    assert caught.value.path.endswith("bad")
