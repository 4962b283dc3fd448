"""Layers without weights: shapes of tensors, dropout, softmax, maxout, norms."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.contrib.framework.arg_scope import add_arg_scope
from headrace.graph.contrib.framework.variables import model_variable
from headrace.graph.contrib.layers.layer_variables import check_layout, model_variable_getter
from headrace.graph.contrib.layers.named_outputs import (
    collect_named_outputs,
    get_variable_collections,
    last_dimension,
)
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.functions.defun import Defun
from headrace.graph.layers.dense import Dropout, Flatten
from headrace.graph.ops.activations import softmax as _softmax
from headrace.graph.ops.arrays.creation import linspace, one_hot
from headrace.graph.ops.arrays.joining import concat, meshgrid
from headrace.graph.ops.reduction import reduce_max, reduce_sum
from headrace.graph.typing.aliases import Collections, TensorLike
from headrace.graph.variables.initializers import Constant, Ones
from headrace.graph.variables.variable_scope import VariableScope, variable_scope


@add_arg_scope
def flatten(
    inputs: TensorLike, outputs_collections: Collections | None = None, scope: str | None = None
) -> Tensor:
    """Flattens all dimensions except the first.

    Args:
      outputs_collections: collections of the result.
      scope: name scope.
    Returns: [batch, n].
    """
    with name_scope(scope, "Flatten", [inputs]) as entered:
        outputs = Flatten().apply(convert_to_tensor(inputs))
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: TensorLike = 0.5,
    noise_shape: TensorLike | None = None,
    is_training: bool | TensorLike = True,
    outputs_collections: Collections | None = None,
    scope: str | VariableScope | None = None,
    seed: int | None = None,
) -> Tensor:
    """Sets random elements to zero in training, and scales the others by 1 / keep_prob.

    Args:
      keep_prob: probability that an element is kept.
      noise_shape: shape of the random mask, broadcast to the inputs.
      is_training: bool or scalar bool tensor.
      outputs_collections: collections of the result.
      scope: variable scope.
      seed: seed of the mask.
    """
    with variable_scope(
        scope, "Dropout", [inputs], custom_getter=model_variable_getter()
    ) as entered:
        layer = Dropout(
            rate=1 - keep_prob,  # type: ignore[operator]
            noise_shape=noise_shape,
            seed=seed,
            name=entered.name,
            _scope=entered,
        )
        outputs = layer.apply(convert_to_tensor(inputs), training=is_training)
        result: Tensor = collect_named_outputs(outputs_collections, entered.name, outputs)
        return result


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: TensorLike = 1.0,
    off_value: TensorLike = 0.0,
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Returns hr.one_hot of labels [batch]: [batch, num_classes]."""
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as entered:
        indices = convert_to_tensor(labels)
        if indices.dtype.base_dtype == as_dtype("int32"):
            indices = op("Cast", indices, DstT="int64", name="ToInt64")
        outputs = one_hot(indices, num_classes, on_value=on_value, off_value=off_value)
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result


@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike,
    eos_token: int = 0,
    outputs_collections: Collections | None = None,
    scope: str | VariableScope | None = None,
) -> SparseTensor:
    """Returns a SparseTensor of the elements that differ from eos_token, for instance for CTC."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as entered:
        dense = convert_to_tensor(tensor)
        indices = op("Where", op("NotEqual", dense, constant(eos_token, dense.dtype.base_dtype)))
        values = op("GatherNd", dense, indices)
        outputs = SparseTensor(indices, values, op("Shape", dense, out_type="int64"))
        result: SparseTensor = collect_named_outputs(outputs_collections, entered.name, outputs)
        return result


@add_arg_scope
def softmax(logits: TensorLike, scope: str | VariableScope | None = None) -> Tensor:
    """Returns the softmax along the last axis, whose size must be known.

    Raises: ValueError for a rank below 2, or an unknown last dimension.
    """
    with variable_scope(scope, "softmax", [logits]):
        x = convert_to_tensor(logits)
        flat = op("Reshape", x, [-1, last_dimension(x.get_shape(), min_rank=2)])
        result: Tensor = op("Reshape", _softmax(flat), op("Shape", x))
        result.set_shape(x.get_shape())
        return result


@add_arg_scope
def spatial_softmax(
    features: TensorLike,
    temperature: float | None = None,
    name: str | None = None,
    variables_collections: Collections | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Returns the expected position of each channel's largest activation.

    Args:
      features: [batch, height, width, channels].
      temperature: divides the features; None makes it a variable that starts at 1.
      trainable: whether optimizers update the temperature.
      data_format: "NHWC" or "NCHW".
    Returns: [batch, 2 * channels]: for each channel its two coordinates, from -1 to 1.
    Raises: ValueError for another data_format, or an unknown number of channels.
    Source: Finn et al. 2015.
    """
    is_first = check_layout(data_format, "NHWC", "NCHW") == "channels_first"
    with variable_scope(name, "spatial_softmax"):
        x = convert_to_tensor(features)
        count_nodes(2)
        shape = op("Shape", x)
        height, width = (shape[2], shape[3]) if is_first else (shape[1], shape[2])
        channels = x.get_shape()[1 if is_first else 3].value
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. "
                "Found `None`."
            )
        with name_scope("spatial_softmax_op", "spatial_softmax_op", [x]):
            rows, columns = meshgrid(
                linspace(-1.0, 1.0, height), linspace(-1.0, 1.0, width), indexing="ij"
            )
            collections = get_variable_collections(variables_collections, "temperature")
            divisor = model_variable(
                "temperature",
                shape=(),
                dtype="float32",
                initializer=Ones() if temperature is None else Constant(temperature),
                collections=collections if trainable else None,
                trainable=trainable,
            )
            if not is_first:
                x = op("Transpose", x, [0, 3, 1, 2])
            flat = op("Reshape", x, op("Pack", [-1, height * width]))
            attention = _softmax(flat / divisor)
            expected = [
                reduce_sum(op("Reshape", position, [-1]) * attention, [1], keepdims=True)
                for position in (rows, columns)
            ]
            result: Tensor = op("Reshape", concat(expected, 1), [-1, 2 * channels])
            result.set_shape([None, 2 * channels])
    return result


@add_arg_scope
def images_to_sequence(
    inputs: TensorLike,
    data_format: str = "NHWC",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Converts images [batch, height, width, depth] to columns [width, batch * height, depth].

    Raises: ValueError for a data_format other than "NHWC" and "NCHW".
    """
    layout = check_layout(data_format, "NHWC", "NCHW")
    with name_scope(scope, "ImagesToSequence", [inputs]) as entered:
        x = convert_to_tensor(inputs)
        if layout == "channels_first":
            x = op("Transpose", x, [0, 2, 3, 1])
        _, _, width, depth = x.get_shape().as_list()
        shape = op("Shape", x)
        rows = op("Pack", [width, shape[0] * shape[1], depth])
        outputs = op("Reshape", op("Transpose", x, [2, 0, 1, 3]), rows)
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result


@add_arg_scope
def sequence_to_images(
    inputs: TensorLike,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Collections | None = None,
    scope: str | None = None,
) -> Tensor:
    """Converts columns [width, batch * height, depth] to images; reverses images_to_sequence.

    Args:
      output_data_format: "channels_last" or "channels_first".
    Returns: [batch, height, width, depth], or [batch, depth, height, width].
    """
    with name_scope(scope, "SequenceToImages", [inputs]) as entered:
        x = convert_to_tensor(inputs)
        width, rows, depth = x.get_shape().as_list()
        batch = -1 if rows is None else rows // height
        split = op("Reshape", x, [width, batch, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        outputs = op("Transpose", split, order)
        result: Tensor = collect_named_outputs(outputs_collections, entered, outputs)
        return result


@add_arg_scope
def unit_norm(
    inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: str | VariableScope | None = None
) -> Tensor:
    """Divides a tensor by its L2 norm along one axis.

    Args:
      dim: the axis, from 0.
      epsilon: added to the squared norm.
    Raises: ValueError for an unknown rank, or an axis out of range.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        x = convert_to_tensor(inputs)
        rank = x.get_shape().ndims
        if rank is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        squared = reduce_sum(op("Square", x), dim, keepdims=True)
        result: Tensor = x / op("Sqrt", squared + constant(epsilon, x.dtype.base_dtype))
        return result


@add_arg_scope
def maxout(
    inputs: TensorLike,
    num_units: int,
    axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Returns the maxima of groups of channels.

    Args:
      num_units: number of groups; a divisor of the number of channels.
      axis: axis of the channels.
    Raises: ValueError if num_units does not divide the number of channels.
    Source: Goodfellow et al. 2013.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        x = convert_to_tensor(inputs)
        sizes: list[Any] = x.get_shape().as_list()
        channels = sizes[axis]
        if channels is None or channels % num_units:
            raise ValueError(
                f"number of features({channels}) is not a multiple of num_units({num_units})"
            )
        sizes[axis] = num_units
        static = list(sizes)
        shape = op("Shape", x)
        sizes = [shape[i] if n is None else n for i, n in enumerate(sizes)]
        groups = op("Reshape", x, op("Pack", [*sizes, channels // num_units]))
        result: Tensor = reduce_max(groups, -1)
        result.set_shape(static)
        return result


def poincare_normalize(
    x: TensorLike, axis: int = 1, epsilon: float = 1e-5, name: str | None = None
) -> Tensor:
    """Scales vectors down whose L2 norm is above 1 - epsilon, so that they lie in the unit ball.

    Args:
      axis: axis, or axes, of the vectors.
    Source: Nickel and Kiela 2017.
    """
    with name_scope(name, "poincare_normalize", [x]) as scope:
        values = convert_to_tensor(x, name="x")
        squared = reduce_sum(op("Square", values), axis, keepdims=True)
        factor = op("Minimum", (1.0 - epsilon) * op("Rsqrt", squared), 1.0)
        result: Tensor = op("Mul", values, factor, name=scope)
        return result


def scale_gradient(inputs: TensorLike, gradient_multiplier: TensorLike) -> Tensor:
    """Returns the inputs; their gradient is multiplied by gradient_multiplier."""
    result: Tensor = _scale_gradient(inputs, gradient_multiplier)
    return result


@Defun(
    python_grad_func=lambda node, grad: [grad * node.inputs[1], None],
    shape_func=lambda node: [node.inputs[0].get_shape()],
)
def _scale_gradient(inputs: Tensor, gradient_multiplier: Tensor) -> Tensor:
    return inputs
