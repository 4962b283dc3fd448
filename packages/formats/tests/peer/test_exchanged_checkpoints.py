"""Headrace reads TensorFlow's checkpoints, and TensorFlow reads Headrace's."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter
from headrace.formats.slice_file import SliceFileReader, SliceFileWriter

pytestmark = pytest.mark.peer

ARRAYS = {
    "scalar": np.float32(1.5),
    "layer/weights": np.arange(24, dtype=np.float64).reshape(2, 3, 4),
    "empty": np.zeros((0, 3), np.int32),
    "half": np.arange(5, dtype=np.float16),
    "bfloat": np.arange(5).astype(ml_dtypes.bfloat16),
    "complex": np.array([1 + 2j], np.complex64),
    "bools": np.array([True, False]),
    "uint8": np.arange(7, dtype=np.uint8),
    "uint64": np.array([2**63], np.uint64),
    "names": np.array([b"a", b"", b"\x00long" * 100], object),
    "é": np.int64(3),
}


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def test_tensorflow_reads_headrace_checkpoints(tf, tmp_path):
    prefix = str(tmp_path / "ours")
    with BundleWriter(prefix, max_shard_bytes=100) as writer:
        for name, value in ARRAYS.items():
            writer.add(name, value)
        writer.add_slice("part", [6, 4], [0, 0], [2, -1], np.zeros((2, 4), np.float32))
        writer.add_slice("part", [6, 4], [2, 0], [4, 4], np.ones((4, 4), np.float32))
        writer.add_slice("big", [100000], [70000], [3], np.ones(3, np.float32))
    reader = tf.train.load_checkpoint(prefix)
    for name, value in ARRAYS.items():
        same(np.asarray(reader.get_tensor(name)), np.asarray(value))
    assert reader.get_tensor("part").tolist() == [[0] * 4] * 2 + [[1] * 4] * 4
    shapes = reader.get_variable_to_shape_map()
    assert shapes["part"] == [6, 4] and shapes["layer/weights"] == [2, 3, 4]
    (got,) = tf.raw_ops.RestoreV2(
        prefix=prefix,
        tensor_names=["big"],
        shape_and_slices=["100000 70000,3"],
        dtypes=[tf.float32],
    )
    assert got.numpy().tolist() == [1, 1, 1]


def test_tensorflow_reads_a_bundle_that_replaced_another(tf, tmp_path):
    prefix = str(tmp_path / "again")
    for value in range(4):
        with BundleWriter(prefix) as writer:
            writer.add("v", np.float32(value))
        assert tf.train.load_checkpoint(prefix).get_tensor("v") == value
        assert len(os.listdir(tmp_path)) in (2, 3)


def test_headrace_reads_tensorflow_checkpoints(tf, tmp_path):
    prefix = str(tmp_path / "theirs")
    names = list(ARRAYS) + ["part", "part", "wide", "wide"]
    slices = [""] * len(ARRAYS)
    slices += ["6 4 0,2:0,4", "6 4 2,4:0,4", "9000 1 0,8192:-", "9000 1 8192,808:-"]
    values = (v.tolist() if k == "names" else np.asarray(v) for k, v in ARRAYS.items())
    tensors = [tf.constant(v) for v in values]
    tensors += [tf.zeros((2, 4)), tf.ones((4, 4)), tf.zeros((8192, 1)), tf.ones((808, 1))]
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors)
    with BundleReader(prefix) as reader:
        assert sorted(reader.names()) == sorted([*ARRAYS, "part", "wide"])
        for name, value in ARRAYS.items():
            same(reader.read(name), np.asarray(value))
        assert reader.read("part").tolist() == [[0] * 4] * 2 + [[1] * 4] * 4
        assert reader.read("wide").sum() == 808
        assert reader.read_slice("wide", [8190, 0], [5, 1])[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert Path(prefix + ".index").read_bytes()[-8:].hex() == "57fb808b247547db"


def test_files_of_equal_tensors_are_identical_to_tensorflow(tf, tmp_path):
    names = [f"layer_{i}/weights" for i in range(50)]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    tf.raw_ops.SaveV2(
        prefix=theirs,
        tensor_names=names,
        shape_and_slices=[""] * 50,
        tensors=[tf.ones(16) * i for i in range(50)],
    )
    with BundleWriter(ours) as writer:
        for i, name in enumerate(names):
            writer.add(name, np.ones(16, np.float32) * i)
    for end in (".index", ".data-00000-of-00001"):
        ours_bytes, theirs_bytes = (Path(p + end).read_bytes() for p in (ours, theirs))
        assert ours_bytes == theirs_bytes


def test_tensorflow_reads_merged_bundles_and_merges_headrace_bundles(tf, tmp_path):
    parts = []
    for i in range(3):
        parts.append(str(tmp_path / "temp" / f"part-{i:05d}-of-00003"))
        with BundleWriter(parts[-1]) as writer:
            writer.add(f"v{i}", np.full(3, i, np.float32))
            writer.add_slice("p", [3, 2], [i, 0], [1, 2], np.full((1, 2), i, np.float32))
    merged = str(tmp_path / "merged")
    merge_bundles(parts, merged, delete_old=False)
    for prefix in (merged, str(tmp_path / "by_tf")):
        if prefix != merged:
            tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=parts, destination_prefix=prefix, delete_old_dirs=True
            )
        reader = tf.train.load_checkpoint(prefix)
        assert reader.get_tensor("p").tolist() == [[0, 0], [1, 1], [2, 2]]
        assert reader.get_tensor("v2").tolist() == [2, 2, 2]
        with BundleReader(prefix) as ours:
            assert ours.read("p").tolist() == [[0, 0], [1, 1], [2, 2]]


def test_tensorflow_rejects_the_same_corrupted_bundle(tf, tmp_path):
    prefix = str(tmp_path / "bad")
    with BundleWriter(prefix) as writer:
        writer.add("v", np.arange(10, dtype=np.float32))
    shard = prefix + ".data-00000-of-00001"
    data = bytearray(Path(shard).read_bytes())
    data[5] ^= 1
    Path(shard).write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        tf.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
        )


V1_ARRAYS = {k: v for k, v in ARRAYS.items() if k not in ("uint64", "bfloat")}


def test_format_v1_is_exchanged(tf, tmp_path):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    writer = SliceFileWriter(ours)
    for name, value in V1_ARRAYS.items():
        writer.add(name, value)
    writer.add("part", np.zeros((2, 4), np.float32), [6, 4], [0, 0], [2, 4])
    writer.add("part", np.ones((4, 4), np.float32), [6, 4], [2, 0], [4, 4])
    writer.finish()
    for name, value in V1_ARRAYS.items():
        (got,) = tf.raw_ops.RestoreV2(
            prefix=ours,
            tensor_names=[name],
            shape_and_slices=[""],
            dtypes=[tf.constant(value).dtype],
        )
        same(got.numpy(), np.asarray(value))
    assert tf.train.load_checkpoint(ours).get_variable_to_shape_map()["part"] == [6, 4]

    names, values = [*V1_ARRAYS, "part"], [tf.constant(v) for v in V1_ARRAYS.values()]
    tf.raw_ops.SaveSlices(
        filename=theirs,
        tensor_names=names,
        shapes_and_slices=[""] * len(V1_ARRAYS) + ["6 4 2,4:-"],
        data=[*values, tf.ones([4, 4])],
    )
    mine = SliceFileReader(theirs)
    for name, value in V1_ARRAYS.items():
        same(mine.read(name), np.asarray(value))
    assert mine.read_slice("part", [3, 0], [2, 4]).tolist() == [[1] * 4] * 2
