"""hr.function: calls of functions of the graph, by the kinds of arguments."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import headrace.graph as hr
from headrace.graph.functions.automatic_control import add_control_dependencies
from headrace.graph.functions.concrete_function import ConcreteFunction
from headrace.graph.functions.function import Function


def test_a_call_is_a_partitioned_call_with_static_shapes(graph):
    @hr.function
    def f(x):
        return hr.reduce_sum(x, axis=1)

    y = f(hr.placeholder(hr.float32, [None, 3]))
    assert (y.op.type, y.shape.as_list()) == ("PartitionedCall", [None])
    assert y.op.get_attr("f").name.startswith("__inference_f_")


def test_one_function_per_dtypes_shapes_and_other_values(graph):
    calls = []

    @hr.function
    def f(x, k=1):
        calls.append((x.dtype.name, x.shape.as_list(), k))
        return x * k

    f(hr.constant([1.0])), f(hr.constant([2.0])), f(hr.constant([2.0]), 1)
    f(hr.constant([2.0]), k=2), f(hr.constant([1])), f(hr.constant([1.0, 2.0]))
    assert calls == [
        ("float32", [1], 1),
        ("float32", [1], 2),
        ("int32", [1], 1),
        ("float32", [2], 1),
    ]


def test_an_input_signature_makes_one_function(graph):
    calls = []

    @hr.function(input_signature=[hr.TensorSpec([None], hr.float32, name="v")])
    def f(x):
        calls.append(x.shape.as_list())
        return x * 2.0

    f([1.0]), f(hr.constant([1.0, 2.0]))
    assert calls == [[None]]
    concrete = f.get_concrete_function()
    assert [t.op.name for t in concrete.inputs] == ["v"]
    assert concrete.structured_input_signature == ((f.input_signature[0],), {})
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        f(hr.constant(1.0))
    with pytest.raises(TypeError, match="missing a required argument"):
        f()
    pair = [[hr.TensorSpec([], hr.float32), hr.TensorSpec([], hr.float32)]]
    with pytest.raises(ValueError, match="does not match input_signature"):
        hr.function(lambda x: x, input_signature=pair)([hr.constant(1.0)])
    with pytest.raises(TypeError, match="must be either a tuple or a list"):
        hr.function(lambda x: x, input_signature=hr.TensorSpec([]))
    with pytest.raises(TypeError, match="nested sequence of TensorSpec"):
        hr.function(lambda x: x, input_signature=[3])


def test_relaxed_shapes(graph):
    shapes = []

    @hr.function(experimental_relax_shapes=True)
    def f(x):
        shapes.append(x.shape.as_list())
        return x

    for n in range(1, 8):
        assert f(hr.zeros([n, 2])).shape.as_list() == ([n, 2] if n < 3 else [None, 2])
    assert shapes == [[1, 2], [2, 2], [None, 2]]
    f(hr.zeros([3]))  # of another rank
    f(hr.zeros([5, 4]))
    assert shapes[3:] == [[3], [None, None]]


def test_results_keep_their_structure(graph):
    @hr.function
    def f(x):
        return {"a": [x, None], "b": hr.IndexedSlices(x, hr.constant([0]))}

    r = f(hr.constant([1.0]))
    assert r["a"][1] is None
    assert isinstance(r["b"], hr.IndexedSlices)
    assert r["b"].values.op is r["a"][0].op


def test_variables_are_captured_by_handle_and_listed(graph):
    v, w = (
        hr.Variable([1.0], use_resource=True),
        hr.Variable(2.0, trainable=False, use_resource=True),
    )

    @hr.function
    def f(x):
        return x * v + w

    concrete = f.get_concrete_function(hr.TensorSpec([1]))
    assert concrete.variables == [v, w]
    assert concrete.trainable_variables == [v]
    assert concrete.captured_inputs == [v.handle, w.handle]
    assert (concrete.output_dtypes, concrete.output_shapes.as_list()) == (hr.float32, [1])
    assert concrete.function_def.signature.is_stateful
    assert f(hr.constant([1.0])).op.type == "StatefulPartitionedCall"


def test_variables_are_made_once_and_outside(graph):
    kept = []

    @hr.function
    def f(x):
        if not kept:
            kept.append(hr.Variable(lambda: hr.ones([2]), name="v"))
        return x * kept[0]

    f(hr.constant([1.0]))
    (v,) = hr.trainable_variables()
    assert (v.graph, v.handle.dtype) == (graph, hr.resource)
    f(hr.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        g = hr.function(lambda x: hr.Variable(1.0) * x)
        g(hr.constant(1.0)), g(hr.constant([1.0]))
    with pytest.raises(ValueError, match="must either be wrapped in an init_scope or callable"):
        hr.function(lambda x: hr.Variable(x) + 1.0)(hr.constant(1.0))


def test_a_concrete_function_is_called_by_position_or_name(graph):
    @hr.function
    def f(x, y):
        return x - y

    concrete = f.get_concrete_function(hr.TensorSpec([2]), hr.TensorSpec([2], name="other"))
    assert isinstance(concrete, ConcreteFunction)
    a, b = hr.constant([1.0, 2.0]), hr.constant([3.0, 4.0])
    assert list(concrete(a, b).op.inputs) == list(concrete(other=b, x=a).op.inputs) == [a, b]
    for args, kwargs, message in (
        ((a,), {}, "missing required arguments: other"),
        ((a, b, a), {}, "takes 2 positional arguments"),
        ((a,), {"x": b}, "two values for keyword argument 'x'"),
        ((a,), {"z": b}, "unexpected keyword argument 'z'"),
        ((a, [1, 2]), {}, "argument 'other' must be float32"),
    ):
        if "must be" in message:
            args = (a, hr.constant([1, 2]))
        with pytest.raises(TypeError, match=message):
            concrete(*args, **kwargs)
    with pytest.raises(ValueError, match="incompatible with"):
        concrete(a, hr.constant([1.0]))


def test_stateful_operations_follow_one_another(graph):
    v = hr.Variable(1.0, use_resource=True)

    @hr.function
    def f(x):
        before = v.read_value()
        v.assign_add(x, read_value=False)
        v.assign(x, read_value=False)
        return before

    definition = f.get_concrete_function(hr.TensorSpec([])).definition
    nodes = {n.op: n for n in definition.node_def}
    read, add, assign = (
        nodes[op].name for op in ("ReadVariableOp", "AssignAddVariableOp", "AssignVariableOp")
    )
    assert f"^{read}" in nodes["AssignAddVariableOp"].input
    assert f"^{add}" in nodes["AssignVariableOp"].input
    assert set(definition.control_ret) == {add, assign} == set(definition.signature.control_output)
    assert add_control_dependencies([]) == []


def test_methods_have_functions_of_their_own(graph):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @hr.function
        def scale(self, x):
            return x * self.factor

    one, other = Model(2.0), Model(3.0)
    assert isinstance(Model.scale, Function)
    assert one.scale is one.scale
    x = hr.constant(1.0)
    assert one.scale(x).op.get_attr("f") == one.scale(x).op.get_attr("f")
    assert one.scale(x).op.get_attr("f") != other.scale(x).op.get_attr("f")


def test_a_graph_is_freed_though_its_function_lives():
    @hr.function
    def f(x):
        return x * 2.0

    with hr.Graph().as_default() as graph:
        f(hr.constant(1.0))
    kept = weakref.ref(graph)
    del graph
    gc.collect()
    assert kept() is None


def test_outer_control_inputs_are_those_of_the_call(graph):
    first = hr.no_op(name="first")

    @hr.function
    def f(x):
        with hr.control_dependencies([first]), hr.colocate_with(first):
            return hr.identity(x)

    assert f(hr.constant(1.0)).op.control_inputs == (first,)


def test_a_device_scope_applies_in_the_body(graph):
    @hr.function
    def f(x):
        return x * 2.0

    with hr.device("/cpu:0"):
        y = f(hr.constant(1.0))
    function = graph._get_function(y.op.get_attr("f").name)
    assert {n.device for n in function.definition.node_def} == {"/device:CPU:0"}


def test_python_functions_that_are_not_callable_are_rejected():
    with pytest.raises(TypeError, match="not callable"):
        hr.function(3)


def test_threads_share_functions_and_gradients(graph):
    @hr.function
    def f(x):
        return x * x

    def work():
        with graph.as_default():
            for size in range(1, 6):
                x = hr.constant([1.0] * size)
                hr.gradients(f(x), x)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result()
    assert len(graph._functions) == 10
