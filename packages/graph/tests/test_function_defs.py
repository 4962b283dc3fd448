"""Graphs to FunctionDefs and back, and libraries of functions in files."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

import headrace.graph as hr
from headrace.formats.proto.graph_pb2 import FunctionDef, GraphDef
from headrace.formats.proto.op_pb2 import AttrValue, NameAttrList
from headrace.graph.framework.function_library import (
    InvalidFunctionError,
    LibraryFunction,
    called_names,
    library_functions,
    needed_library,
)
from headrace.graph.framework.graph_codec import graph_wire
from headrace.graph.functions import Defun
from headrace.graph.functions.call_shapes import called_function, set_call_shapes
from headrace.graph.functions.func_graph import FuncGraph
from headrace.graph.functions.function_body import FunctionBody, make_function
from headrace.graph.functions.function_to_graph import body_of, function_def_to_graph
from headrace.graph.functions.graph_to_function import graph_to_function_def, name_with_hash


def definition_of(text):
    return text_format.Parse(text, FunctionDef())


def test_outputs_are_named_by_node_output_and_index():
    graph = FuncGraph("f")
    with graph.as_default():
        x = graph.add_input(hr.float32, (4,), "x")
        parts = hr.split(x, 2)
        unique = hr.unique(hr.concat(parts, 0))
    made = graph_to_function_def("f", graph.get_operations(), [x], [parts[1], unique.idx])
    assert [a.name for a in made.signature.output_arg] == ["split", "unique"]
    assert dict(made.ret) == {"split": "split:output:1", "unique": "Unique:idx:0"}
    concat = next(n for n in made.node_def if n.op == "ConcatV2")
    assert list(concat.input) == ["split:output:0", "split:output:1", "concat/axis:output:0"]
    assert made.arg_attr[0].attr["_output_shapes"].list.shape[0].dim[0].size == 4


def test_names_of_arguments_and_nodes_do_not_collide():
    graph = FuncGraph("f")
    with graph.as_default():
        one = graph.add_input(hr.float32, (), "Scope/X")
        other = graph.add_input(hr.float32, (), "scope_x")
        y = hr.identity(one, name="scope_x") + other
    made = graph_to_function_def("f", graph.get_operations(), [one, other], [y, y])
    assert [a.name for a in made.signature.input_arg] == ["scope_x", "scope_x_0"]
    assert [n.name for n in made.node_def] == ["scope_x_1", "add"]
    assert [a.name for a in made.signature.output_arg] == ["add", "add_0"]
    assert list(made.node_def[0].input) == ["scope_x"]


def test_interior_tensors_may_be_arguments():
    graph = FuncGraph("f")
    with graph.as_default():
        x = graph.add_input(hr.float32, (), "x")
        inner = hr.sin(x, name="inner")
        y = inner * 2.0
    operations = [y.op, y.op.inputs[1].op]
    made = graph_to_function_def("f", operations, [inner], [y])
    assert [a.name for a in made.signature.input_arg] == ["inner"]
    with pytest.raises(ValueError, match="which is not in the function"):
        graph_to_function_def("f", [y.op], [inner], [y])
    with pytest.raises(ValueError, match="its result .* is not in the function"):
        graph_to_function_def("f", [], [x], [y])


def test_control_outputs_and_control_inputs():
    graph = FuncGraph("f")
    with graph.as_default():
        x = graph.add_input(hr.float32, (), "x")
        done = hr.no_op(name="done")
        with hr.control_dependencies([done, x]):
            y = hr.constant(1.0)
    made = graph_to_function_def("f", graph.get_operations(), [x], [y], None, [done])
    assert dict(made.control_ret) == {"done": "done"}
    assert list(made.signature.control_output) == ["done"]
    assert list(made.node_def[1].input) == ["^done", "^x"]
    body = function_def_to_graph(made)
    assert [op.name for op in body.control_outputs] == ["done"]
    assert [op.name for op in body.outputs[0].op.control_inputs] == ["done", "x"]


def test_colocation_with_arguments_is_left_out():
    graph = FuncGraph("f")
    with graph.as_default():
        x = graph.add_input(hr.float32, (), "x")
        y = hr.identity(x, name="y")
        with hr.colocate_with(x), hr.colocate_with(y):
            z = hr.identity(y)
    made = graph_to_function_def("f", graph.get_operations(), [x], [z])
    assert list(made.node_def[-1].attr["_class"].list.s) == [b"loc:@y"]


def test_a_definition_is_equal_after_a_round_trip(graph):
    v = hr.Variable([1.0], use_resource=True)

    @hr.function
    def f(x):
        v.assign_add(x)
        return hr.while_loop(lambda i: i < 3, lambda i: i + 1, [0]), hr.cond(
            x[0] > 0.0, lambda: x * v, lambda: x
        )

    made = f.get_concrete_function(hr.TensorSpec([1])).definition
    body = function_def_to_graph(made)
    again = body.definition(made.signature.name)
    assert [n.name for n in again.node_def] and len(again.node_def) == len(made.node_def)
    assert {n.name: n for n in again.node_def} == {n.name: n for n in made.node_def}
    assert again.signature == made.signature
    assert (again.ret, again.control_ret) == (made.ret, made.control_ret)


def test_attributes_of_the_call_replace_placeholders():
    definition = definition_of(
        """
        signature { name: "f" input_arg { name: "x" type_attr: "T" }
          output_arg { name: "y" type_attr: "T" } attr { name: "T" type: "type" } }
        node_def { name: "n" op: "AddV2" input: "x" input: "x"
          attr { key: "T" value { placeholder: "T" } } }
        ret { key: "y" value: "n:z:0" }
        """
    )
    body = function_def_to_graph(definition, attrs={"T": AttrValue(type=9)})
    assert body.outputs[0].dtype is hr.int64
    with pytest.raises(InvalidFunctionError, match="attribute 'T' is not found in the call"):
        function_def_to_graph(definition)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('output_arg { name: "y" type: DT_FLOAT } } ', "return 'y' missing in ret"),
        ('output_arg { name: "y" type: DT_FLOAT } } ret { key: "y" value: "n:z:0" }', "'n:z:0'"),
        ('input_arg { name: "x" type: DT_FLOAT number_attr: "N" } }', "argument 'x' is a list"),
        ('} node_def { name: "n" op: "Nonsense" }', "Function 'f', node 'n': no op named"),
        ('} node_def { name: "n" op: "Neg" input: "m:y:0" }', "input 'm:y:0' is not in the body"),
        ('} node_def { name: "n" op: "Neg" input: "^m" }', "Unknown input node 'm'"),
        ('control_output: "c" }', "'c' not found"),
    ],
)
def test_malformed_definitions_are_rejected(text, message):
    with pytest.raises(InvalidFunctionError, match=message):
        function_def_to_graph(definition_of('signature { name: "f" ' + text))


def test_functions_of_a_graph_def_are_kept(graph):
    @hr.function
    def inner(x):
        return x * 2.0

    @Defun(hr.float32, noinline=True)
    def f(x):
        return inner(x)

    x = hr.placeholder(hr.float32, [3], name="x")
    hr.identity(f(x), name="y")
    written = graph.as_graph_def()
    with hr.Graph().as_default() as other:
        hr.import_graph_def(written, name="part")
        again = other.as_graph_def()
        assert other.get_tensor_by_name("part/y:0").dtype is hr.float32
        hr.import_graph_def(written, name="more")  # the same functions
    assert {f.signature.name for f in again.library.function} == set(graph._functions)
    assert again.library == written.library
    with hr.Graph().as_default():
        written.library.function[0].node_def[0].name = "other"
        hr.import_graph_def(written)
        written.library.function[0].node_def[0].name = "another"
        with pytest.raises(InvalidFunctionError, match="different function with the same name"):
            hr.import_graph_def(written)


def test_imported_calls_have_the_shapes_of_the_body(graph):
    @hr.function
    def f(x):
        return hr.reduce_sum(x, 0), hr.shape(x)

    message = GraphDef()
    total, _ = f(hr.placeholder(hr.float32, [None, 3]))
    message.CopyFrom(graph.as_graph_def())
    with hr.Graph().as_default() as other:
        hr.import_graph_def(message, name="")
        call = other.get_operation_by_name(total.op.name)
        assert [t.shape.as_list() for t in call.outputs] == [[3], [2]]
        assert called_function(call).name == total.op.get_attr("f").name
    for node in message.node:
        if node.name == total.op.name:
            shapes = node.attr["_output_shapes"].list
            shapes.shape.add().dim.add(size=7)
            shapes.shape.add().dim.add(size=8)
    with hr.Graph().as_default() as other:
        hr.import_graph_def(message, name="")
        call = other.get_operation_by_name(total.op.name)
        assert [t.shape.as_list() for t in call.outputs] == [[7], [8]]
        set_call_shapes(call)
        assert call.outputs[0].shape.as_list() == [7]


def test_a_function_that_calls_itself_has_unknown_shapes(graph):
    text = """
      node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
        attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
      node { name: "y" op: "again" input: "x" }
      library { function { signature { name: "again"
          input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
        node_def { name: "call" op: "again" input: "a" }
        ret { key: "b" value: "call:b:0" } } }
    """
    hr.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    assert graph.get_tensor_by_name("y:0").shape.ndims is None


def test_the_body_of_a_function_is_made_once(graph):
    f = Defun(hr.float32)(lambda x: x * 2.0)
    f(1.0)
    function = graph._get_function(f.name)
    assert body_of(function, graph) is function.body
    read = LibraryFunction(function.definition)
    assert body_of(read, graph) is body_of(read, graph)
    assert body_of(read, graph, [(2,)]).outputs[0].shape.as_list() == [2]


def test_functions_that_nodes_need_are_found(graph):
    inner = hr.function(lambda x: x * 2.0)
    used = Defun(hr.float32, func_name="used")(lambda x: inner(x))
    unused = Defun(hr.float32, func_name="unused")(lambda x: x)
    used(1.0, name="kept"), unused(1.0)
    message = graph.as_graph_def()
    part = hr.graph_util.extract_sub_graph(message, ["kept"])
    names = [f.signature.name for f in part.library.function]
    assert len(names) == 2 and "used" in names and "unused" not in names
    assert "used" in called_names(message.node)
    assert not needed_library(message.library, []).function


def test_gradients_in_the_library_are_kept(graph):
    grad = Defun(hr.float32, hr.float32, func_name="g")(lambda x, dy: dy)
    Defun(hr.float32, func_name="f", grad_func=grad)(lambda x: x)(1.0)
    library = graph.as_graph_def().library
    assert [(g.function_name, g.gradient_func) for g in library.gradient] == [("f", "g")]
    with hr.Graph().as_default() as other:
        hr.import_graph_def(graph.as_graph_def(), name="")
        assert other._get_function("f").grad_func_name == "g"
        assert other.as_graph_def().library == library
    library.gradient[0].gradient_func = "none"
    with pytest.raises(InvalidFunctionError, match="FunctionDefLibrary missing 'none' FunctionDef"):
        library_functions(library)


def test_a_meta_graph_has_functions_and_their_ops(graph):
    hr.function(lambda x: hr.sin(x))(hr.constant(1.0))
    message = hr.train.export_meta_graph()
    assert len(message.graph_def.library.function) == 1
    assert "Sin" in [op.name for op in message.meta_info_def.stripped_op_list.op]
    with hr.Graph().as_default() as other:
        hr.train.import_meta_graph(message)
        assert len(other._functions) == 1


def test_functions_as_attributes_are_added_to_the_graph(graph):
    f = Defun(hr.float32)(lambda x: x * 2.0)
    (y,) = hr.raw_ops.PartitionedCall(args=[1.0], Tout=[hr.float32], f=f)
    assert y.op.get_attr("f") == NameAttrList(name=f.name)
    assert graph._is_function(f.name)
    (z,) = hr.raw_ops.Case(branch_index=0, input=[1.0], Tout=[hr.float32], branches=[f, f])
    assert [b.name for b in z.op.get_attr("branches")] == [f.name] * 2


def test_names_depend_on_the_definition_alone():
    graph = FuncGraph("f")
    x = graph.add_input(hr.float32, (), "x")
    body = FunctionBody(graph, [x], [x], [])
    one = make_function(body, "f")
    assert one.name == name_with_hash("f", one.definition)
    assert one.name != name_with_hash("f", one.definition, ["called"])
    assert make_function(body, "f", name="exact").name == "exact"


def test_calls_may_be_nested_deeply(graph):
    message = GraphDef()
    for number in range(300):
        function = message.library.function.add()
        function.signature.name = f"f{number}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        function.ret["y"] = "call:y:0" if number else "x"
        if number:
            function.node_def.add(name="call", op=f"f{number - 1}", input=["x"])
    node = message.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    message.node.add(name="y", op="f299", input=["x"])
    hr.import_graph_def(message, name="")
    assert graph.get_tensor_by_name("y:0").shape.ndims is None
    assert len(graph._functions) == 300


def test_a_session_gets_the_functions_once(graph):
    f = Defun(hr.float32)(lambda x: x)
    f(1.0)
    known = graph._library_wire()
    assert GraphDef.FromString(graph_wire(graph)).library.function
    assert not GraphDef.FromString(graph_wire(graph, known_library=known)).library.function
    Defun(hr.float32)(lambda x: -x)(1.0)
    assert len(GraphDef.FromString(graph_wire(graph, known_library=known)).library.function) == 2
