"""Constants, messages and switches of the public API have TensorFlow 1.x's values."""

from __future__ import annotations

import logging
import numbers
import unittest.mock
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find

CONSTANTS = {
    "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY": "serving_default",
    "saved_model.PREDICT_METHOD_NAME": "tensorflow/serving/predict",
    "saved_model.PREDICT_INPUTS": "inputs",
    "saved_model.PREDICT_OUTPUTS": "outputs",
    "saved_model.CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
    "saved_model.CLASSIFY_INPUTS": "inputs",
    "saved_model.CLASSIFY_OUTPUT_CLASSES": "classes",
    "saved_model.CLASSIFY_OUTPUT_SCORES": "scores",
    "saved_model.REGRESS_METHOD_NAME": "tensorflow/serving/regress",
    "saved_model.REGRESS_INPUTS": "inputs",
    "saved_model.REGRESS_OUTPUTS": "outputs",
    "saved_model.ASSETS_DIRECTORY": "assets",
    "saved_model.ASSETS_KEY": "saved_model_assets",
    "saved_model.GPU": "gpu",
    "saved_model.LEGACY_INIT_OP_KEY": "legacy_init_op",
    "saved_model.MAIN_OP_KEY": "saved_model_main_op",
    "saved_model.SAVED_MODEL_FILENAME_PB": "saved_model.pb",
    "saved_model.SAVED_MODEL_FILENAME_PBTXT": "saved_model.pbtxt",
    "saved_model.SAVED_MODEL_SCHEMA_VERSION": 1,
    "saved_model.SERVING": "serve",
    "saved_model.TPU": "tpu",
    "saved_model.TRAINING": "train",
    "saved_model.VARIABLES_DIRECTORY": "variables",
    "saved_model.VARIABLES_FILENAME": "variables",
    "logging.ERROR": logging.ERROR,
    "compat.integral_types": (numbers.Integral, np.integer),
    "compat.real_types": (numbers.Real, np.integer, np.floating),
    "compat.complex_types": (numbers.Complex, np.number),
    "compat.bytes_or_text_types": (bytes, str),
    "AggregationMethod.ADD_N": 0,
    "AggregationMethod.DEFAULT": 0,
    "VariableSynchronization.ON_READ.value": 3,
    "VariableAggregation.ONLY_FIRST_REPLICA.value": 3,
    "UnconnectedGradients.ZERO.value": "zero",
    "losses.Reduction.SUM_BY_NONZERO_WEIGHTS": "weighted_sum_by_nonzero_weights",
    "io.TFRecordCompressionType.GZIP": 2,
    "test.mock": unittest.mock,
    "VERSION": "1.15.0",
    "version.PACKAGE_VERSION": version("headrace-graph"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_have_the_values_of_tensorflow(name: str) -> None:
    value: Any = hr
    for part in name.split("."):
        value = getattr(value, part)
    assert value == CONSTANTS[name]


def test_the_graph_def_versions_are_in_order() -> None:
    least = hr.GRAPH_DEF_VERSION_MIN_CONSUMER
    assert least <= hr.GRAPH_DEF_VERSION_MIN_PRODUCER <= hr.GRAPH_DEF_VERSION


def test_quantized_dtypes_are_flagged() -> None:
    assert hr.QUANTIZED_DTYPES >= {hr.qint8, hr.quint8, hr.qint16, hr.quint16, hr.qint32}
    assert hr.float32 not in hr.QUANTIZED_DTYPES


# A message, one of its fields, and a value of the field.
MESSAGES = [
    ("LogMessage", "message", "text"),
    ("summary.TaggedRunMetadata", "tag", "step1"),
    ("summary.SummaryDescription", "type_hint", "loss"),
    ("train.JobDef", "name", "worker"),
    ("train.ServerDef", "job_name", "ps"),
    ("train.SaverDef", "max_to_keep", 5),
    ("GPUOptions", "allow_growth", True),
    ("GraphOptions", "infer_shapes", True),
    ("NameAttrList", "name", "f"),
    ("TensorInfo", "name", "x:0"),
]


@pytest.mark.parametrize(("name", "field", "value"), MESSAGES)
def test_messages_round_trip_through_bytes(name: str, field: str, value: Any) -> None:
    kind = find(name)
    message = kind(**{field: value})
    assert getattr(kind.FromString(message.SerializeToString()), field) == value


def test_a_cluster_message_holds_jobs() -> None:
    cluster = hr.train.ClusterDef(job=[hr.train.JobDef(name="ps", tasks={0: "a:1"})])
    assert cluster.job[0].tasks[0] == "a:1"


# Switches to TensorFlow 2 behaviour, which is always off, as in 1.x.
def test_tensorflow_2_behaviour_is_off() -> None:
    hr.disable_eager_execution()
    hr.disable_v2_tensorshape()
    hr.disable_tensor_equality()
    hr.disable_control_flow_v2()
    assert not hr.executing_eagerly()
    assert not hr.executing_eagerly_outside_functions()
    assert not hr.control_flow_v2_enabled()
    assert isinstance(hr.constant([1]).shape[0], hr.Dimension)
    assert hr.compat.forward_compatible(2019, 1, 1)


def test_builds_have_neither_cuda_nor_xla() -> None:
    assert not hr.test.is_built_with_rocm()
    assert not hr.test.is_built_with_xla()
