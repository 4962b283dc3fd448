"""DeviceSpec: parsing, merging and formatting."""

from __future__ import annotations

import pytest

import headrace.graph as hr


@pytest.mark.parametrize(
    "name", ["/job:worker/replica:0/task:1/device:GPU:0", "/job:ps", "/device:CPU:*", ""]
)
def test_device_names_round_trip_through_their_parts(name):
    assert hr.DeviceSpec.from_string(name).to_string() == name


def test_merge_fills_missing_parts_and_the_argument_takes_precedence():
    spec = hr.DeviceSpec(job="worker", device_type="gpu")
    spec.merge_from(hr.DeviceSpec.from_string("/job:ps/task:3"))
    assert spec.to_string() == "/job:ps/task:3/device:GPU:*"
    assert spec.replace(job="worker").job == "worker" and spec.job == "ps"
    assert hr.DeviceSpec(task=1).make_merged_spec(hr.DeviceSpec(task=2)).task == 2


def test_unknown_part_of_a_device_name_raises():
    with pytest.raises(ValueError):
        hr.DeviceSpec.from_string("/job:worker/table:1")
