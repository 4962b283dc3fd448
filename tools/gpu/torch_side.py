"""The cases and models in PyTorch on CUDA, without TF32, in a process of its own.

python torch_side.py case|model <name>: prints the seconds of one run, or why there is none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOLS), str(TOOLS / "benchmarks")]


def timed(run: Callable[[], Any], torch: Any) -> float:
    for _ in range(3):
        run()
    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(8):
            run()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / 8)
    return best


def case_run(name: str, torch: Any) -> Callable[[], Any]:
    from gpu.cases import CASES

    case = CASES[name]

    def some(*shape: int) -> Any:
        return torch.randn(shape, device="cuda")

    if case.kind == "matmul":
        m, n, k = case.sizes
        a, b = some(m, k), some(k, n)
        return lambda: a @ b
    if case.kind in ("add", "relu", "sum"):
        x, y = some(*case.sizes), some(*case.sizes)
        return {"add": lambda: x + y, "relu": lambda: x.relu(), "sum": lambda: x.sum()}[case.kind]
    if case.unit == "Gvalues/s":
        x, count = some(*case.sizes[:2]), case.sizes[-1]
        if case.kind == "segments":
            ids = torch.randint(count, (len(x),), device="cuda")
            return lambda: torch.zeros(count, x.shape[1], device="cuda").index_add_(0, ids, x)
        if case.kind == "softmax":
            return lambda: x.softmax(1)
        if case.kind == "running sum":
            return lambda: x.cumsum(1)
        return lambda: x.topk(count)
    batch, side, channels, out = case.sizes
    last = torch.channels_last
    x = some(batch, channels, side, side).to(memory_format=last)
    dy = some(batch, out, side, side).to(memory_format=last)
    f = some(out, channels, 3, 3).to(memory_format=last)
    if case.kind == "convolution":
        return lambda: torch.nn.functional.conv2d(x, f, padding=1)
    grad = torch.nn.grad
    if case.kind == "to input":
        return lambda: grad.conv2d_input(x.shape, f, dy, padding=1)
    return lambda: grad.conv2d_weight(x, f.shape, dy, padding=1)


def model_run(name: str, torch: Any) -> Callable[[], Any]:
    if name == "resnet50":
        import torchvision

        network = torchvision.models.resnet50().cuda().eval().to(memory_format=torch.channels_last)
        x = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)

        def infer() -> Any:
            with torch.no_grad():
                return network(x)

        return infer
    import models
    import models_torch

    model = models.TRAINED[name]()
    x = torch.from_numpy(model.inputs).cuda()
    labels = torch.from_numpy(model.labels).cuda()
    recurrent = name == "lstm"
    network = models_torch.Lstm(model.weights) if recurrent else models_torch.Classifier(
        name, model.weights)  # fmt: skip
    network = network.cuda()
    rule = models_torch.optimizer(model.optimizer, network.parameters())
    if not recurrent:
        x = x.permute(0, 3, 1, 2).contiguous()

    def step() -> Any:
        rule.zero_grad()
        logits = network(x, None)[0] if recurrent else network(x)
        loss = torch.nn.functional.cross_entropy(logits, labels.reshape(-1))
        loss.backward()
        if model.optimizer.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(network.parameters(), model.optimizer.clip_norm)
        rule.step()
        return loss

    return step


def main() -> None:
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed")
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    kind, name = sys.argv[1:]
    run = case_run(name, torch) if kind == "case" else model_run(name, torch)
    print(timed(run, torch))


if __name__ == "__main__":
    main()
