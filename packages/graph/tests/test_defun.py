"""Defun: functions of the graph, their definitions, calls and errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.framework.function_library import InvalidFunctionError
from headrace.graph.functions import Declare, Defun, get_extra_args, get_extra_inputs
from headrace.graph.functions.call_attributes import call_attributes
from headrace.graph.functions.defined_function import DefinedFunction
from headrace.graph.functions.defun import OverloadedFunction, get_extra_vars


@Defun(hr.float32, hr.float32, out_names=["sum", "product"])
def both(x, y):
    """Adds and multiplies."""
    return x + y, x * y


def test_a_call_is_a_node_of_the_function(graph):
    total, product = both(1.0, hr.constant(2.0), name="call")
    assert (total.op.name, total.op.type) == ("call", both.name)
    assert both.name.startswith("both_")
    assert product.op is total.op and product.value_index == 1
    assert total.op.op_def.name == both.name
    assert graph._is_function(both.name)
    assert graph._get_function(both.name).definition == both.definition
    assert [f.signature.name for f in graph.as_graph_def().library.function] == [both.name]


def test_the_definition_names_arguments_results_and_nodes():
    definition = both.definition
    signature = definition.signature
    assert [a.name for a in signature.input_arg] == ["x", "y"]
    assert [a.name for a in signature.output_arg] == ["sum", "product"]
    assert dict(definition.ret) == {"sum": "add:z:0", "product": "mul:z:0"}
    assert [(n.op, list(n.input)) for n in definition.node_def] == [
        ("AddV2", ["x", "y"]),
        ("Mul", ["x", "y"]),
    ]
    assert signature.description == "Adds and multiplies."
    assert not signature.is_stateful


def test_equal_functions_have_equal_names(graph):
    def f(x):
        return x * 2.0

    one, other = Defun(hr.float32)(f), Defun(hr.float32)(f)
    assert one.name == other.name
    one(1.0), other(2.0)
    assert len(graph._functions) == 1
    assert Defun(hr.float64)(f).name != one.name


def test_captured_tensors_are_the_last_arguments(graph):
    a, b = hr.constant(1.0, name="a"), hr.constant(2.0, name="b")

    @Defun(hr.float32)
    def f(x):
        y = x + b + a + b
        assert get_extra_inputs() == [b, a]
        assert [t.op.name for t in get_extra_args()] == ["b", "a"]
        return y

    y = f(3.0)
    assert list(y.op.inputs[1:]) == [b, a] == f.captured_inputs
    assert f.declared_input_types == [hr.float32]
    assert [x.name for x in f.definition.signature.input_arg] == ["x", "b", "a"]
    assert get_extra_inputs() == get_extra_args() == get_extra_vars() == []


def test_variables_are_made_outside(graph):
    @Defun(hr.float32)
    def f(x):
        v = hr.get_variable("v", [], use_resource=True)  # its value
        w = hr.get_variable("w", [])
        assert len(get_extra_vars()) == 2
        return x + v + w

    f(1.0)
    assert [v.name for v in hr.global_variables()] == ["v:0", "w:0"]
    assert all(v.graph is graph for v in hr.global_variables())
    assert [t.dtype for t in f.captured_inputs] == [hr.float32, hr.float32]
    assert f.stateful_ops == []


def test_a_handle_is_captured_if_it_is_asked_for(graph):
    @Defun(hr.float32, capture_resource_var_by_value=False)
    def f(x):
        return x + hr.get_variable("v", [3], use_resource=True)

    f(1.0)
    assert [t.dtype for t in f.captured_inputs] == [hr.resource]
    assert f.stateful_ops == [("add/ReadVariableOp", "ReadVariableOp")]
    assert f.definition.signature.is_stateful
    (data,) = f.definition.signature.input_arg[1].handle_data
    assert [d.size for d in data.shape.dim] == [3]


def test_a_reference_is_captured(graph):
    v = hr.Variable(1.0)

    @Defun(hr.float32)
    def f(x):
        return hr.assign_add(v, x)

    f(1.0)
    assert [t.dtype.name for t in f.captured_inputs] == ["float32_ref"]
    assert f.definition.signature.input_arg[1].is_ref


def test_results_have_unknown_shapes_unless_a_function_says_them(graph):
    @Defun(hr.float32, shape_func=lambda op: [op.inputs[0].get_shape()])
    def f(x):
        return x * 2.0

    x = hr.constant([1.0, 2.0])
    assert f(x).shape.as_list() == [2]
    assert both(x, x)[0].shape.ndims is None

    @Defun(hr.float32, shape_func=lambda op: [])
    def g(x):
        return x

    with pytest.raises(ValueError, match="produced 0 shapes, which does not match 1 outputs"):
        g(x)


def test_attributes_of_calls(graph):
    @Defun(hr.float32, noinline=True, experimental_note="n")
    def f(x):
        return x

    y = f(1.0, noinline=False)
    assert y.op.get_attr("_noinline") is False
    assert f.definition.attr["_noinline"].b
    assert f.definition.attr["experimental_note"].s == b"n"
    assert call_attributes("f", {"compiled": True})["_XlaScope"].s == b"function_f"
    with pytest.raises(ValueError, match="Unknown keyword arguments: speed"):
        f(1.0, speed=2)
    with pytest.raises(ValueError, match="Attribute _implements must be str"):
        call_attributes("f", {"_implements": 3})


def test_a_function_without_results_returns_its_operation(graph):
    @Defun(hr.float32)
    def f(x):
        hr.Print(x, [x])

    assert isinstance(f(1.0), hr.Operation)


def test_overloads(graph):
    @Defun(func_name="twice")
    def f(x):
        return x + x

    assert isinstance(f, OverloadedFunction)
    assert f(hr.constant(1)).op.type == "twice_i32"
    assert f(hr.constant(1.0)).op.type == "twice_f32"
    assert f.instantiate([hr.int32]) is f.instantiate([hr.int32])
    assert isinstance(f.instantiate([hr.string]), DefinedFunction)


def test_the_gradient_of_an_overload_is_instantiated(graph):
    @Defun()
    def grad(x, dy):
        return dy * 2.0

    @Defun(grad_func=grad)
    def f(x):
        return x * 2.0

    f(1.0)
    (entry,) = graph.as_graph_def().library.gradient
    assert entry.function_name.startswith("f_") and entry.gradient_func.startswith("grad_")
    with pytest.raises(ValueError, match="Gradient defined twice"):
        f.instantiate([hr.float32]).set_grad_func(grad)


def test_a_declared_function_calls_itself(graph):
    again = Declare("again", [("n", hr.int32)], [("m", hr.int32)])

    @Defun(hr.int32, func_name="again", out_names=["m"])
    def f(n):
        return hr.cond(n > 0, lambda: again(n - 1), lambda: n)

    assert again.name == "again"
    assert f(3).dtype is hr.int32
    assert [n.op for n in f.definition.node_def].count("again") == 1
    with pytest.raises(InvalidFunctionError, match="declared with output_arg"):
        Declare("again", [("n", hr.int32)], [("m", hr.string)])(3)


def test_wrong_calls_are_rejected(graph):
    with pytest.raises(ValueError, match="Expected number of arguments: 2, received: 1"):
        both(1.0)
    with pytest.raises(ValueError, match="was passed int32 .* incompatible with expected float32"):
        both(1.0, 2)


def test_wrong_functions_are_rejected(graph):
    with pytest.raises(ValueError, match="must be a callable"):
        Defun(hr.float32)(3)
    with pytest.raises(ValueError, match="argument defaults or keywords"):
        Defun(hr.float32)(lambda x=1: x)
    with pytest.raises(ValueError, match="not compatible with the allowed arguments"):
        Defun(hr.float32)(lambda x, y: x)
    with pytest.raises(ValueError, match="can not return None"):
        Defun(hr.float32)(lambda x: (x, None))(1.0)
    with pytest.raises(ValueError, match="Must not have duplicates in out_names"):
        Defun(hr.float32, out_names=["a", "a"])(lambda x: (x, x))(1.0)
    with pytest.raises(ValueError, match=r"len\(out_names\) = 1 len\(outputs\) = 2"):
        Defun(hr.float32, out_names=["a"])(lambda x: (x, x))(1.0)


def test_another_function_of_the_same_name_is_rejected(graph):
    Defun(hr.float32, func_name="f")(lambda x: x * 2.0)(1.0)
    with pytest.raises(
        InvalidArgumentError, match="different function with the same name"
    ) as error:
        Defun(hr.float32, func_name="f")(lambda x: x * 3.0)(1.0)
    assert isinstance(error.value, ValueError)


def test_copied_captures(graph):
    outer = hr.constant(2.0) * 3.0

    @Defun(hr.float32, capture_by_value=True)
    def f(x):
        return x + outer

    assert f.captured_inputs == []
    assert {n.op for n in f.definition.node_def} == {"Const", "Mul", "AddV2"}
    x = hr.placeholder(hr.float32, [])
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        Defun(capture_by_value=True)(lambda: x + 1.0)()
    random = hr.random_uniform([])
    with pytest.raises(ValueError, match="Cannot capture a stateful node"):
        Defun(capture_by_value=True)(lambda: random + 1.0)()


def test_a_tensor_of_a_function_is_not_accessible_in_another(graph):
    leaked = []

    @Defun(hr.float32)
    def f(x):
        leaked.append(x)
        return x

    f(1.0)
    with pytest.raises(ValueError, match="cannot be accessed here"):
        Defun()(lambda: leaked[0] + 1.0)()


def test_a_gradient_given_twice_is_rejected(graph):
    grad = Defun(hr.float32, hr.float32)(lambda x, dy: dy)
    f = Defun(hr.float32, grad_func=grad, python_grad_func=lambda op, dy: dy)(lambda x: x)
    with pytest.raises(ValueError, match="Gradient defined twice"):
        f(1.0)
