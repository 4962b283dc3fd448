"""SignatureDefs: the inputs and outputs of SavedModels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.typing.aliases import Proto

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
PREDICT_INPUTS = "inputs"
PREDICT_OUTPUTS = "outputs"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
CLASSIFY_INPUTS = "inputs"
CLASSIFY_OUTPUT_CLASSES = "classes"
CLASSIFY_OUTPUT_SCORES = "scores"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
REGRESS_INPUTS = "inputs"
REGRESS_OUTPUTS = "outputs"


def build_tensor_info(tensor: Tensor | SparseTensor) -> Any:
    """Returns the TensorInfo of a Tensor or SparseTensor: name, dtype and shape."""
    from headrace.formats.proto.meta_graph_pb2 import TensorInfo

    info = TensorInfo(tensor_shape=tensor.get_shape().as_proto())
    info.dtype = int(as_dtype(tensor.dtype))  # type: ignore[assignment]
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(
    tensor_info: Proto, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """Returns the tensor of a TensorInfo.

    Raises: KeyError if the graph has no such tensor.
    """
    graph = graph or get_default_graph()

    def named(name: str) -> Any:
        return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

    if tensor_info.WhichOneof("encoding") == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(
            named(parts.indices_tensor_name),
            named(parts.values_tensor_name),
            named(parts.dense_shape_tensor_name),
        )
    return named(tensor_info.name)


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """Creates a SignatureDef.

    Args:
      inputs, outputs: TensorInfos by name.
      method_name: name of the serving method.
    """
    from headrace.formats.proto.meta_graph_pb2 import SignatureDef

    message = SignatureDef(method_name=method_name or "")
    for name, info in (inputs or {}).items():
        message.inputs[name].CopyFrom(info)
    for name, info in (outputs or {}).items():
        message.outputs[name].CopyFrom(info)
    return message


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Creates the SignatureDef of a prediction.

    Args:
      inputs, outputs: tensors by name, at least one each.
    Raises: ValueError if inputs or outputs are empty.
    """
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), PREDICT_METHOD_NAME)


def regression_signature_def(examples: Tensor, predictions: Tensor) -> Any:
    """Creates the SignatureDef of a regression, from serialized examples to floats.

    Raises: ValueError for missing tensors or other dtypes.
    """
    _check("examples", examples, "string")
    _check("predictions", predictions, "float32")
    return build_signature_def(
        _infos({REGRESS_INPUTS: examples}),
        _infos({REGRESS_OUTPUTS: predictions}),
        REGRESS_METHOD_NAME,
    )


def classification_signature_def(examples: Tensor, classes: Tensor, scores: Tensor) -> Any:
    """Creates the SignatureDef of a classification: string classes, float scores, or both.

    Raises: ValueError for missing tensors or other dtypes.
    """
    _check("examples", examples, "string")
    outputs = {}
    if classes is not None:
        _check("classes", classes, "string")
        outputs[CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        _check("scores", scores, "float32")
        outputs[CLASSIFY_OUTPUT_SCORES] = scores
    if not outputs:
        raise ValueError("Classification classes and scores cannot both be None.")
    return build_signature_def(
        _infos({CLASSIFY_INPUTS: examples}), _infos(outputs), CLASSIFY_METHOD_NAME
    )


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    def of(value: Any) -> Any:
        return value if isinstance(value, SparseTensor) else convert_to_tensor(value)

    return {name: build_tensor_info(of(value)) for name, value in tensors.items()}


def _check(what: str, tensor: Any, requested: str) -> None:
    if tensor is None:
        raise ValueError(f"{what} cannot be None")
    dtype: DType = as_dtype(tensor.dtype).base_dtype
    if dtype != as_dtype(requested):
        raise ValueError(f"{what} must be of type {requested}, not {dtype.name}")


def is_valid_signature(signature_def: Proto) -> bool:
    """Returns whether a SignatureDef has the inputs, outputs and dtypes of its method."""
    if signature_def is None:
        return False
    inputs, outputs = dict(signature_def.inputs), dict(signature_def.outputs)
    method = signature_def.method_name
    if method == PREDICT_METHOD_NAME:
        return bool(inputs and outputs)
    text, number = 7, 1
    if method == REGRESS_METHOD_NAME:
        types = {key: info.dtype for key, info in {**inputs, **outputs}.items()}
        return (
            set(inputs) == {REGRESS_INPUTS}
            and set(outputs) == {REGRESS_OUTPUTS}
            and types == {REGRESS_INPUTS: text, REGRESS_OUTPUTS: number}
        )
    if method == CLASSIFY_METHOD_NAME:
        allowed = {CLASSIFY_OUTPUT_CLASSES: text, CLASSIFY_OUTPUT_SCORES: number}
        return (
            set(inputs) == {CLASSIFY_INPUTS}
            and inputs[CLASSIFY_INPUTS].dtype == text
            and bool(outputs)
            and all(allowed.get(key) == info.dtype for key, info in outputs.items())
        )
    return False
