"""Public functions have the arguments, order and defaults of TensorFlow 1.x."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest

from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC

pytestmark = pytest.mark.peer

# Deliberately not in TensorFlow.
NOT_IN_TENSORFLOW = {
    "OpDef": "the message; TensorFlow keeps it inside",
    "complex_abs": "TensorFlow 1.0's name",
    "erfinv": "TensorFlow has it in tf.math, later than 1.x",
    "ndtri": "TensorFlow has it in tf.math, later than 1.x",
    "get_all_collection_keys": "a method of Graph there",
    "train.AsyncCheckpointSaverHook": "ours",
    "train.AsyncSaver": "ours",
    "train.CheckpointState": "the message; TensorFlow keeps it inside",
    "version.PACKAGE_VERSION": "ours",
}
NOT_IN_TENSORFLOW.update(
    (name, "a type for annotations; TensorFlow 1.x has none")
    for name in PUBLIC
    if name.startswith("typing.")
)
NOT_IN_TENSORFLOW.update(
    (name, "TensorFlow 2 has neither contrib nor the tutorials")
    for name in PUBLIC
    if name.startswith(("contrib.", "examples."))
)
NOT_IN_TENSORFLOW.update(
    (name, "TensorFlow keeps it in tensorflow.python")
    for name in PUBLIC
    if name.startswith("functions.")
)
# Classes that users do not construct: their constructors differ.
MADE_INSIDE = {
    "DType", "dtypes.DType", "Operation", "Tensor", "IndexedSlicesSpec", "train.Optimizer"
}  # fmt: skip
# Classes in TensorFlow that are functions here, or the reverse.
OTHER_KIND = {"init_scope", "variable_creator_scope"} | {
    f"keras.initializers.{name}"
    for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")
}
# name, or "*" -> arguments added to TensorFlow after 1.15.
NEWER: dict[str, set[str]] = {
    "*": {"layout", "bad_indices_policy", "allow_fast_lookup", "alg"},
    "image.non_max_suppression_padded": {
        "sorted_input",
        "canonicalized_coordinates",
        "tile_size",
    },
    "keras.initializers.deserialize": {"use_legacy_format"},
    "keras.initializers.serialize": {"use_legacy_format"},
    "map_fn": {"fn_output_signature"},
    "train.CheckpointManager": {
        "step_counter",
        "checkpoint_interval",
        "init_fn",
        "last_checkpoint_step",
    },
    "linspace": {"axis"},
    "lin_space": {"axis"},
    "linalg.LinearOperator": {"parameters"},
    "make_tensor_proto": {"allow_broadcast"},
    "matmul": {"output_type", "grad_a", "grad_b"},
    "linalg.matmul": {"output_type", "grad_a", "grad_b"},
    "math.top_k": {"index_type"},
    "nn.top_k": {"index_type"},
    "nn.swish": {"beta"},
    "saved_model.build_signature_def": {"defaults"},
    "saved_model.signature_def_utils.build_signature_def": {"defaults"},
    "sparse.cross": {"separator"},
    "train.AdamOptimizer": {"use_own_namescope_for_non_slot_vars"},
    "train.FtrlOptimizer": {"beta"},
    "train.export_meta_graph": {"kwargs"},
}
# name -> arguments that compat.v1 of TensorFlow 2 no longer has, or accepts in **kwargs.
OURS: dict[str, set[str]] = {
    "convert_to_tensor": {"as_ref"},
    "convert_to_tensor_or_indexed_slices": {"as_ref"},
    "nn.sigmoid_cross_entropy_with_logits": {"_sentinel"},
    "nn.softmax_cross_entropy_with_logits": {"_sentinel"},
    "nn.sparse_softmax_cross_entropy_with_logits": {"_sentinel"},
    "shape": {"optimize"},
    "train.CheckpointSaverHook": {"asynchronous"},
    "train.update_checkpoint_state": {"save_relative_paths"},
}
# name -> reason of the difference.
DELIBERATE = {
    "OpError": "ours also says node, file and byte",
    "Variable": "TensorFlow's metaclass shows *args and **kwargs",
    "einsum": "TensorFlow hides name in **kwargs",
    "function": "the arguments of TensorFlow 1.15",
    "linalg.einsum": "TensorFlow hides name in **kwargs",
    "lookup.StaticHashTable": "TensorFlow's metaclass shows *args and **kwargs",
    "lookup.StaticVocabularyTable": "TensorFlow's metaclass shows *args and **kwargs",
    "lookup.experimental.DenseHashTable": "TensorFlow's metaclass shows *args and **kwargs",
    "lookup.experimental.MutableHashTable": "TensorFlow's metaclass shows *args and **kwargs",
    "py_function": "TensorFlow 2 gives the three that are needed the default None",
    "shape": "out_type is int32 as in 1.x; TensorFlow 2 reads a flag of the process",
    "size": "out_type is int32 as in 1.x; TensorFlow 2 reads a flag of the process",
    "sparse.split": "TensorFlow's first default is an object of its own that means: by name",
    "sparse_split": "TensorFlow's first default is an object of its own that means: by name",
    "variable_op_scope": "the rest goes on to variable_scope",
}


def _plain(value: Any) -> Any:
    """Converts a default to a form common to both systems."""
    if hasattr(value, "as_datatype_enum"):
        return value.name
    if type(value) is object:
        return "not given"
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if hasattr(value, "name") and hasattr(value, "value"):
        return value.name
    if isinstance(value, type) or callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return value


def _parameters(function: Any) -> list[tuple[str, Any]] | None:
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return [(p.name, _plain(p.default)) for p in signature.parameters.values()]


def _theirs(name: str) -> Any:
    # TensorFlow 1.x's Keras is not Keras 3.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    import tensorflow.compat.v1 as tf

    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


# Keras 3 removed layers and cells from TensorFlow: no comparison is possible. TensorFlow 2 gave all
# methods of datasets further arguments; those of 1.15.5 are in public_api.txt.
_OTHERS_THERE = ("layers.", "nn.rnn_cell.", "data.", "OptionalSpec")
COMPARED = sorted(name for name in PUBLIC if not name.startswith(_OTHERS_THERE))


@pytest.mark.parametrize("name", COMPARED)
def test_public_name_is_called_as_in_tensorflow(name: str) -> None:
    ours = find(name)
    if name in NOT_IN_TENSORFLOW:
        with pytest.raises(AttributeError):
            _theirs(name)
        return
    theirs = _theirs(name)
    if not callable(ours) or inspect.ismodule(ours) or name in MADE_INSIDE:
        return
    if name not in OTHER_KIND:
        assert inspect.isclass(ours) == inspect.isclass(theirs)
    mine, expected = _parameters(ours), _parameters(theirs)
    if mine is None or expected is None or hasattr(theirs, "DESCRIPTOR"):
        return
    newer = NEWER["*"] | NEWER.get(name, set())
    mine = [p for p in mine if p[0] not in OURS.get(name, ())]
    same = [p for p in expected if p[0] not in newer] == [p for p in mine if p[0] not in newer]
    assert same == (name not in DELIBERATE), f"{name}{mine}, TensorFlow {expected}"


# Arguments of methods added to TensorFlow after 1.15.
NEWER_IN_METHODS = {
    "skip_gradients_aggregation",
    "use_pybind11_proto",
    "experimental_image_format",
    "experimental_image_writer_options",
    "relative_tolerance",
    "check_interval",
}
# class.method -> reason of the difference.
DELIBERATE_METHODS = {
    "IndexedSlicesSpec.is_compatible_with": "TensorFlow 2 renamed its argument",
    "SparseTensorSpec.is_compatible_with": "TensorFlow 2 renamed its argument",
    "TensorSpec.is_compatible_with": "TensorFlow 2 renamed its argument",
    "lookup.experimental.MutableHashTable.lookup": "1.x has no dynamic_default_values",
    "train.Checkpoint.save": "1.x has no options",
    "train.Checkpoint.write": "1.x has no options",
    "train.CheckpointManager.save": "1.x has no options",
    "saved_model.Builder.add_meta_graph": "ours also takes assets_list, as 1.x did",
    "saved_model.Builder.add_meta_graph_and_variables": "ours takes assets_list, as 1.x did",
    "test.TestCase.assertDictEqual": "unittest's",
    "test.TestCase.assertMultiLineEqual": "unittest's",
    "test.TestCase.assertRaisesRegexp": "unittest's",
    "test.TestCase.assertShapeEqual": "TensorFlow 2 renamed its arguments",
    "test.TestCase.fail": "unittest's",
}


def _classes() -> dict[str, Any]:
    """Returns the public classes, each with one of its names."""
    found: dict[Any, str] = {}
    for name in COMPARED:
        value = find(name)
        if inspect.isclass(value) and not hasattr(value, "DESCRIPTOR"):
            found.setdefault(value, name)
    return {name: value for value, name in found.items() if name not in NOT_IN_TENSORFLOW}


@pytest.mark.parametrize("name", sorted(_classes()))
def test_methods_are_called_as_in_tensorflow(name: str) -> None:
    ours, theirs = find(name), _theirs(name)
    for method in dir(ours):
        mine, other = getattr(ours, method), getattr(theirs, method, None)
        if method.startswith("_") or inspect.isclass(mine):
            continue
        if not (callable(mine) and callable(other)):
            continue
        here, there = _parameters(mine), _parameters(other)
        if here is None or there is None:
            continue
        there = [p for p in there if p[0] not in NEWER_IN_METHODS]
        same = here == there
        assert same == (f"{name}.{method}" not in DELIBERATE_METHODS), (
            f"{name}.{method}{here}, TensorFlow {there}"
        )
