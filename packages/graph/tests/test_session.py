from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.client.session import InteractiveSession, Session
from headrace.graph.framework.default_session import get_default_session

Pair = namedtuple("Pair", "first second")


def test_runs_with_alternating_literal_lists_return_the_right_values(service):
    a, b = hr.constant(1.0), hr.constant(2.0)
    with Session() as sess:
        for _ in range(3):
            assert sess.run([a, b]) == [1.0, 2.0]
            assert sess.run([b, a]) == [2.0, 1.0]
            assert sess.run((a, b)) == (1.0, 2.0)
            assert sess.run([a, a]) == [1.0, 1.0]
            assert sess.run([a]) == [1.0] and sess.run(a) == 1.0
    assert len(service[0].prepared) <= 8


def test_equal_structures_of_different_types_have_different_plans(service):
    a, b, c = hr.constant(1.0), hr.constant(2.0), hr.constant(3.0)
    with Session() as sess:
        for _ in range(2):
            assert sess.run([a, (b, c)]) == [1.0, (2.0, 3.0)]
            nested = sess.run([a, Pair(b, c)])
            assert isinstance(nested[1], Pair) and nested[1].second == 3.0
            assert isinstance(sess.run(Pair(a, b)), Pair)
            assert type(sess.run((a, b))) is tuple


def test_fetches_nest(service):
    a, b = hr.constant(1.0, name="a"), hr.constant(2.0)
    sparse = hr.SparseTensor([[0]], [5.0], [3])
    slices = hr.IndexedSlices(a, b)
    v = hr.Variable(7.0, name="v")
    with Session() as sess:
        sess.run(v.initializer)
        got = sess.run({"x": [a, {"y": b}], "s": sparse, "i": slices, "v": v, "n": "a:0",
                        "op": a.op})  # fmt: skip
    assert got["x"] == [1.0, {"y": 2.0}] and got["n"] == 1.0 and got["op"] is None
    assert got["s"].values.tolist() == [5.0] and got["s"].dense_shape.tolist() == [3]
    assert got["i"].dense_shape is None and got["i"].indices == 2.0
    assert got["v"] == 7.0


def test_invalid_fetches_raise(service):
    hr.constant(1.0, name="a")
    sess = Session()
    with pytest.raises(TypeError, match="Fetch argument None has invalid type"):
        sess.run(None)
    with pytest.raises(TypeError, match="Fetch argument 3 has invalid type .*must be a string"):
        sess.run([3])
    with pytest.raises(ValueError, match="cannot be interpreted as a Tensor.*'b:0'"):
        sess.run("b:0")
    other = hr.Graph()
    with other.as_default():
        foreign = hr.constant(1.0)
    with pytest.raises(ValueError, match="not an element of this graph"):
        sess.run(foreign)


def test_feeds_by_tensor_name_and_sparse_tensor(service):
    x = hr.placeholder(hr.float32, [], name="x")
    sparse = hr.sparse_placeholder(hr.float32)
    y = x + 1.0
    with Session() as sess:
        assert sess.run(y, {x: 3}) == 4.0
        assert sess.run(y, {"x:0": np.float64(3)}) == 4.0
        assert sess.run(y, {y: 9.0}) == 9.0
        value = hr.SparseTensorValue([[0]], [2.0], [4])
        assert sess.run(sparse, {sparse: value}).values.tolist() == [2.0]


def test_a_fed_fetch_is_a_copy(service):
    x = hr.placeholder(hr.float32, [2])
    array = np.zeros(2, np.float32)
    with Session() as sess:
        for _ in range(2):
            kept = sess.run(x, {x: array})
            array += 1
    assert kept.tolist() == [1, 1] and array.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([1.0, 2.0, 3.0], ValueError,
         r"Cannot feed value of shape \[3\] for Tensor 'x:0', which has shape \[\?, 2\]"),
        ("abc", TypeError, "Cannot feed 'abc' for Tensor 'x:0', which has dtype float32"),
        (None, TypeError, "Cannot feed None"),
        ([[1.0], [1.0, 2.0]], ValueError, "is not compatible with Tensor 'x:0'"),
        (object(), TypeError, "is not compatible with Tensor 'x:0'"),
    ],
)  # fmt: skip
def test_feeds_of_another_shape_or_dtype_raise(service, value, error, text):
    x = hr.placeholder(hr.float32, [None, 2], name="x")
    with Session() as sess:
        for _ in range(2):
            with pytest.raises(error, match=text):
                sess.run(x, {x: value})


def test_scalar_feed_of_another_shape_raises_repeatedly(service):
    x = hr.placeholder(hr.float32, [2], name="x")
    with Session() as sess:
        sess.run(x, {x: [1.0, 2.0]})
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            sess.run(x, {x: 1.0})


def test_integer_feeds_out_of_range_raise(service):
    x = hr.placeholder(hr.uint8, [], name="x")
    with Session() as sess, pytest.raises(TypeError, match="not compatible with Tensor 'x:0'"):
        sess.run(x, {x: 300})


def test_tensor_values_and_number_keys_raise(service):
    x = hr.placeholder(hr.float32)
    with Session() as sess:
        with pytest.raises(TypeError, match="cannot be a hr.Tensor object"):
            sess.run(x, {x: hr.constant(1.0)})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            sess.run(x, {3: 1.0})
        with pytest.raises(TypeError, match="must be a dict"):
            sess.run(x, [1.0])


def test_strings_are_fed_as_bytes(service):
    x = hr.placeholder(hr.string, [2])
    with Session() as sess:
        assert sess.run(op_identity(x), {x: ["a", b"b"]}).tolist() == [b"a", b"b"]
        with pytest.raises(TypeError, match="which has dtype string"):
            sess.run(x, {x: [1, 2]})


def op_identity(x):
    return hr.identity(x)


def test_unfeedable_and_unfetchable_tensors_raise(service, graph):
    x = hr.constant(1.0, name="x")
    graph.prevent_feeding(x)
    graph.prevent_fetching(x.op)
    with Session() as sess:
        with pytest.raises(ValueError, match="Tensor x:0 may not be fed"):
            sess.run(hr.identity(x), {x: 1.0})
        with pytest.raises(ValueError, match="marked as not fetchable"):
            sess.run(x)


def test_extend_sends_only_new_nodes(service):
    a = hr.constant(1.0)
    sess = Session()
    sess.run(a)
    b = a + 1.0
    sess.run(b)
    sess.run(a)
    assert service[0].extensions == [1, 2]


def test_node_changed_after_a_run_raises(service):
    a, b = hr.constant(1.0), hr.constant(2.0)
    c = hr.identity(a)
    sess = Session()
    sess.run(c)
    c.op._update_input(0, b)
    hr.constant(3.0)
    with pytest.raises(RuntimeError, match="was changed after this session ran"):
        sess.run(c)


def test_errors_have_operation_node_def_and_line(service):
    x = hr.placeholder(hr.float32, name="x")
    y = x + 1.0
    with Session() as sess:
        with pytest.raises(InvalidArgumentError) as caught:
            sess.run(y)
    error = caught.value
    assert error.op is x.op and error.node_def.name == "x"
    assert str(error) == (f"Placeholder 'x' (test_session.py:{x.op.source_line}): it must be fed")


def test_closed_and_empty_sessions_raise(service):
    sess = Session(graph=hr.Graph())
    with pytest.raises(RuntimeError, match="graph is empty"):
        sess.run("x")
    a = hr.constant(1.0)
    sess = Session()
    sess.run(a)
    sess.close()
    sess.close()
    assert service[1].closed
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(a)


def test_the_default_session_evaluates_and_runs(service):
    v = hr.Variable(3.0)
    with pytest.raises(ValueError, match="No default session is registered"):
        v.initializer.run()
    with Session() as sess:
        assert get_default_session() is sess
        v.initializer.run()
        assert v.eval() == 3.0 and (v + 1.0).eval() == 4.0
        v.load(5.0)
        assert v.eval() == 5.0
    assert get_default_session() is None
    with hr.Graph().as_default(), Session():
        hr.constant(1.0)
        with pytest.raises(ValueError, match="graph is different"):
            v.eval()


def test_an_interactive_session_is_the_default_until_closed(service):
    sess = InteractiveSession()
    assert hr.constant(2.0).eval() == 2.0
    sess.close()
    assert get_default_session() is None


def test_callables_accept_values_in_order(service):
    x, y = hr.placeholder(hr.float32, []), hr.placeholder(hr.float32, [])
    with Session() as sess:
        call = sess.make_callable([x - y, y], [x, y])
        assert call(5.0, 2.0) == [3.0, 2.0]
        with pytest.raises(ValueError, match="feed_list of 2 tensors, got 1"):
            call(1.0)


def test_partial_run_feeds_and_fetches_in_several_calls(service):
    x, y = hr.placeholder(hr.float32, []), hr.placeholder(hr.float32, [])
    a = x + 1.0
    b = a * y
    with Session() as sess:
        handle = sess.partial_run_setup([a, b], [x, y])
        assert sess.partial_run(handle, a, {x: 2.0}) == 3.0
        assert sess.partial_run(handle, b, {y: 5.0}) == 15.0
        with pytest.raises(hr.errors.InvalidArgumentError, match="Must run 'setup' before"):
            sess.partial_run("nothing", a)


def test_run_options_and_metadata_are_forwarded(service):
    a = hr.constant(1.0)
    with Session() as sess:
        metadata = hr.RunMetadata()
        assert sess.run(a, options=hr.RunOptions(), run_metadata=metadata) == 1.0
        assert metadata.step_stats.dev_stats[0].device == "traced"
        with pytest.raises(TypeError, match="options must be a RunOptions"):
            sess.run(a, options=hr.ConfigProto())


def test_target_selects_the_service(service, monkeypatch):
    from headrace.formats import services

    requests = []
    found = services.find_service
    monkeypatch.setattr(
        services, "find_service", lambda group, name: (requests.append(name), found(group, name))[1]
    )
    Session(), Session("local://shared"), Session("grpc://host:1")
    assert requests == ["local", "local", "grpc"]
    Session.reset("local://shared", ["a"])
    assert service[-1].was_reset == ["a"] and service[-1].closed
    assert Session().list_devices()[0].device_type == "CPU"


def test_structure_is_prepared_once(service):
    a, b = hr.constant(1.0), hr.constant(2.0)
    x = hr.placeholder(hr.float32, [])
    sparse = hr.sparse_placeholder(hr.float32, [3])
    v = hr.Variable(1.0)
    with Session() as sess:
        sess.run(v.initializer)
        for _ in range(3):
            assert sess.run({"p": [a, (b, v)], "q": Pair(x, b)}, {x: 4.0})["q"].first == 4.0
            value = hr.SparseTensorValue([[0]], [2.0], [3])
            assert sess.run([sparse, {"a": a}], {sparse: value})[1] == {"a": 1.0}
            assert sess.run({}) == {} and sess.run([]) == []
            assert sess.run({"a": a, "b": b}) == {"a": 1.0, "b": 2.0}
            assert sess.run({"b": a, "a": b}) == {"b": 1.0, "a": 2.0}
    assert len(service[0].prepared) == 1 + 2 + 1 + 1 + 2
