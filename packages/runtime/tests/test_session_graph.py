"""The graph of a session: what extend accepts and rejects.

Modules: graph/session_graph, graph/node_checks, graph/name_index, graph/node_text,
graph/graph_cycles, graph/graph_node, graph/input_ranks.
"""

from __future__ import annotations

import threading

import pytest
from graph_text import graph, serialized

from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.proto.graph_pb2 import FunctionDefLibrary
from headrace.formats.proto.op_pb2 import NameAttrList
from headrace.runtime.graph import function_body
from headrace.runtime.graph.session_graph import SessionGraph


def session(text: str) -> SessionGraph:
    result = SessionGraph()
    result.extend(serialized(text))
    return result


def test_nodes_may_come_in_any_order():
    found = session("b = Neg(a)\na = Const()")
    assert found.node_names() == ["b", "a"]
    assert found.describe("b")["inputs"] == ["a:0"]


def test_defaults_of_the_catalogue_are_filled_in():
    attrs = session("a = Const()\nm = MatMul(a, a; transpose_b=True)").describe("m")["attrs"]
    assert attrs["transpose_a"] == b"\x28\x00"
    assert attrs["transpose_b"] == b"\x28\x01"


def test_later_nodes_read_earlier_ones():
    found = session("a = Const()")
    found.extend(serialized("b = Neg(a)"))
    assert found.describe("b")["inputs"] == ["a:0"]
    assert found.version == 2


def test_lists_of_tensors_are_counted():
    text = "a = Const()\nb = Const(; dtype=int32)\n"
    assert session(text + "n = AddN(a, a, a; N=3)").describe("n")["input_dtypes"] == ["float"] * 3
    found = session(text + "i = IdentityN(a, b; T=float|int32)").describe("i")
    assert found["input_dtypes"] == found["output_dtypes"] == ["float", "int32"]


def test_a_loop_may_close_through_next_iteration():
    found = session("""
        zero = Const()
        e = Enter(zero; frame_name=loop)
        m = Merge(e, n; N=2)
        n = NextIteration(m)
    """)
    assert found.describe("m")["inputs"] == ["e:0", "n:0"]


def test_a_reference_may_feed_a_plain_input():
    assert session("v = VariableV2()\nn = Neg(v)").describe("n")["input_dtypes"] == ["float"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = Const()\na = Const()", "Const 'a': the name is taken by another node of the graph"),
        ("b = Neg(a)", "Neg 'b': input 'a' names no node of the graph"),
        ("a = Const()\nb = Neg(a, ^c)", "Neg 'b': input '^c' names no node of the graph"),
        ("a = Const()\nb = Neg(a:1)", "Neg 'b': input 'a:1': Const 'a' has 1 outputs"),
        ("a = Const()\nb = Neg(a:4294967296)",
         "Neg 'b': input 'a:4294967296': Const 'a' has 1 outputs"),
        ("a = Const()\nb = Neg(:0)", "Neg 'b': input ':0' names no node of the graph"),
        ("a = Const()\nb = Neg(a, a)", "Neg 'b': the op takes 1 inputs, 2 are given"),
        ("a = Const()\nb = Add(a)", "Add 'b': the op takes 2 inputs, 1 are given"),
        ("a = Const(; dtype=int32)\nb = Neg(a)", "Neg 'b': input 0 is float, but 'a:0' is int32"),
        ("a = Const()\nb = Assign(a, a)", "Assign 'b': input 0 is float_ref, but 'a:0' is float"),
        ("b = Neg(b)", "the graph has a cycle: b -> b; only NextIteration to Merge may close one"),
        ("a = Neg(c)\nb = Neg(a)\nc = Neg(b)",
         "the graph has a cycle: b -> c -> a -> b; only NextIteration to Merge may close one"),
        ("a = Const()\nb = Neg(a, ^c)\nc = Neg(b)",
         "the graph has a cycle: c -> b -> c; only NextIteration to Merge may close one"),
        ("a = Const()\nb = Neg(a; T=string)", None),
        ("a = Const()\nb = AddN(a; N=0)", "AddN 'b': attribute 'N' is 0, the op takes 1 or more"),
        ("a = Const()\nb = Neg(a; T=float_)", None),
    ],
)  # fmt: skip
def test_a_bad_graph_is_rejected(text, message):
    if message is None:
        text = text.replace("float_", "bool")
        dtype = "string" if "string" in text else "bool"
        message = f"Neg 'b': attribute 'T' is {dtype}, the op takes "
    found = session("kept = Const()")
    with pytest.raises(InvalidArgumentError) as caught:
        found.extend(serialized(text))
    assert caught.value.message.startswith(message)
    assert found.node_names() == ["kept"]
    found.extend(serialized("a = Neg(kept)"))
    assert found.node_names() == ["kept", "a"]


def test_a_name_of_an_earlier_extension_is_taken():
    found = session("a = Const()")
    with pytest.raises(InvalidArgumentError, match="Const 'a': the name is taken"):
        found.extend(serialized("b = Const()\na = Const()"))
    assert found.node_names() == ["a"]
    assert found.describe("a")["op"] == "Const"


def test_an_unknown_op_is_rejected_with_near_ones():
    with pytest.raises(NotFoundError) as caught:
        session("a = Const()\nb = MatMull(a, a)")
    assert caught.value.message.startswith(
        "MatMull 'b': no op named 'MatMull' is in the catalogue: did you mean MatMul"
    )
    assert caught.value.node_name == "b"


def changed(text, change):
    message = graph(text)
    change(message.node)
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n[0].attr["value"].Clear(),
         "Const 'a': attribute 'value' is empty, the op takes tensor"),
        (lambda n: n[0].attr.pop("dtype"), "Const 'a': attribute 'dtype' (type) is missing"),
        (lambda n: setattr(n[0].attr["dtype"], "i", 1),
         "Const 'a': attribute 'dtype' is an int, the op takes type"),
        (lambda n: n[0].attr["value"].tensor.tensor_shape.dim.add(size=1 << 62),
         "Const 'a': attribute 'value': its shape has more elements than memory has bytes"),
        (lambda n: n[0].attr["value"].tensor.tensor_shape.dim.add(size=1 << 40),
         "Const 'a': attribute 'value': its shape takes 4398046511104 bytes, which its values do "
         "not fill; 2147483647 are the most"),
        (lambda n: [n[0].attr["value"].tensor.tensor_shape.dim.add(size=1 << 31) for _ in range(4)],
         "Const 'a': attribute 'value': its shape has more elements than memory has bytes"),
        (lambda n: [n[0].attr["value"].tensor.tensor_shape.dim.add(size=1) for _ in range(9)],
         "Const 'a': attribute 'value': 9 dimensions; 8 are the most"),
        (lambda n: n[0].attr["value"].tensor.tensor_shape.dim.add(size=-1),
         "Const 'a': attribute 'value': its shape has an unknown dimension"),
        (lambda n: setattr(n[0].attr["value"].tensor, "tensor_content", b"12345"),
         "Const 'a': attribute 'value': its shape takes 4 bytes, its content has 5"),
        (lambda n: setattr(n[0].attr["dtype"], "type", 2),
         "Const 'a': attribute 'value': its DataType is 1, the node's is 2"),
        (lambda n: setattr(n[0], "name", ""), "node 0 of the GraphDef (Const) has no name"),
    ],
)  # fmt: skip
def test_bad_attributes_are_rejected_before_anything_is_allocated(change, message):
    with pytest.raises(InvalidArgumentError) as caught:
        SessionGraph().extend(changed("a = Const()", change))
    assert caught.value.message == message


def test_a_number_that_is_not_a_dtype_is_rejected():
    data = changed(
        "p = Placeholder(; dtype=float)", lambda n: setattr(n[0].attr["dtype"], "type", 77)
    )
    with pytest.raises(InvalidArgumentError) as caught:
        SessionGraph().extend(data)
    assert (
        caught.value.message == "Placeholder 'p': attribute 'dtype' is 77, which is not a DataType"
    )


def test_a_hostile_number_of_outputs_is_rejected():
    def many(nodes):
        nodes[1].attr["num_split"].i = 1 << 40

    data = changed("a = Const(; dtype=int32)\ns = Split(a, b; num_split=2)\nb = Const()", many)
    with pytest.raises(InvalidArgumentError, match="'num_split' is 1099511627776, no number of"):
        SessionGraph().extend(data)


def test_unknown_attributes_are_kept():
    found = session("a = Const(; _note=hello, future=text)")
    assert found.describe("a")["attrs"]["_note"] == b"\x12\x05hello"


def test_a_function_of_the_library_is_an_op():
    message = graph("a = Const()")
    function = message.library.function.add()
    function.signature.name = "Twice"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="y", type=1)
    message.node.add(name="b", op="Twice", input=["a"])
    found = SessionGraph()
    found.extend(message.SerializeToString())
    assert found.describe("b")["output_dtypes"] == ["float"]
    assert list(found.library) == ["Twice"]
    other = graph("c = Const()")
    other.library.function.add().signature.name = "Twice"
    with pytest.raises(InvalidArgumentError, match="Function 'Twice': another function of that"):
        found.extend(other.SerializeToString())
    assert found.node_names() == ["a", "b"]


def test_the_library_names_gradients(monkeypatch):
    message = graph("a = Const()")
    message.library.function.add().signature.name = "Twice"
    message.library.gradient.add(function_name="Twice", gradient_func="Gradient")
    other = message.library.function.add()
    other.signature.name = "Other"
    other.node_def.add(name="called", op="Twice")
    message.library.function.add().signature.name = "Apart"
    message.library.gradient.add(function_name="Apart", gradient_func="OfApart")
    found = SessionGraph()
    found.extend(message.SerializeToString())
    assert found.library.gradient_of(NameAttrList(name="Twice")) == "Gradient"

    def reject(library, function):
        sent = FunctionDefLibrary.FromString(library)
        assert {f.signature.name for f in sent.function} == {"Other", "Twice"}
        named = sent.gradient
        raise LookupError(f"no gradient beside {[g.gradient_func for g in named]}")

    monkeypatch.setattr(function_body, "find_service", lambda *_: reject)
    with pytest.raises(NotFoundError, match=r"no gradient beside \['Gradient'\]"):
        found.library.gradient_of(NameAttrList(name="Other"))
    malformed = b"\x12\x03\x12\x01\xff"  # library { gradient: a byte that is no GradientDef }
    with pytest.raises(InvalidArgumentError, match="not a GradientDef"):
        found.extend(malformed)


def test_a_file_for_newer_readers_is_rejected():
    message = graph("a = Const()")
    message.versions.min_consumer = 1_000_000
    with pytest.raises(InvalidArgumentError, match="requires readers of version 1000000 or later"):
        SessionGraph().extend(message.SerializeToString())


def test_several_threads_may_extend_one_graph():
    found = session("a = Const()")
    threads = [
        threading.Thread(
            target=lambda k=k: [found.extend(serialized(f"n{k}_{i} = Neg(a)")) for i in range(40)]
        )
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found.node_names())) == 161
