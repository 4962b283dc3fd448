"""Datasets against TensorFlow's: its session gets the same elements from our graphs."""

from __future__ import annotations

import os

import numpy as np
import pytest
from data_programs import (
    PROGRAMS,
    random_numbers_of_the_graph,
    sparse_slices,
    with_variables,
)

import headrace.graph as hr

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


def parts(element):
    """Returns the tensors of an element, those of sparse tensors included."""
    if isinstance(element, dict):
        return [t for key in sorted(element) for t in parts(element[key])]
    if isinstance(element, (tuple, list)):
        return [t for value in element for t in parts(value)]
    if hasattr(element, "dense_shape"):
        return [element.indices, element.values, element.dense_shape]
    return [element]


def built(m, program, one_shot):
    """Returns the names of the operations that initialise an iterator, and of its element."""
    dataset = program(m)
    make = m.data.make_one_shot_iterator if one_shot else m.data.make_initializable_iterator
    iterator = make(dataset)
    begin = m.global_variables_initializer().name
    names = [t.name for t in parts(iterator.get_next())]
    return begin, None if one_shot else iterator.initializer.name, names


def elements(tf, graph, begin, initializer, names):
    """Returns all elements, run by TensorFlow."""
    found = []
    with tf.Session(graph=graph) as session:
        session.run(begin)
        if initializer:
            session.run(initializer)
        for _ in range(100):
            try:
                found.append(session.run(names))
            except tf.errors.OutOfRangeError:
                return found
    raise AssertionError("the dataset has no end")


@pytest.mark.parametrize("one_shot", [False, True], ids=["initializable", "one_shot"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_tensorflow_runs_our_pipeline_with_the_elements_of_its_own(program, one_shot, tf):
    if one_shot and program is with_variables:
        pytest.skip("a one-shot iterator cannot read variables")
    if program is random_numbers_of_the_graph:
        pytest.skip("TensorFlow 2 counts other nodes; test_data_nodes.py has the seeds of 1.15")
    with tf.Graph().as_default() as graph:
        expected = elements(tf, graph, *built(tf, program, one_shot))
    with hr.Graph().as_default() as ours:
        names = built(hr, program, one_shot)
    definition = tf.GraphDef.FromString(ours.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        found = elements(tf, graph, *names)
    assert len(found) == len(expected) > 0
    for ours_, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours_, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("program", PROGRAMS)
def test_elements_have_tensorflows_types_shapes_and_classes(program, tf):
    def described(m):
        with m.Graph().as_default():
            dataset = program(m)
            shapes = leaves(m.data.get_output_shapes(dataset))
            if program is sparse_slices:  # TensorFlow 2 also keeps the sizes of sparse tensors
                shapes = [shape.ndims for shape in shapes]
            types = [t.name for t in leaves(m.data.get_output_types(dataset))]
            return types, str(shapes), leaves(m.data.get_output_classes(dataset))

    ours, theirs = described(hr), described(tf)
    assert ours[:2] == theirs[:2]
    classes = {hr.Tensor: tf.Tensor, hr.SparseTensor: tf.SparseTensor}
    for one, other in zip(ours[2], theirs[2], strict=True):
        # TensorFlow 2 returns the property of the spec's class for a sparse tensor.
        assert classes[one] is other or isinstance(other, property)


def leaves(structure):
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in leaves(structure[key])]
    if isinstance(structure, tuple):
        return [leaf for value in structure for leaf in leaves(value)]
    return [structure]
