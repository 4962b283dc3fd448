"""A device name is taken apart, merged and put together again."""

from __future__ import annotations

import pytest

import headrace.graph as hr


@pytest.mark.parametrize(
    "name", ["/job:worker/replica:0/task:1/device:GPU:0", "/job:ps", "/device:CPU:*", ""]
)
def test_a_name_comes_back_from_its_parts(name):
    assert hr.DeviceSpec.from_string(name).to_string() == name


def test_merging_fills_what_is_open_and_lets_the_other_win():
    spec = hr.DeviceSpec(job="worker", device_type="gpu")
    spec.merge_from(hr.DeviceSpec.from_string("/job:ps/task:3"))
    assert spec.to_string() == "/job:ps/task:3/device:GPU:*"
    assert spec.replace(job="worker").job == "worker" and spec.job == "ps"
    assert hr.DeviceSpec(task=1).make_merged_spec(hr.DeviceSpec(task=2)).task == 2


def test_a_part_that_is_none_is_refused():
    with pytest.raises(ValueError):
        hr.DeviceSpec.from_string("/job:worker/table:1")
