"""The modules of `contrib` and TensorFlow's inner modules: `from headrace.graph.python...`."""

from __future__ import annotations

import importlib

import pytest

import headrace.graph as hr
from headrace.graph.api.aliases import ALIASES, expand, missing
from headrace.graph.api.contrib_aliases import CONTRIB_ALIASES
from headrace.graph.api.inner_modules import INNER_MODULES
from headrace.graph.api.namespace import find, names
from headrace.graph.api.public_contrib import CONTRIB
from headrace.graph.api.public_names import PUBLIC

# Names that the tables have and headrace.graph does not have yet.
NOT_YET = set(
    """ConditionalAccumulator Defun FixedLengthRecordReader IdentityReader ReaderBase
    SparseConditionalAccumulator TFRecordReader TensorArray TextLineReader WholeFileReader
    contrib.lookup.* contrib.seq2seq.* contrib.seq2seq.gather_tree contrib.seq2seq.sequence_loss
    data.experimental.* foldl foldr io.parse_sequence_example load_op_library lookup.* map_fn
    nn.bidirectional_dynamic_rnn nn.dynamic_rnn nn.raw_rnn nn.rnn_cell.assert_like_rnncell
    nn.static_state_saving_rnn scan train.CheckpointManager
    train.QueueRunner train.SyncReplicasOptimizer train.add_queue_runner train.batch
    train.batch_join train.input_producer train.limit_epochs train.maybe_batch
    train.maybe_batch_join train.maybe_shuffle_batch train.maybe_shuffle_batch_join
    train.range_input_producer train.shuffle_batch
    train.shuffle_batch_join train.slice_input_producer train.start_queue_runners
    train.string_input_producer""".split()
)


def test_the_tables_name_no_unknown_name() -> None:
    assert set(missing(PUBLIC)) <= NOT_YET


def test_every_further_name_is_the_object_of_its_row() -> None:
    for name in expand(PUBLIC):
        value = find(name)
        reached = hr
        for part in name.split("."):
            reached = getattr(reached, part)
        assert reached is value, name


def test_the_tables_are_merged() -> None:
    assert {**CONTRIB_ALIASES, **INNER_MODULES} == ALIASES
    assert CONTRIB.items() <= PUBLIC.items()


def test_a_table_of_further_names_is_expanded() -> None:
    public = {"nn.relu": "ops.activations", "abs": "ops.elementwise:absolute", "nn.a.b": "m"}
    rows = expand(public, {"x": "nn.* size=abs nn.none", "y": "x.relu t=@m.n:o"})
    assert rows == {
        "x.relu": "ops.activations:relu",
        "x.size": "ops.elementwise:absolute",
        "y.relu": "ops.activations:relu",
        "y.t": "m.n:o",
    }
    assert missing(public, {"x": "nn.none z.* abs"}) == ["nn.none", "z.*"]


@pytest.mark.parametrize(
    ("module", "name", "public"),
    [
        ("python.framework.ops", "Graph", "Graph"),
        ("python.framework.dtypes", "float32", "float32"),
        ("python.framework.errors_impl", "OpError", "OpError"),
        ("python.ops.array_ops", "tensor_diag", "diag"),
        ("python.ops.math_ops", "reduce_sum", "reduce_sum"),
        ("python.ops.rnn_cell_impl", "LSTMCell", "nn.rnn_cell.LSTMCell"),
        ("python.ops.variable_scope", "variable", "Variable"),
        ("python.ops.init_ops", "RandomNormal", "random_normal_initializer"),
        ("python.platform.gfile", "GFile", "gfile.GFile"),
        ("python.platform.tf_logging", "info", "logging.info"),
        ("python.training.saver", "Saver", "train.Saver"),
        ("python.training.checkpoint_management", "latest_checkpoint", "train.latest_checkpoint"),
        ("python.util.nest", "flatten", "nest.flatten"),
        ("core.framework.graph_pb2", "GraphDef", "GraphDef"),
        ("core.protobuf.config_pb2", "ConfigProto", "ConfigProto"),
        ("contrib.slim", "conv2d", "contrib.layers.conv2d"),
        ("contrib.rnn", "BasicLSTMCell", "nn.rnn_cell.BasicLSTMCell"),
        ("contrib.framework.nest", "map_structure", "nest.map_structure"),
        ("examples.tutorials.mnist.input_data", "read_data_sets", None),
    ],
)
def test_a_module_is_imported_with_its_names(module: str, name: str, public: str | None) -> None:
    imported = importlib.import_module(f"headrace.graph.{module}")
    value = getattr(imported, name)
    assert public is None or value is _public(public)
    parent, _, last = f"headrace.graph.{module}".rpartition(".")
    assert getattr(importlib.import_module(parent), last) is imported
    if "nest" not in module and "errors" not in module:
        assert name in dir(imported)


def _public(name: str) -> object:
    space, _, last = name.rpartition(".")
    return getattr(find(space) if space else hr, last)


def test_compat_v1_is_imported_as_the_package() -> None:
    assert importlib.import_module("headrace.graph.compat.v1") is hr


def test_an_unknown_module_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"headrace\.graph\.python\.nonsense"):
        importlib.import_module("headrace.graph.python.nonsense")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("headrace.graph.nn.relu")  # a function
    with pytest.raises(AttributeError, match="nonsense"):
        hr.python.nonsense  # noqa: B018
    assert "ops" in dir(hr.python.framework) and "python" in dir(hr) and names("python.client")
