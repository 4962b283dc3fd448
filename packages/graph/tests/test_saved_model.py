from __future__ import annotations

import pytest

import headrace.graph as hr


def test_a_signature_names_its_tensors_with_type_and_shape(graph):
    x = hr.placeholder(hr.float32, [None, 3], name="x")
    y = hr.identity(x, name="y")
    result = hr.saved_model.signature_def_utils.predict_signature_def({"in": x}, {"out": y})
    assert result.method_name == "tensorflow/serving/predict"
    info = result.inputs["in"]
    assert info.name == "x:0" and info.dtype == 1
    assert [d.size for d in info.tensor_shape.dim] == [-1, 3]
    assert hr.saved_model.utils.get_tensor_from_tensor_info(result.outputs["out"]) is y
    with pytest.raises(ValueError, match="inputs cannot be None or empty"):
        hr.saved_model.predict_signature_def({}, {"out": y})
    with pytest.raises(ValueError, match="examples must be of type string, not float32"):
        hr.saved_model.regression_signature_def(x, y)


def test_builder_rejects_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(AssertionError, match="isn't empty"):
        hr.saved_model.builder.SavedModelBuilder(str(tmp_path))


def test_error_names_the_folder_without_a_saved_model(tmp_path):
    assert not hr.saved_model.loader.maybe_saved_model_directory(str(tmp_path))
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        hr.saved_model.loader.load(None, ["serve"], str(tmp_path))


def test_the_constants_are_those_of_tf():
    assert hr.saved_model.tag_constants.SERVING == "serve"
    constants = hr.saved_model.signature_constants
    assert constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY == "serving_default"
