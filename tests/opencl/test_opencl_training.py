"""Trainings on an OpenCL device: the CPU's losses, and checkpoints that move between devices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from opencl_children import Run

pytestmark = pytest.mark.opencl
STEPS = 200


@pytest.mark.parametrize("network", ["perceptron", "convnet", "static_lstm", "dynamic_lstm"])
def test_losses_of_200_steps_are_those_of_the_cpu(run: Run, network: str) -> None:
    printed = run(
        f"""
        import json, opencl_networks as networks
        found = [networks.losses({network!r}, d, {STEPS}) for d in ("/cpu:0", "/gpu:0")]
        print(json.dumps(found))
        """
    )
    on_cpu, on_device = json.loads(printed)
    assert len(on_device) == STEPS
    np.testing.assert_allclose(on_device, on_cpu, atol=1e-3, rtol=1e-3)
    assert np.mean(on_cpu[-5:]) < 0.7 * on_cpu[0], "the network learns nothing"


@pytest.mark.parametrize(("first", "second"), [("/cpu:0", "/gpu:0"), ("/gpu:0", "/cpu:0")])
def test_a_training_goes_on_from_the_checkpoint_of_another_device(
    run: Run, first: str, second: str, tmp_path: Path
) -> None:
    run(
        f"""
        import opencl_networks as networks
        path = {str(tmp_path / "model.ckpt")!r}
        values, losses = networks.save("convnet", {first!r}, path)
        restored, continued = networks.restore("convnet", {second!r}, path)
        for before, after in zip(values, restored, strict=True):
            np.testing.assert_array_equal(before, after)
        np.testing.assert_allclose(continued, losses, rtol=1e-3)
        """
    )
