from __future__ import annotations

import pytest
from google.protobuf import text_format

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.proto.graph_pb2 import GraphDef


def parsed(text):
    return text_format.Parse(text, GraphDef())


X = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'


def neg(name, source):
    return (
        f'node {{ name: "{name}" op: "Neg" input: "{source}" '
        'attr { key: "T" value { type: DT_FLOAT } } }'
    )


def test_names_get_the_prefix_and_repeat(graph):
    hr.import_graph_def(parsed(X + neg("y", "x")))
    hr.import_graph_def(parsed(X + neg("y", "x")))
    hr.import_graph_def(parsed(X + neg("y", "x")), name="mine")
    assert [o.name for o in graph.get_operations()] == [
        "import/x", "import/y", "import_1/x", "import_1/y", "mine/x", "mine/y",
    ]  # fmt: skip


def test_import_accepts_nodes_in_any_order(graph):
    hr.import_graph_def(parsed(neg("z", "y") + neg("y", "x") + X), name="")
    assert [o.name for o in graph.get_operations()] == ["x", "y", "z"]


def test_inputs_are_replaced_and_elements_returned():
    mine = hr.constant([1.0, 2.0])
    y, tensor = hr.import_graph_def(
        parsed(X + neg("y", "x")), {"x:0": mine}, ["y", "y:0"], name="i"
    )
    assert y.inputs[0] is mine and tensor.shape == [2]
    with pytest.raises(ValueError, match=r"not found in graph_def: \[nothing\]"):
        hr.import_graph_def(parsed(X), {"nothing": mine})
    with pytest.raises(ValueError, match="return node 'z' not found in graph def"):
        hr.import_graph_def(parsed(X), return_elements=["z"])


BAD = {
    "cycle": (neg("a", "b") + neg("b", "a"), "cycle that is not a while loop: .*a -> b"),
    "self": (neg("a", "a"), "cycle"),
    "dangling": (neg("y", "x"), "Node 'y': Unknown input node 'x'"),
    "output": (X + neg("y", "x:3"), "invalid output 3 of source node x which has 1 outputs"),
    "twice": (X + X, "Node 'x' is not unique"),
    "name": (X.replace('"x"', '"_ x"'), "not a valid node name"),
    "type": (
        X + neg("y", "x").replace("DT_FLOAT", "DT_INT32"),
        r"Neg 'y': input 0 \(x\) was passed float incompatible with expected int32",
    ),
    "not allowed": (
        X + neg("y", "x").replace("DT_FLOAT", "DT_STRING"),
        "not in list of allowed values",
    ),
    "missing attr": ('node { name: "x" op: "Placeholder" }', "NodeDef missing attr 'dtype'"),
    "attr kind": (
        X.replace("type: DT_FLOAT", "i: 1"),
        "attr 'dtype' of Placeholder holds i, not a type",
    ),
    "few inputs": ('node { name: "y" op: "Neg" attr { key: "T" value { type: DT_FLOAT } } }',
                   "expected inputs 'float' do not match 0 inputs specified"),
    "colocation": (
        X[:-1] + 'attr { key: "_class" value { list { s: "loc:@gone" } } } }',
        "colocated with unknown node 'gone'",
    ),
    "device": (X[:-1] + 'device: "/nonsense:1" }', "nonsense"),
    "consumer": (X + "versions { producer: 9999 min_consumer: 9999 }", "requires a reader"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_invalid_graphs_raise_and_name_the_node(case):
    text, message = BAD[case]
    with pytest.raises(ValueError, match=message) as caught:
        hr.import_graph_def(parsed(text))
    assert isinstance(caught.value, InvalidArgumentError)


def test_unknown_op_raises_with_similar_names():
    with pytest.raises(NotFoundError, match="node 'y': .*MatMull.*MatMul") as caught:
        hr.import_graph_def(parsed('node { name: "y" op: "MatMull" }'))
    assert isinstance(caught.value, ValueError)


def test_import_accepts_bytes_and_rejects_corrupted_ones():
    wire = parsed(X).SerializeToString()
    hr.import_graph_def(wire, name="whole")
    with pytest.raises(InvalidArgumentError, match="not a GraphDef"):
        hr.import_graph_def(wire[:-3])
    with pytest.raises(TypeError, match="must be a GraphDef"):
        hr.import_graph_def("text")


def test_incompatible_shapes_raise():
    a = hr.placeholder(hr.float32, [2, 3], name="a")
    b = hr.placeholder(hr.float32, [4, 5], name="b")
    message = a.graph.as_graph_def()
    node = message.node.add(name="m", op="MatMul", input=["a", "b"])
    node.attr["T"].type = 1
    assert b is not None
    with pytest.raises(ValueError, match="MatMul 'import/m'"):
        hr.import_graph_def(message)


def test_unknown_attributes_are_kept(graph):
    message = parsed(
        X[:-1] + 'attr { key: "_mine" value { i: 5 } } attr { key: "new" value { s: "a" } } }'
    )
    hr.import_graph_def(message, name="")
    node = graph.as_graph_def().node[0]
    assert node.attr["_mine"].i == 5 and node.attr["new"].s == b"a"
    assert graph.get_operation_by_name("x").get_attr("_mine") == 5


def test_imported_loops_have_their_back_edges(graph):
    hr.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    message = graph.as_graph_def()
    with hr.Graph().as_default() as copy:
        hr.import_graph_def(message, name="again")
    merge = copy.get_operation_by_name("again/while/Merge")
    assert [t.op.type for t in merge.inputs] == ["Enter", "NextIteration"]
    enter = copy.get_operation_by_name("again/while/Enter")
    assert enter.get_attr("frame_name") == b"again/while/while_context"


def test_a_library_of_functions_is_kept_and_called(graph):
    text = """
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
      node { name: "f" op: "my_function" input: "x" }
      library { function { signature { name: "my_function"
        input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } } } }
    """
    hr.import_graph_def(parsed(text), name="")
    assert graph.get_tensor_by_name("f:0").dtype is hr.float32
    assert graph.as_graph_def().library.function[0].signature.name == "my_function"


def test_active_devices_fill_missing_parts_of_a_device(graph):
    with hr.device("/job:ps"):
        hr.import_graph_def(parsed(X[:-1] + 'device: "/cpu:1" }'), name="")
    assert graph.get_operation_by_name("x").device == "/job:ps/device:CPU:1"
