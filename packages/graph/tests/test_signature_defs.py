"""Creation and validation of SignatureDefs."""

from __future__ import annotations

import headrace.graph as hr


def test_a_classification_signature_is_valid():
    text = hr.placeholder(hr.string, [None], name="examples")
    classes = hr.constant(["a", "b"], name="classes")
    scores = hr.constant([0.5, 0.5], name="scores")
    signature = hr.saved_model.classification_signature_def(text, classes, scores)
    assert hr.saved_model.is_valid_signature(signature)
    assert signature.method_name == hr.saved_model.CLASSIFY_METHOD_NAME
    assert signature.inputs[hr.saved_model.CLASSIFY_INPUTS].name == "examples:0"
    assert signature.outputs["scores"].name == "scores:0"
    signature.method_name = "unknown"
    assert not hr.saved_model.is_valid_signature(signature)


def test_tensor_info_resolves_to_its_tensor():
    x = hr.placeholder(hr.float32, [None, 3], name="x")
    info = hr.saved_model.build_tensor_info(x)
    assert (info.name, info.dtype) == ("x:0", hr.float32.as_datatype_enum)
    assert hr.saved_model.get_tensor_from_tensor_info(info) is x


def test_main_ops_initialise_and_restore():
    hr.Variable(1.0)
    restore = hr.no_op(name="restore")
    assert hr.saved_model.main_op.main_op().graph is restore.graph
    both = hr.saved_model.main_op_with_restore(restore)
    assert both.type == "NoOp" and both.control_inputs
