from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.formats import op_catalogue
from headrace.formats.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
)
from headrace.formats.op_def_signature import from_op_def, to_op_def
from headrace.formats.op_signature import (
    NO_DEFAULT,
    TYPE_NAMES,
    TYPE_NUMBERS,
    Arg,
    Attr,
    Signature,
    SignatureError,
    Vector,
)
from headrace.formats.proto.op_pb2 import OpDef, OpList
from headrace.formats.proto.types_pb2 import DataType
from headrace.formats.signature_language import parse_signature

FLOAT, INT32, STRING, RESOURCE = (TYPE_NUMBERS[n] for n in ("float", "int32", "string", "resource"))


def test_every_line_parses_and_prints_unchanged():
    for name in op_catalogue._index():
        family, text = op_catalogue._index()[name]
        signature = parse_signature(text)
        assert signature.name == name
        assert str(signature) == re.sub(r" \\\n +", " ", text), family


def test_op_names_are_unique():
    found = []
    for file in os.listdir(op_catalogue._FOLDER):
        if not file.endswith(".ops"):
            continue
        with open(os.path.join(op_catalogue._FOLDER, file)) as stream:
            text = stream.read()
        found += [match.group(1) for match in op_catalogue._ENTRY.finditer(text)]
        rest = op_catalogue._ENTRY.sub("", text)
        assert all(not line or line.startswith("#") for line in rest.splitlines()), file
    assert sorted(found) == sorted(set(found))


def test_every_line_names_a_shape_rule():
    for name in op_catalogue._index():
        signature = op_catalogue.signature(name)
        assert signature.shape_rule, name
        assert (signature.shape_rule == "no_output") == (not signature.outputs), name


def test_signature_has_the_fields_of_its_line():
    assert op_catalogue.signature("MatMul").inputs == (
        Arg("a", type_attr="T"),
        Arg("b", type_attr="T"),
    )
    assert op_catalogue.signature("MatMul").attr("transpose_b") == Attr(
        "transpose_b", "bool", False
    )
    assert op_catalogue.signature("AddN").inputs == (Arg("inputs", type_attr="T", number_attr="N"),)
    assert op_catalogue.signature("AddN").attr("N") == Attr("N", "int", minimum=1)
    assert op_catalogue.signature("AddN").aggregate and op_catalogue.signature("AddN").commutative
    assign = op_catalogue.signature("Assign")
    assert assign.inputs[0] == Arg("ref", type_attr="T", is_ref=True) and assign.uninitialized_ok
    queue = op_catalogue.signature("FIFOQueueV2")
    assert queue.outputs == (Arg("handle", RESOURCE),) and queue.stateful
    assert queue.attr("component_types") == Attr("component_types", "list(type)", minimum=1)
    assert queue.attr("shapes").default == ()
    assert op_catalogue.signature("SaveV2").inputs[3] == Arg("tensors", type_list_attr="dtypes")
    assert op_catalogue.signature("ScalarSummary").outputs == (Arg("summary", STRING),)
    assert op_catalogue.signature("Placeholder").attr("shape").default is None
    assert op_catalogue.signature("Shape").attr("out_type") == Attr(
        "out_type", "type", INT32, (INT32, TYPE_NUMBERS["int64"])
    )
    assert op_catalogue.signature("Const").attr("value").default is NO_DEFAULT
    assert op_catalogue.signature("Conv2D").attr("dilations").default == (1, 1, 1, 1)
    assert op_catalogue.signature("ImageSummary").attr("bad_color").default == Vector(
        TYPE_NUMBERS["uint8"], (255, 0, 0, 255)
    )
    assert op_catalogue.signature("LeakyRelu").attr("alpha").default == 0.2


def test_flags_mark_shape_only_view_and_data_shape_ops():
    assert op_catalogue.signature("Shape").shape_only
    assert op_catalogue.signature("Reshape").view
    assert op_catalogue.signature("Where").data_shape
    assert not op_catalogue.signature("MatMul").view
    assert not op_catalogue.signature("VariableShape").shape_only  # its input is a resource handle
    for name in op_catalogue._index():
        signature = op_catalogue.signature(name)
        if signature.view:
            assert len(signature.outputs) == 1 and signature.inputs, name


def test_family_is_the_stem_of_the_catalogue_file():
    assert op_catalogue.family("MaxPool") == "pooling"
    assert op_catalogue.family("_FusedMatMul") == "matmul"


def test_op_def_of_matmul_equals_tensorflow():
    op_def = op_catalogue.op_def("MatMul")
    assert [arg.name for arg in op_def.input_arg] == ["a", "b"]
    assert op_def.attr[0] == OpDef.AttrDef(
        name="transpose_a", type="bool", default_value={"b": False}
    )
    assert op_def.attr[2].allowed_values.list.type[:2] == [
        DataType.DT_BFLOAT16,
        DataType.DT_HALF,
    ]
    assert [arg.type_attr for arg in op_def.output_arg] == ["T"]


def test_every_op_def_converts_back_to_its_signature():
    for name in op_catalogue._index():
        signature = op_catalogue.signature(name)
        kept = signature.replace(
            shape_rule="", shape_only=False, view=False, data_shape=False, internal=False
        )
        assert from_op_def(OpDef.FromString(to_op_def(signature).SerializeToString())) == kept


def test_type_numbers_equal_the_datatype_enum():
    for name, number in TYPE_NUMBERS.items():
        assert DataType.Value("DT_" + name.upper()) == number


def test_input_ranks_refer_to_ops_and_inputs_of_the_catalogue():
    with open(os.path.join(op_catalogue._FOLDER, "input.ranks")) as stream:
        listed = [line.split() for line in stream if not line.startswith("#")]
    assert len(listed) > 400
    for op, *ranks in listed:
        assert len(ranks) == len(op_catalogue.signature(op).inputs), op
    assert op_catalogue.input_ranks("SparseReorder") == (4, 2, 2)
    assert op_catalogue.input_ranks("NoOp") == ()


def test_unknown_name_raises_with_similar_names():
    assert op_catalogue.find("MatMull") is None
    with pytest.raises(NotFoundError, match=r"no op named 'MatMull' .* did you mean MatMul"):
        op_catalogue.signature("MatMull")
    with pytest.raises(NotFoundError):
        op_catalogue.family("MatMull")


def foreign(name: str, **fields) -> bytes:
    return OpList(
        op=[OpDef(name=name, input_arg=[{"name": "x", "type": 1}], **fields)]
    ).SerializeToString()


def test_custom_ops_are_registered_from_an_op_list():
    assert op_catalogue.register(foreign("TestForeign")) == ["TestForeign"]
    assert op_catalogue.register(foreign("TestForeign")) == ["TestForeign"]
    assert op_catalogue.signature("TestForeign").inputs == (Arg("x", FLOAT),)
    assert op_catalogue.family("TestForeign") == "foreign"
    assert "TestForeign" in op_catalogue.names()
    assert "TestForeign" not in op_catalogue.built_in_names()


def test_custom_ops_cannot_replace_other_ops():
    op_catalogue.register(foreign("TestTaken"))
    with pytest.raises(AlreadyExistsError, match="op 'TestTaken' is already in the catalogue"):
        op_catalogue.register(foreign("TestTaken", is_stateful=True))
    with pytest.raises(AlreadyExistsError, match="op 'MatMul' is already in the catalogue"):
        op_catalogue.register(foreign("MatMul"))
    with pytest.raises(InvalidArgumentError, match="not an OpList message"):
        op_catalogue.register(b"\x0a\xff")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A(x: T) -> (y: T)", "argument 'x' has type 'T', which is neither dtype nor attribute"),
        ("A(x: N * float) -> ()", "argument 'x' has length 'N', which is not an int attribute"),
        ("A(x float) -> ()", "expected ':', found 'float'"),
        ("A() -> () [fast]", "unknown flag 'fast'"),
        ("A(*, a: thing) -> ()", "attribute 'a' has unknown kind 'thing'"),
        ("A(*, a: int = yes) -> ()", "'yes' is not a value of kind 'int'"),
        ("A(*, a: string = 'x) -> ()", "is not a value of kind 'string'"),
        ("A() -> () B", "expected the end of the line, found 'B'"),
        ("A() -> (", "expected a name, found 'the end'"),
        ("A(,) -> ()", "expected a name, found ','"),
    ],
)
def test_invalid_line_raises_with_the_expected_token(line, message):
    with pytest.raises(SignatureError, match=re.escape(message)):
        parse_signature(line)


def test_records_are_immutable():
    with pytest.raises(AttributeError):
        op_catalogue.signature("MatMul").name = "x"


def test_importing_the_catalogue_loads_neither_numpy_nor_protobuf():
    program = (
        "import sys; from headrace.formats import op_catalogue; op_catalogue.find('MatMul');"
        "print(sorted({'numpy', 'google.protobuf', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


# ---- any signature -----------------------------------------------------------------------------

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in TYPE_NUMBERS and name not in ("Ref", "list", "inf", "nan")
)
types = st.sampled_from(sorted(TYPE_NAMES))
scalar_values = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=8),
    "type": types,
    "shape": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=4).map(tuple),
}


@st.composite
def attributes(draw, name):
    kind = draw(st.sampled_from(sorted(scalar_values)))
    value = scalar_values[kind]
    allowed = ()
    if kind in ("type", "string"):
        allowed = tuple(draw(st.lists(value, max_size=3, unique=True)))
    minimum = None
    default = NO_DEFAULT
    is_list = draw(st.booleans())
    if is_list or kind == "int":
        minimum = draw(st.none() | st.integers(-3, 4))
    if draw(st.booleans()):
        default = draw(st.lists(value, max_size=3).map(tuple) if is_list else value)
    return Attr(name, f"list({kind})" if is_list else kind, default, allowed, minimum)


@st.composite
def signatures(draw):
    attr_names = draw(st.lists(names, max_size=5, unique=True))
    attrs = tuple(draw(attributes(name)) for name in attr_names)

    def arg():
        number = draw(st.sampled_from([""] + [a.name for a in attrs if a.kind == "int"]))
        is_ref = draw(st.booleans())
        lists = [a.name for a in attrs if a.kind == "list(type)"]
        if lists and not number and draw(st.booleans()):
            return Arg(draw(names), type_list_attr=draw(st.sampled_from(lists)), is_ref=is_ref)
        kinds = [a.name for a in attrs if a.kind == "type"]
        if kinds and draw(st.booleans()):
            of = draw(st.sampled_from(kinds))
            return Arg(draw(names), type_attr=of, number_attr=number, is_ref=is_ref)
        return Arg(draw(names), draw(types), number_attr=number, is_ref=is_ref)

    flags = {
        flag: draw(st.booleans())
        for flag in ("stateful", "commutative", "aggregate", "uninitialized_ok")
        + ("shape_only", "view", "data_shape", "internal")
    }
    return Signature(
        draw(names),
        tuple(arg() for _ in range(draw(st.integers(0, 3)))),
        tuple(arg() for _ in range(draw(st.integers(0, 3)))),
        attrs,
        shape_rule=draw(st.just("") | names),
        **flags,
    )


@given(signatures())
def test_arbitrary_signatures_round_trip_through_text(signature):
    assert parse_signature(str(signature)) == signature


@given(st.text(alphabet="A(x:T)->*,={}[]'\" 1int\\", max_size=40))
def test_arbitrary_text_is_parsed_or_rejected(text):
    try:
        parse_signature(text)
    except SignatureError:
        pass


# ---- against TensorFlow ------------------------------------------------------------------------


@pytest.mark.peer
def test_every_op_def_equals_tensorflow():
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    theirs = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    judge = {}
    for message in theirs.op:
        for arg in (*message.input_arg, *message.output_arg):
            arg.description = ""
            arg.ClearField("experimental_full_type")
        for attr in message.attr:
            attr.description = ""
        for field in (
            "description",
            "summary",
            "deprecation",
            "is_distributed_communication",
        ):
            message.ClearField(field)
        judge[message.name] = OpDef.FromString(message.SerializeToString())
    for name in op_catalogue._index():
        if name == "GatherTree":  # of contrib, which ended with TensorFlow 1.15
            continue
        internal = op_catalogue.signature(name).internal
        assert internal == (name not in judge), name
        if not internal and name != "_FusedMatMul":  # Headrace's accepts double too
            ours = op_catalogue.op_def(name)
            assert str(ours) == str(judge[name]), name
