"""Training steps and inference of models on the GPU, in sessions of Headrace.

python models_side.py <name>: prints the seconds of one step, or why there is none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TOOLS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOLS), str(TOOLS / "benchmarks")]

BLOCKS = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # channels, blocks, stride


def resnet50(hr: Any, rng: np.random.RandomState, x: Any) -> Any:
    """The logits of ResNet-50 (He et al. 2015, v1.5 strides), with random weights."""

    def convolution(h: Any, size: int, out: int, stride: int, relu: bool = True) -> Any:
        inner = int(h.shape[-1])
        scale = np.sqrt(2 / (size * size * inner))
        f = hr.Variable((rng.randn(size, size, inner, out) * scale).astype(np.float32))
        h = hr.nn.conv2d(h, f, [1, stride, stride, 1], "SAME")
        ones, zeros = (hr.Variable(np.full(out, v, np.float32)) for v in (1, 0))
        h = hr.nn.fused_batch_norm(h, ones, zeros, zeros, ones, is_training=False)[0]
        return hr.nn.relu(h) if relu else h

    h = convolution(x, 7, 64, 2)
    h = hr.nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for channels, blocks, stride in BLOCKS:
        for i in range(blocks):
            step = stride if i == 0 else 1
            short = convolution(h, 1, 4 * channels, step, relu=False) if i == 0 else h
            inner = convolution(convolution(h, 1, channels, 1), 3, channels, step)
            h = hr.nn.relu(convolution(inner, 1, 4 * channels, 1, relu=False) + short)
    h = hr.reduce_mean(h, [1, 2])
    return hr.matmul(h, hr.Variable((rng.randn(2048, 1000) * 0.01).astype(np.float32)))


def inference(hr: Any) -> Callable[[], Any]:
    """A batch of 32 images that are on the device already; one number comes back."""
    rng = np.random.RandomState(0)
    x = hr.Variable(rng.rand(32, 224, 224, 3).astype(np.float32))
    total = hr.reduce_sum(resnet50(hr, rng, x))
    session = hr.Session()
    session.run(hr.global_variables_initializer())
    return lambda: session.run(total)


def main() -> None:
    import headrace.graph as hr

    name = sys.argv[1]
    with hr.Session() as session:
        if not any(d.device_type == "GPU" for d in session.list_devices()):
            sys.exit("the runtime lists no GPU")
    with hr.Graph().as_default():
        if name == "resnet50":
            run = inference(hr)
        else:
            import models_graph

            run = models_graph.in_session(name, hr, hr.Session).run
        for _ in range(3):
            run()
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(8):
                run()
            best = min(best, (time.perf_counter() - start) / 8)
    print(best)


if __name__ == "__main__":
    main()
