"""Gradients of calls: which nodes they add, and what they reject. tests/functions runs them."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.formats import services
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.graph_pb2 import FunctionDefLibrary
from headrace.formats.proto.op_pb2 import NameAttrList
from headrace.graph.functions import Case, Declare, Defun, For, If, While, functional_ops
from headrace.graph.functions.branch_gradients import _if
from headrace.graph.functions.call_gradients import call_gradient, replace_function
from headrace.graph.functions.differentiation import body_gradient, cuts_of, has_gradient
from headrace.graph.functions.function_to_graph import body_of
from headrace.graph.functions.gradient_functions import function_gradient, whole_gradient
from headrace.graph.functions.loop_gradients import _while


def types(graph):
    return [op.type for op in graph.get_operations()]


def test_a_simple_defun_gets_a_symbolic_gradient(graph):
    f = Defun(hr.float32, hr.int32)(lambda x, i: (hr.sin(x), i))
    x = hr.constant([1.0, 2.0])
    (grad,) = hr.gradients(f(x, 3, noinline=True)[0], x)
    assert grad.op.type == "SymbolicGradient"
    assert [t.dtype for t in grad.op.inputs] == [hr.float32, hr.int32, hr.float32, hr.int32]
    assert [t.dtype for t in grad.op.outputs] == [hr.float32, hr.int32]
    assert grad.shape.as_list() == [2]
    attr = grad.op.get_attr("f")
    assert attr.name == f.name and attr.attr["_noinline"].b
    (second,) = hr.gradients(grad, x)
    assert second.op.type == "PartitionedCall"


def test_a_stateless_function_is_computed_again(graph):
    x = hr.constant(2.0)
    y = hr.function(lambda x: x * hr.sin(x))(x)
    name = y.op.get_attr("f").name
    (grad,) = hr.gradients(y, x)
    assert y.op.get_attr("f").name == name and len(y.op.outputs) == 1
    assert grad.op.type == "PartitionedCall"
    assert grad.op.get_attr("f").name.startswith(f"__backward_{name}")
    assert grad.op.inputs[0] is x


def test_results_of_stateful_operations_are_passed_on(graph):
    v = hr.Variable([1.0, 2.0], use_resource=True)
    y = hr.function(lambda x: hr.nn.dropout(x * v, 0.5))(hr.constant([3.0, 4.0]))
    call = y.op
    (grad,) = hr.gradients(y, v)
    assert call.get_attr("f").name.startswith("__forward_")
    assert [t.dtype for t in call.outputs[1:]] == [hr.float32] * (len(call.outputs) - 1)
    assert set(call.outputs[1:]) & set(grad.op.inputs)
    function = graph._get_function(grad.op.get_attr("f").name)
    assert not {"RandomUniform", "ReadVariableOp"} & {n.op for n in function.definition.node_def}
    before = len(call.outputs)
    hr.gradients(y, v)  # again: the call returns what this gradient needs already
    assert len(call.outputs) == before


def test_a_session_rejects_a_call_that_changed_after_a_run(graph):
    x = hr.constant([3.0, 4.0])
    y = hr.function(lambda x: hr.nn.dropout(x, 0.5))(x)
    seen = len(graph._changed)
    hr.gradients(y, x)
    assert y.op in graph._changed[seen:]


def test_all_calls_of_a_function_share_its_gradient(graph):
    f = hr.function(lambda x: x * x)
    x = hr.constant(1.0)
    hr.gradients(f(f(f(x))), x)
    assert len(graph._functions) == 2


def test_a_random_number_leaves_its_branch_for_the_gradient(graph):
    f = hr.function(lambda x: hr.cond(x > 0.0, lambda: x * hr.random_uniform([]), lambda: x))
    x = hr.constant(1.0)
    (grad,) = hr.gradients(f(x), x)
    backward = graph._get_function(grad.op.get_attr("f").name).definition
    ops = [node.op for node in backward.node_def]
    assert "RandomUniform" not in ops and "Switch" in ops


def test_a_variable_may_be_read_in_a_branch(graph):
    v = hr.Variable(2.0, use_resource=True)
    f = hr.function(lambda x: hr.cond(x > 0.0, lambda: x * v, lambda: x))
    assert all(g is not None for g in hr.gradients(f(hr.constant(1.0)), [v]))


def test_a_loop_from_a_file_has_no_gradient(graph):
    f = hr.function(lambda x: hr.while_loop(lambda a: a < 9.0, lambda a: a * a, [x]))
    hr.identity(f(hr.constant(2.0, name="x")), name="y")
    with hr.Graph().as_default() as other:
        hr.import_graph_def(graph.as_graph_def(), name="")
        with pytest.raises(LookupError, match="has a while loop .* read from its FunctionDef"):
            hr.gradients(other.get_tensor_by_name("y:0"), other.get_tensor_by_name("x:0"))


def test_operations_without_a_gradient_are_named(graph):
    x = hr.constant([1.0, 2.0])
    f = hr.function(lambda x: hr.raw_ops.EagerPyFunc(input=[x], token="t", Tout=[x.dtype])[0])
    with pytest.raises(LookupError, match="EagerPyFunc"):
        hr.gradients(f(x), x)


def test_recursion_has_no_gradient(graph):
    again = Declare("recursive", [("x", hr.float32)], [("y", hr.float32)])
    f = Defun(hr.float32, func_name="recursive")(
        lambda x: hr.cond(x > 0.0, lambda: again(x - 1.0), lambda: x)
    )
    x = hr.constant(1.0)
    with pytest.raises(LookupError, match="'recursive' calls itself"):
        hr.gradients(f(x), x)


def test_an_unknown_function_is_named(graph):
    x = hr.constant(1.0)
    (y,) = hr.raw_ops.PartitionedCall(args=[x], Tout=[hr.float32], f="nothing")
    with pytest.raises(LookupError, match="function 'nothing' is not in the graph"):
        hr.gradients(y, x)


def test_a_registered_gradient_of_the_name_is_used(graph):
    @hr.RegisterGradient("FunctionWithRegisteredGradient")
    def registered(op, dy):
        return hr.identity(dy, name="mine")

    f = Defun(hr.float32, func_name="FunctionWithRegisteredGradient")(lambda x: x * x)
    x = hr.constant(1.0)
    (grad,) = hr.gradients(f(x), x)
    assert grad.op.name.endswith("mine")


def test_gradients_of_outer_tensors_in_a_function(graph):
    x = hr.constant(2.0)

    @hr.function
    def f():
        y = x * x
        return hr.gradients(y, x)[0]

    assert f().op.inputs[0] is x


# ---- If, Case, While, For ------------------------------------------------------------------------


def test_branches_return_what_their_gradients_need(graph):
    f = Defun(hr.float32)(lambda x: x * hr.random_uniform([2]))
    g = Defun(hr.float32)(lambda x: x)
    x = hr.constant([1.0, 2.0])
    (y,) = If(hr.placeholder(hr.bool, []), [x], f, g)
    (grad,) = hr.gradients(y, x)
    assert [len(b.definition.signature.output_arg) for b in (f, g)] == [1, 1]
    names = [y.op.get_attr(key).name for key in ("then_branch", "else_branch")]
    outputs = [len(graph._get_function(n).definition.signature.output_arg) for n in names]
    assert outputs == [len(y.op.outputs)] * 2 == [2, 2]
    assert (grad.op.type, grad.shape.as_list()) == ("StatelessIf", [2])
    assert _if(y.op, None, None) is not None


def test_wrong_branches_are_rejected(graph):
    f = Defun(hr.float32)(lambda x: x)
    g = Defun(hr.float32)(lambda x: hr.cast(x, hr.int32))
    outer = hr.constant(1.0)
    h = Defun(hr.float32)(lambda x: x + outer)
    with pytest.raises(ValueError, match=r"must return the same dtypes, got \['float32'\] and"):
        If(True, [1.0], f, g)
    with pytest.raises(ValueError, match="must return the same dtypes"):
        Case(0, [1.0], [f, g])
    with pytest.raises(ValueError, match="Must provide at least one branch"):
        Case(0, [1.0], [])
    with pytest.raises(ValueError, match="captures"):
        If(True, [1.0], f, h)
    with pytest.raises(ValueError, match="'cond' argument can not have implicitly captured"):
        While([1.0], h, f)
    with pytest.raises(ValueError, match="'cond' and 'body' signatures do not match"):
        While([1.0], Defun(hr.int32)(lambda x: x > 0), f)


def test_a_loop_becomes_a_call_that_returns_its_lists(graph):
    go_on = Defun(hr.float32)(lambda x: x < 9.0)
    square = Defun(hr.float32)(lambda x: x * x)
    x = hr.constant(2.0)
    (y,) = While([x], go_on, square, hostmem=[0])
    assert (y.op.type, y.op.get_attr("_input_hostmem")) == ("While", [0])
    hr.gradients(y, x)
    assert y.op.type in ("PartitionedCall", "StatefulPartitionedCall")
    assert y.op.outputs[0] is y and len(y.op.outputs) > 1
    assert callable(_while)


def test_functional_ops_build_nodes(graph):
    f = Defun(hr.float32)(lambda x: x * 2.0)
    (y,) = functional_ops.remote_call([1.0], [hr.float32], f, "/cpu:0")
    assert y.op.type == "RemoteCall"
    (y,) = functional_ops.partitioned_call([1.0], f)
    assert y.op.type == "PartitionedCall"
    nothing = Defun(hr.float32)(lambda x: None)
    assert isinstance(functional_ops.partitioned_call([1.0], nothing), hr.Operation)
    (y,) = functional_ops.symbolic_gradient([1.0, 1.0], f)
    assert y.op.type == "SymbolicGradient"
    assert functional_ops.Gradient is functional_ops.symbolic_gradient
    step = Defun(hr.int32, hr.float32)(lambda i, x: x + 1.0)
    (y,) = For(0, 3, 1, [1.0], step, hostmem=[0])
    assert (y.op.type, y.op.get_attr("_input_hostmem")) == ("For", [3])


# ---- the service ---------------------------------------------------------------------------------


def test_the_service_returns_the_gradient_function_first(graph):
    inner = hr.function(lambda x: hr.sin(x))
    f = Defun(hr.float32, hr.int32)(lambda x, i: (inner(x), i))
    f(1.0, 2)
    library = graph.as_graph_def().library
    service = services.find_service(services.FUNCTION_GRADIENTS, "autodiff")
    assert service is function_gradient
    wire = NameAttrList(name=f.name).SerializeToString()
    found = FunctionDefLibrary.FromString(service(library.SerializeToString(), wire))
    gradient, *others = found.function
    assert [a.type for a in gradient.signature.input_arg] == [1, 3, 1, 3]
    assert [a.type for a in gradient.signature.output_arg] == [1, 3]
    assert others and not {o.signature.name for o in others} & set(graph._functions)
    whole = graph._get_function(f.name)
    assert whole_gradient(whole, graph) is whole_gradient(whole, graph)


def test_the_service_returns_a_gradient_of_the_library(graph):
    grad = Defun(hr.float32, hr.float32, func_name="g")(lambda x, dy: dy)
    Defun(hr.float32, func_name="f", grad_func=grad)(lambda x: x)(1.0)
    library = graph.as_graph_def().library.SerializeToString()
    found = function_gradient(library, NameAttrList(name="f").SerializeToString())
    assert [f.signature.name for f in FunctionDefLibrary.FromString(found).function] == ["g"]


@pytest.mark.parametrize(
    ("library", "function", "message"),
    [
        (b"\xff", b"", "not a FunctionDefLibrary"),
        (b"", b"\xff", "not a"),
        (b"", b"", "function ''"),
    ],
)
def test_the_service_rejects_malformed_requests(library, function, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function_gradient(library, function)


def test_a_gradient_of_a_body(graph):
    f = Defun(hr.float32, hr.int32)(lambda x, i: x * hr.random_uniform([]))
    f(1.0, 2)
    body = body_of(graph._get_function(f.name), graph)
    assert [has_gradient(t) for t in body.inputs] == [True, False]
    found = body_gradient(body, "f")
    assert [g is None for g in found.grads] == [False, True]
    (cut,) = cuts_of(found)
    assert cut.op.type == "RandomUniform"
    made = call_gradient(body, "f")
    assert [kind for kind, _ in made.arguments] == ["input", "grad", "output"]
    call = f(1.0, 2).op
    assert made.forward is not None
    replace_function(call, made.forward)
    assert (call.type, len(call.outputs)) == (made.forward.name, 2)
