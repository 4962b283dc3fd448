"""Convolution, pooling and batch normalisation of the cpu table beside TensorFlow's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import run_kernel

pytestmark = pytest.mark.peer


class Calls:
    """Runs kernels here and keeps calls and results for the other side."""

    def __init__(self):
        self.arrays = {}
        self.rng = np.random.default_rng(0)

    def random(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def call(self, op, inputs, outputs=None, **attrs):
        got = run_kernel(op, *inputs.values(), threads=2, **attrs)
        got = list(got) if isinstance(got, tuple) else [got]
        key, outputs = f"{len(self.arrays):05d} {op} {attrs}", outputs or len(got)
        call = {"op": op, "inputs": list(inputs), "attrs": attrs, "outputs": outputs}
        self.arrays[f"{key}|call"] = np.array(json.dumps(call))
        self.arrays.update({f"{key}|in|{name}": value for name, value in inputs.items()})
        self.arrays.update({f"{key}|out|{i}": value for i, value in enumerate(got[:outputs])})
        return got

    def differences(self, folder):
        np.savez(folder / "calls.npz", **self.arrays)
        script = Path(__file__).with_name("peer_windows.py")
        command = [sys.executable, str(script), str(folder / "calls.npz")]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def calls():
    return Calls()


PADDINGS = [("SAME", []), ("VALID", []), ("EXPLICIT", [0, 0, 1, 2, 0, 1, 0, 0])]


def test_convolutions_agree(calls, tmp_path):
    for padding, explicit in PADDINGS:
        for stride, dilation in ((1, 1), (2, 1), (1, 2), (3, 1)):
            x, f = calls.random(2, 11, 9, 4), calls.random(3, 2, 4, 6)
            attrs = {"strides": [1, stride, stride, 1], "dilations": [1, dilation, dilation, 1],
                     "padding": padding, "explicit_paddings": explicit}  # fmt: skip
            (y,) = calls.call("Conv2D", {"input": x, "filter": f}, **attrs)
            dy = calls.random(*y.shape)
            if dilation == 1:
                inputs = {
                    "input_sizes": np.array(x.shape, np.int32),
                    "filter": f,
                    "out_backprop": dy,
                }
                calls.call("Conv2DBackpropInput", inputs, **attrs)
                inputs = {
                    "input": x,
                    "filter_sizes": np.array(f.shape, np.int32),
                    "out_backprop": dy,
                }
                calls.call("Conv2DBackpropFilter", inputs, **attrs)
    for padding in ("SAME", "VALID"):
        x, f = calls.random(2, 11, 9, 4), calls.random(3, 2, 4, 2)
        attrs = {"strides": [1, 2, 2, 1], "padding": padding}
        (y,) = calls.call("DepthwiseConv2dNative", {"input": x, "filter": f}, **attrs)
        dy, sizes = calls.random(*y.shape), np.array(x.shape, np.int32)
        inputs = {"input_sizes": sizes, "filter": f, "out_backprop": dy}
        calls.call("DepthwiseConv2dNativeBackpropInput", inputs, **attrs)
        inputs = {"input": x, "filter_sizes": np.array(f.shape, np.int32), "out_backprop": dy}
        calls.call("DepthwiseConv2dNativeBackpropFilter", inputs, **attrs)
        x, f = calls.random(2, 5, 6, 7, 3), calls.random(2, 3, 2, 3, 4)
        attrs = {"strides": [1, 1, 2, 1, 1], "padding": padding}
        (y,) = calls.call("Conv3D", {"input": x, "filter": f}, **attrs)
        inputs = {"input_sizes": np.array(x.shape, np.int32), "filter": f}
        calls.call(
            "Conv3DBackpropInputV2", {**inputs, "out_backprop": calls.random(*y.shape)}, **attrs
        )
    assert calls.differences(tmp_path) == ""


def test_poolings_agree(calls, tmp_path):
    for padding in ("SAME", "VALID"):
        for stride in (1, 2, 3):
            attrs = {"ksize": [1, 3, 2, 1], "strides": [1, stride, stride, 1], "padding": padding}
            x = calls.random(2, 9, 8, 5)
            (y,) = calls.call("MaxPool", {"input": x}, **attrs)
            calls.call("AvgPool", {"value": x}, **attrs)
            grads = {"orig_input": x, "orig_output": y, "grad": calls.random(*y.shape)}
            calls.call("MaxPoolGrad", grads, **attrs)
            calls.call("MaxPoolGradGrad", {**grads, "grad": calls.random(*x.shape)}, **attrs)
            calls.call("MaxPoolWithArgmax", {"input": x}, **attrs)
            sizes = np.array(x.shape, np.int32)
            calls.call(
                "AvgPoolGrad", {"orig_input_shape": sizes, "grad": calls.random(*y.shape)}, **attrs
            )
            attrs = {
                "ksize": [1, 2, 3, 2, 1],
                "strides": [1, stride, stride, 1, 1],
                "padding": padding,
            }
            x = calls.random(2, 5, 6, 7, 3)
            calls.call("MaxPool3D", {"input": x}, **attrs)
            calls.call("AvgPool3D", {"input": x}, **attrs)
    assert calls.differences(tmp_path) == ""


def test_batch_normalisations_agree(calls, tmp_path):
    for training in (False, True):
        x, dy = calls.random(4, 5, 6, 7), calls.random(4, 5, 6, 7)
        scale, offset, mean = (calls.random(7) for _ in range(3))
        variance = np.abs(calls.random(7)) + 0.5
        inputs = {"x": x, "scale": scale, "offset": offset, "mean": mean, "variance": variance}
        attrs = {"epsilon": 1e-3, "is_training": training}
        for factor in (1.0, 0.3) if training else (1.0,):
            attributes = {"exponential_avg_factor": factor, **attrs}
            # At inference TensorFlow leaves the outputs after the third undefined.
            calls.call("FusedBatchNormV3", inputs, outputs=5 if training else 3, **attributes)
        inputs = {"y_backprop": dy, "x": x, "scale": scale}
        kept = {"reserve_space_1": mean, "reserve_space_2": variance}
        inputs.update({**kept, "reserve_space_3": np.zeros(7, np.float32)})
        calls.call("FusedBatchNormGradV3", inputs, outputs=3, **attrs)
    x = calls.random(2, 3, 4, 9)
    attrs = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    (y,) = calls.call("LRN", {"input": x}, **attrs)
    grads = {"input_grads": calls.random(*x.shape), "input_image": x, "output_image": y}
    calls.call("LRNGrad", grads, **attrs)
    assert calls.differences(tmp_path) == ""
