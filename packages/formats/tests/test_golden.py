"""Headrace reads files that TensorFlow wrote (tools/make_golden.py), without TensorFlow."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format

from headrace.formats.bundle_files import bundle_files
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.dtypes import as_dtype
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.checkpoint_state_pb2 import CheckpointState
from headrace.formats.proto.event_pb2 import SessionLog
from headrace.formats.proto.example_pb2 import Example
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.proto.saved_model_pb2 import SavedModel
from headrace.formats.proto.tensor_pb2 import TensorProto
from headrace.formats.proto.variable_pb2 import VariableDef
from headrace.formats.record_file import read_records
from headrace.formats.tensor_codec import make_ndarray, make_tensor_proto

GOLDEN = Path(__file__).parent / "golden"
WEIGHTS = np.arange(15, dtype=np.float32).reshape(3, 5)
DTYPES = {
    "half": np.array([1.5, -2.0, 65504.0], np.float16),
    "bfloat16": np.array([1.5, -2.0, 3.0], ml_dtypes.bfloat16),
    "float": np.array([[1.5, -0.0], [np.inf, 3.4e38]], np.float32),
    "double": np.array([1e300, -1.0]),
    "int8": np.array([-128, 127], np.int8),
    "int16": np.array([-32768, 32767], np.int16),
    "int32": np.array([-(2**31), 2**31 - 1], np.int32),
    "int64": np.array([-(2**63), 2**63 - 1], np.int64),
    "uint8": np.array([0, 255], np.uint8),
    "uint16": np.array([0, 65535], np.uint16),
    "uint32": np.array([0, 2**32 - 1], np.uint32),
    "uint64": np.array([0, 2**64 - 1], np.uint64),
    "complex64": np.array([1 + 2j, -3.5j], np.complex64),
    "complex128": np.array([1 + 2j, -3.5j]),
    "bool": np.array([[True], [False]]),
    "string": np.array([b"a", b"", b"\x00\xff"], object),
    "float8_e4m3fn": np.array([1.5, 448.0], ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.array([1.5, 57344.0], ml_dtypes.float8_e5m2),
}


def read(message, name):
    return message.FromString((GOLDEN / name).read_bytes())


def same(got, expected):
    assert (got.dtype, got.shape, got.tolist()) == (
        expected.dtype,
        expected.shape,
        expected.tolist(),
    )


def test_graph_def_has_the_nodes_of_the_model():
    graph = read(GraphDef, "graph.pb")
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node) > 100
    assert nodes["x"].op == "Placeholder"
    assert [d.size for d in nodes["x"].attr["shape"].shape.dim] == [-1, 3]
    assert nodes["layer/weights/part_0"].op == "VariableV2"
    assert nodes["layer/bias"].op == "VarHandleOp"
    assert (nodes["logits"].op, list(nodes["logits"].input)) == ("MatMul", ["x", "layer/weights"])
    assert nodes["logits"].device == "/device:CPU:0"
    assert nodes["while/Enter"].attr["parallel_iterations"].i == 10
    assert {"Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond"} <= {
        node.op for node in graph.node
    }
    assert nodes["GradientDescent"].op == "AssignAdd"
    assert list(nodes["GradientDescent"].input) == ["global_step", "GradientDescent/value"]
    same(make_ndarray(nodes["layer/Const"].attr["value"].tensor), WEIGHTS)
    (function,) = graph.library.function
    assert [arg.type for arg in function.signature.input_arg] == [as_dtype("int32")]
    assert graph.versions.producer == 2474 and graph.versions.min_consumer == 12


def test_text_graph_equals_the_binary_graph():
    graph = read(GraphDef, "graph.pb")
    text = (GOLDEN / "graph.pbtxt").read_text()
    assert text_format.Parse(text, GraphDef()) == graph
    again = text_format.Parse(text_format.MessageToString(graph), GraphDef())
    assert again == graph
    data = (GOLDEN / "graph.pb").read_bytes()
    assert len(graph.SerializeToString()) == len(data)


def test_meta_graph_has_partitioned_variables_and_saver():
    meta = read(MetaGraphDef, "model.ckpt-7.meta")
    assert meta.meta_info_def.tensorflow_version == "2.21.0"
    assert (meta.saver_def.max_to_keep, meta.saver_def.save_tensor_name) == (
        3,
        "save/control_dependency:0",
    )
    variables = [
        VariableDef.FromString(v) for v in meta.collection_def["variables"].bytes_list.value
    ]
    assert [(v.variable_name, v.is_resource) for v in variables] == [
        ("layer/weights/part_0:0", False),
        ("layer/weights/part_1:0", False),
        ("layer/bias:0", True),
        ("global_step:0", False),
    ]
    part = variables[1].save_slice_info_def
    assert (part.full_name, part.full_shape, part.var_offset, part.var_shape) == (
        "layer/weights",
        [3, 5],
        [0, 3],
        [3, 2],
    )
    ops = {op.name for op in meta.meta_info_def.stripped_op_list.op}
    assert {node.op for node in meta.graph_def.node} == ops


def test_checkpoint_has_the_variables():
    with BundleReader(GOLDEN / "model.ckpt-7") as reader:
        assert reader.names() == ["global_step", "layer/bias", "layer/weights"]
        same(reader.read("layer/weights"), WEIGHTS)
        same(reader.read("layer/bias"), np.full(5, 0.5, np.float32))
        same(reader.read("global_step"), np.array(0, np.int64))
        assert reader.slices("layer/weights") == [[(0, 3), (0, 3)], [(0, 3), (3, 2)]]
        same(reader.read_slice("layer/weights", [1, 2], [2, 2]), WEIGHTS[1:3, 2:4])
    assert len(bundle_files(GOLDEN / "model.ckpt-7")) == 2
    state = text_format.Parse((GOLDEN / "checkpoint").read_text(), CheckpointState())
    assert state.model_checkpoint_path == "model.ckpt-7"
    assert state.all_model_checkpoint_paths == ["model.ckpt-7"]


@pytest.mark.parametrize("name", DTYPES)
def test_checkpoint_has_the_exact_values_of_every_dtype(name):
    with BundleReader(GOLDEN / "dtypes.ckpt") as reader:
        assert reader.names() == sorted(DTYPES)
        same(reader.read(name), DTYPES[name])
        assert reader.dtype(name) == as_dtype(name)


def test_c_reader_returns_the_same_checkpoints(native):
    scan = native("bundle_scan.c", sanitize=True)
    lines = scan(GOLDEN / "dtypes.ckpt", "all")
    assert [line.split(" ")[0] for line in lines] == sorted(DTYPES)
    for line in lines:
        name, verdict, number, *_ = line.split(" ")
        assert (verdict, int(number)) == ("ok", as_dtype(name).as_datatype_enum)
    assert scan(GOLDEN / "model.ckpt-7", "layer/weights")[0].startswith("ok 1 2 ")


def test_tensor_protos_have_the_exact_values():
    protos = [TensorProto.FromString(r) for r in read_records(GOLDEN / "tensors.tfrecord")]
    for proto, expected in zip(
        protos, [*DTYPES.values(), np.full((2, 3), 7, np.int32)], strict=True
    ):
        same(make_ndarray(proto), expected)
        same(make_ndarray(make_tensor_proto(make_ndarray(proto))), expected)
    assert protos[-1].int_val == [7]


@pytest.mark.parametrize(
    ("name", "compression"),
    [("records.tfrecord", ""), ("records.gz", "GZIP"), ("records.zlib", "ZLIB")],
)
def test_records_have_the_examples(name, compression):
    *records, last = read_records(GOLDEN / name, compression)
    assert last == b""
    for i, record in enumerate(records):
        feature = Example.FromString(record).features.feature
        assert feature["label"].int64_list.value == [i, -i]
        assert feature["weight"].float_list.value == [i / 2]
        assert feature["name"].bytes_list.value == [b"n%d" % i]
    assert len(records) == 3


def test_event_file_has_the_summaries_the_graph_and_the_trace():
    (path,) = event_files(GOLDEN / "events")
    events = list(read_events(path))
    assert [event.WhichOneof("what") for event in events] == [
        "file_version",
        "graph_def",
        "meta_graph_def",
        "summary",
        "tagged_run_metadata",
        "session_log",
    ]
    assert events[0].file_version == "brain.Event:2"
    assert "logits" in {n.name for n in GraphDef.FromString(events[1].graph_def).node}
    assert events[3].step == 3
    loss, weights, picture, note = events[3].summary.value
    assert (loss.tag, loss.simple_value) == ("loss_1", 0.25)
    histogram = weights.histo
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (-1, 2, 4, 1.5)
    assert sum(histogram.bucket) == 4 and len(histogram.bucket) == len(histogram.bucket_limit)
    assert histogram.sum_squares == 5.25
    image = picture.image
    assert (image.height, image.width, image.colorspace) == (2, 2, 3)
    assert image.encoded_image_string.startswith(b"\x89PNG")
    assert note.metadata.plugin_data.plugin_name == "text"
    assert make_ndarray(note.tensor).item() == b"hello"
    trace = events[4].tagged_run_metadata
    metadata = RunMetadata.FromString(trace.run_metadata)
    assert trace.tag == "step3" and metadata.step_stats.dev_stats[0].node_stats
    assert events[5].session_log.status == SessionLog.CHECKPOINT


def test_saved_model_has_its_signature_and_variables():
    model = read(SavedModel, "saved_model/saved_model.pb")
    (meta,) = model.meta_graphs
    assert model.saved_model_schema_version == 1
    assert list(meta.meta_info_def.tags) == ["serve"]
    signature = meta.signature_def["serving_default"]
    assert signature.method_name == "tensorflow/serving/predict"
    assert signature.inputs["x"].name == "x:0" and signature.outputs["y"].name == "output:0"
    assert [d.size for d in signature.inputs["x"].tensor_shape.dim] == [-1, 3]
    with BundleReader(GOLDEN / "saved_model" / "variables" / "variables") as reader:
        same(reader.read("layer/weights"), WEIGHTS)
