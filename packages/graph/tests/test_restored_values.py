from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.slice_file import SliceFileReader, SliceFileWriter
from headrace.graph.checkpoints.restored_values import ReaderByFullName, values_to_restore
from headrace.graph.checkpoints.tracked_objects import ObjectGraph

RESTORE = "save/restore_all"


def test_values_of_format_v1_stand_for_the_outputs_of_the_restore_node(graph, tmp_path):
    hr.Variable([1.0, 2.0], name="v")
    hr.get_variable("w", [4], partitioner=hr.fixed_size_partitioner(2))
    hr.train.Saver()
    writer = SliceFileWriter(tmp_path / "model")
    writer.add("v", np.array([5, 6], np.float32))
    writer.add("w", np.arange(4, dtype=np.float32))
    writer.finish()
    found = values_to_restore(graph, RESTORE, SliceFileReader(tmp_path / "model"))
    assert {t.name: value.tolist() for t, value in found.items()} == {
        "save/RestoreV2:0": [5.0, 6.0], "save/RestoreV2:1": [0.0, 1.0],
        "save/RestoreV2:2": [2.0, 3.0],
    }  # fmt: skip
    writer = SliceFileWriter(tmp_path / "other")
    writer.add("v", np.array([5, 6]))
    writer.finish()
    with pytest.raises(InvalidArgumentError, match="expected dtype float32 does not equal orig"):
        values_to_restore(graph, RESTORE, SliceFileReader(tmp_path / "other"))


def test_values_of_objects_are_found_by_the_names_of_variables(graph, tmp_path):
    v = hr.Variable([1.0], name="v")
    hr.train.Saver()
    objects = ObjectGraph(hr.train.Checkpoint(layer=v))
    prefix = str(tmp_path / "model")
    with BundleWriter(prefix) as writer:
        writer.add("layer/.ATTRIBUTES/VARIABLE_VALUE", np.array([7], np.float32))
        message = np.array(objects.message.SerializeToString(), object)
        writer.add("_CHECKPOINTABLE_OBJECT_GRAPH", message)
    (value,) = values_to_restore(graph, RESTORE, ReaderByFullName(prefix)).values()
    assert value.tolist() == [7.0]
    with hr.Graph().as_default() as other:
        hr.Variable([1.0], name="w")
        hr.train.Saver()
        with pytest.raises(NotFoundError, match="Key w not found in checkpoint"):
            values_to_restore(other, RESTORE, ReaderByFullName(prefix))
