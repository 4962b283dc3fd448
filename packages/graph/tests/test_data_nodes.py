"""Datasets add as many nodes as TensorFlow 1.15.5's, so that ops without a seed get its numbers."""

from __future__ import annotations

import pytest
from data_programs import PROGRAMS, random_numbers_of_the_graph

import headrace.graph as hr

# Numbers of nodes with an initialisable iterator, and with a one-shot iterator.
NODES = {
    "tensors": (11, 7),
    "slices": (11, 7),
    "named_tuples": (14, 10),
    "sparse_slices": (18, 14),
    "rows_of_sparse": (11, 7),
    "ranges": (22, 18),
    "numbered": (16, 12),
    "zipped": (23, 19),
    "filtered": (13, 9),
    "mapped_in_parallel": (16, 12),
    "padded": (19, 15),
    "padded_to_sizes": (17, 13),
    "nested": (12, 8),
    "interleaved": (14, 10),
    "interleaved_in_parallel": (15, 11),
    "windows": (18, 14),
    "in_buckets": (14, 10),
    "in_buckets_to_their_bound": (14, 10),
    "in_windows_of_a_key": (12, 8),
    "reduced_by_key": (12, 8),
    "mapped_batches": (15, 11),
    "with_options": (12, 10),
    "shuffled_with_seeds": (24, 20),
    "reshuffled": (24, 20),
    "shuffled_and_repeated": (23, 19),
    "random_numbers": (12, 8),
    "random_numbers_of_the_graph": (12, 8),
    "with_branches": (12, 8),
    "taken_while": (13, 9),
    "without_repetitions": (10, 6),
    "without_errors": (11, 7),
    "scanned": (14, 10),
    "scanned_with_growing_state": (13, 9),
    "chosen": (22, 18),
    "sampled": (38, 34),
    "sampled_evenly": (30, 26),
    "sampled_with_changing_weights": (36, 32),
    "random_bits": (22, 18),
    "resampled": (62, 58),
    "resampled_by_estimates": (54, 50),
    "with_thread_options": (15, 7),
}
BY_NAME = {program.__name__: program for program in PROGRAMS}


@pytest.mark.filterwarnings("ignore:Seed 4 from outer graph")
@pytest.mark.parametrize("name", NODES)
def test_number_of_nodes(name):
    found = []
    for make in (hr.data.make_initializable_iterator, hr.data.make_one_shot_iterator):
        with hr.Graph().as_default() as graph:
            make(BY_NAME[name](hr)).get_next()
            found.append(graph._last_id)
    assert tuple(found) == NODES[name]


def test_programs_with_other_nodes_than_tensorflow_are_known():
    # 1.15 has one op for these, or its datasets without a method that makes iterators.
    others = {"counters", "sparse_batches", "legacy_functions", "unbatched", "with_variables"}
    assert set(BY_NAME) - set(NODES) == others


@pytest.mark.filterwarnings("ignore:Seed 4 from outer graph")
def test_ops_in_functions_have_the_seeds_of_tensorflow(graph):
    random_numbers_of_the_graph(hr)
    (function,) = graph.as_graph_def().library.function
    (node,) = [n for n in function.node_def if n.op == "RandomUniform"]
    assert (node.attr["seed"].i, node.attr["seed2"].i) == (4, 4)


def test_seeds_of_shuffle(graph):
    hr.set_random_seed(5)
    hr.data.Dataset.range(3).shuffle(2)
    (node,) = [n for n in graph.get_operations() if n.type == "ShuffleDataset"]
    seed, chosen = node.inputs[2:]
    assert hr.get_static_value(seed) == 5
    assert chosen.op.type == "Select" and hr.get_static_value(chosen.op.inputs[2]) == 5


def test_nodes_between_dataset_and_iterator(graph):
    options = hr.data.Options()
    options.experimental_optimization.autotune = False
    options.experimental_deterministic = False
    iterator = hr.data.Dataset.range(3).with_options(options).make_initializable_iterator()
    (optimized,) = [n for n in graph.get_operations() if n.type == "OptimizeDataset"]
    assert iterator.initializer.inputs[0] is optimized.outputs[0]
    names = hr.get_static_value(optimized.inputs[1]).tolist()
    assert names == [
        b"map_and_batch_fusion", b"noop_elimination", b"shuffle_and_repeat_fusion", b"make_sloppy"
    ]  # fmt: skip


def test_a_pipeline_with_a_reference_variable_is_not_rewritten(graph):
    v = hr.get_variable("v", [], hr.int64)
    dataset = hr.data.Dataset.range(3).map(lambda x: x + v)
    with pytest.warns(UserWarning, match="not compatible with tf.Variable"):
        dataset.make_initializable_iterator()
    types = [n.type for n in graph.get_operations()]
    assert "OptimizeDataset" not in types and "ModelDataset" in types
