"""merge_bundles: one bundle from the bundles of a sharded save."""

import os

import numpy as np
import pytest
from bundle_cases import write_bundle

from headrace.formats import errors
from headrace.formats.bundle_files import bundle_exists, bundle_files
from headrace.formats.bundle_merge import merge_bundles
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter


def test_merge_combines_tensors_and_slices_of_all_bundles(tmp_path):
    parts = []
    for i in range(3):
        parts.append(str(tmp_path / "temp" / f"part-{i:05d}-of-00003"))
        with BundleWriter(parts[-1]) as writer:
            writer.add(f"v{i}", np.full(3, i))
            writer.add_slice("p", [3, 2], [i, 0], [1, 2], np.full((1, 2), i))
    merge_bundles(parts, tmp_path / "kept", delete_old=False)
    merge_bundles(parts, tmp_path / "moved")
    assert not os.path.exists(tmp_path / "temp")
    for name in ("kept", "moved"):
        with BundleReader(tmp_path / name) as reader:
            assert reader.num_shards == 3
            assert reader.names() == ["p", "v0", "v1", "v2"]
            assert reader.read("p").tolist() == [[0, 0], [1, 1], [2, 2]]
            assert reader.read("v2").tolist() == [2, 2, 2]
        assert len(bundle_files(tmp_path / name)) == 4


def test_merge_rejects_a_tensor_in_two_bundles(tmp_path):
    a, b = write_bundle(tmp_path / "a", {"v": 1}), write_bundle(tmp_path / "b", {"v": 2})
    with pytest.raises(errors.AlreadyExistsError, match="'v' is also in another"):
        merge_bundles([a, b], tmp_path / "m")
    assert bundle_exists(a) and bundle_exists(b)
    assert sorted(os.listdir(tmp_path)) == [
        "a.data-00000-of-00001", "a.index", "b.data-00000-of-00001", "b.index",
    ]  # fmt: skip
