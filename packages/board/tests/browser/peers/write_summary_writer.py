"""Writes every kind that a SummaryWriter can: python write_summary_writer.py LIBRARY FOLDER.

LIBRARY is tensorboardX or torch. Runs where that library is, so it imports nothing of ours. The
two agree in most calls; each has some that the other lacks.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np

WALL = 1_700_000_000.0
STEPS = range(0, 50, 5)


def main(library: str, folder: str) -> None:
    module = {"torch": "torch.utils.tensorboard"}.get(library, library)
    writers = importlib.import_module(module)
    with writers.SummaryWriter(os.path.join(folder, "main")) as writer:
        write_scalars(writer)
        write_distributions(writer)
        write_media(writer)
        write_texts(writer)
        write_meshes(writer)
        write_embeddings(writer)
        write_layouts(writer)
        write_graph(writer, library, folder)
        if library == "tensorboardX":
            write_what_tensorboardx_alone_has(writer)
            writer.export_scalars_to_json(os.path.join(folder, "scalars.json"))
        else:
            write_what_torch_alone_has(writer)
            write_profile(os.path.join(folder, "profiled"))
    write_restart(writers, os.path.join(folder, "restarted"))
    write_sweep(writers, os.path.join(folder, "sweep"), library)


def write_scalars(writer: Any) -> None:
    """One curve, two curves of `add_scalars` (a run each), and values that are not finite."""
    for step in STEPS:
        writer.add_scalar("train/loss", 2 / (step + 1), step, WALL + step)
        writer.add_scalar("train/accuracy", step / 50, step, WALL + step)
        pair = {"train": 1 / (step + 1), "valid": 1.5 / (step + 1)}
        writer.add_scalars("losses", pair, step, WALL + step)
    for step, value in enumerate((1.0, float("nan"), float("inf"), 4.0)):
        writer.add_scalar("not/finite", value, step, WALL + step)
    writer.add_scalar("without step", 7.0, walltime=WALL)


def write_distributions(writer: Any) -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200)
    for step in STEPS:
        weights = random.normal(step / 50, 1, 1000)
        writer.add_histogram("weights/normal", weights, step, walltime=WALL + step)
        writer.add_histogram("weights/auto", weights, step, bins="auto", walltime=WALL + step)
        writer.add_histogram("weights/zero", np.zeros(10), step, walltime=WALL + step)
        writer.add_histogram_raw(
            "weights/raw",
            min=0.0,
            max=3.0,
            num=6,
            sum=9.0,
            sum_squares=18.0,
            bucket_limits=[1.0, 2.0, 3.0],
            bucket_counts=[1, 2, 3],
            global_step=step,
            walltime=WALL + step,
        )
        guesses = np.clip(0.5 * random.random(200) + labels * step / 100, 0, 1)
        writer.add_pr_curve("pr/curve", labels, guesses, step, walltime=WALL + step)
        counts = [[40, 30, 10], [60, 20, 0], [0, 40, 60], [0, 10, 30]]
        rates = [[0.4, 0.6, 1.0], [1.0, 0.75, 0.25]]
        arrays = [np.array(one, np.float64) for one in counts + rates]
        if type(writer).__module__.startswith("torch"):
            import torch

            arrays = [torch.tensor(one) for one in arrays]
        writer.add_pr_curve_raw("pr/raw", *arrays, step, 3, walltime=WALL + step)


def picture(step: int) -> np.ndarray:
    """[3, 24, 32] uint8: a gradient that grows brighter with the step, with a white corner."""
    y, x = np.mgrid[:24, :32]
    image = np.stack([x * 8, y * 10, np.full_like(x, step * 5)]).astype(np.uint8)
    image[:, :4, :4] = 255
    return image


def write_media(writer: Any) -> None:
    """Images of each layout, boxes, figures, a video and a sound."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    for step in STEPS:
        image, wall = picture(step), WALL + step
        writer.add_image("image/colour", image, step, wall)
        writer.add_image("image/grey", image[0], step, wall, dataformats="HW")
        writer.add_image("image/float", image / np.float32(255), step, wall)
        writer.add_images("image/batch", np.stack([image, 255 - image]), step, wall)
        boxes = np.array([[4, 4, 16, 16], [10, 8, 28, 20]])
        writer.add_image_with_boxes("image/boxes", image, boxes, step, wall, labels=["cat", "dog"])
        figure, axes = pyplot.subplots(figsize=(3, 2))
        axes.plot(np.arange(10) * step)
        writer.add_figure("image/figure", figure, step, walltime=wall)
    frames = np.stack([picture(step) for step in STEPS])[None]
    writer.add_video("image/video", frames, 0, 4, WALL)
    tone = 0.5 * np.sin(np.arange(4410) * 2 * np.pi * 440 / 44100)
    for step in (0, 10):
        writer.add_audio("sound/tone", tone.astype(np.float32), step, 44100, WALL + step)


def write_texts(writer: Any) -> None:
    table = "|a|b|\n|-|-|\n|1|2|"
    for step in (0, 10, 20):
        writer.add_text("text/note", f"**step** {step}\n\n{table}", step, WALL + step)
    writer.add_text("text/hostile", "<script>alert(1)</script> <img src=http://x.test/a.png>", 0)


def write_meshes(writer: Any) -> None:
    import torch

    vertices = torch.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]])
    colours = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]])
    faces = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]])
    for step in (0, 10):
        grown = vertices * (1 + step / 10)
        writer.add_mesh("mesh/solid", grown, colours, faces, global_step=step, walltime=WALL + step)
    writer.add_mesh("mesh/points", vertices, walltime=WALL, global_step=0)


def write_embeddings(writer: Any) -> None:
    """One embedding with labels of two columns and images, one with labels, and one bare."""
    import torch

    points = torch.arange(80.0).reshape(20, 4).sin()
    labels = [[f"word {i}", i % 3] for i in range(20)]
    images = torch.stack([torch.tensor(picture(5)[:, :16, :16] / 255.0)] * 20)
    writer.add_embedding(points, labels, images, 0, "sprites", ["word", "class"])
    writer.add_embedding(points * 2, [f"w{i}" for i in range(20)], global_step=1, tag="labels")
    writer.add_embedding(points * 3, global_step=2, tag="bare")


def write_layouts(writer: Any) -> None:
    writer.add_custom_scalars(
        {
            "Training": {
                "both": ["Multiline", ["train/loss", "train/accuracy"]],
                "by pattern": ["Multiline", ["train/.*"]],
            },
            "Bounds": {"margin": ["Margin", ["train/loss", "train/accuracy", "train/loss"]]},
        }
    )


def write_graph(writer: Any, library: str, folder: str) -> None:
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3)
            )
            self.head = torch.nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.body(x).mean((2, 3)))

    net, example = Net().eval(), torch.zeros(1, 3, 12, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.add_graph(net, example)
    if library == "tensorboardX":
        write_onnx(folder)


def write_onnx(folder: str) -> None:
    """The graph of an ONNX file in a run of its own."""
    from onnx import TensorProto, helper, save
    from tensorboardX import SummaryWriter

    def value(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])

    nodes = [
        helper.make_node("Relu", ["x"], ["hidden"], "relu"),
        helper.make_node("Softmax", ["hidden"], ["y"], "softmax"),
    ]
    graph = helper.make_graph(nodes, "two layers", [value("x")], [value("y")])
    path = os.path.join(folder, "model.onnx")
    save(helper.make_model(graph), path)
    with SummaryWriter(os.path.join(folder, "onnx")) as writer:
        writer.add_onnx_graph(path)


def write_what_tensorboardx_alone_has(writer: Any) -> None:
    writer.add_scalar(
        "named/scalar", 3.0, 0, WALL, display_name="Shown name", summary_description="*why*"
    )
    writer.add_custom_scalars_multilinechart(["train/loss", "not/finite"], "Later", "multi")
    bounds = ["train/loss", "train/accuracy", "not/finite"]
    writer.add_custom_scalars_marginchart(bounds, "Later", "margin")


def write_what_torch_alone_has(writer: Any) -> None:
    import torch

    for step in STEPS:
        writer.add_scalar("new/loss", 2 / (step + 1), step, WALL + step, new_style=True)
        double = torch.tensor(1 / 3, dtype=torch.float64)
        writer.add_scalar(
            "new/double", double, step, WALL + step, new_style=True, double_precision=True
        )
        tensor = torch.arange(6.0).reshape(2, 3) + step
        writer.add_tensor("tensor/matrix", tensor, step, WALL + step)


def write_profile(folder: str) -> None:
    """A trace of PyTorch's profiler, as its handler for TensorBoard writes it."""
    import torch
    from torch.profiler import ProfilerActivity, profile, tensorboard_trace_handler

    layer = torch.nn.Linear(64, 64)
    handler = tensorboard_trace_handler(folder)
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
        for _ in range(3):
            layer(torch.zeros(32, 64)).sum().backward()


def write_restart(writers: ModuleType, folder: str) -> None:
    """Twenty steps, and a second writer that begins again at step 12."""
    with writers.SummaryWriter(folder) as writer:
        for step in range(20):
            writer.add_scalar("train/loss", 100.0 + step, step, WALL + step)
    with writers.SummaryWriter(folder, purge_step=12, filename_suffix=".again") as writer:
        for step in range(12, 30):
            writer.add_scalar("train/loss", 200.0 + step, step, WALL + 50 + step)


def write_sweep(writers: ModuleType, folder: str, library: str) -> None:
    for number in range(4):
        hparams = {
            "rate": 10.0**-number,
            "layers": number,
            "adam": number > 1,
            "name": f"n{number}",
        }
        metrics = {"hparam/accuracy": number / 4, "hparam/loss": 1 / (number + 1)}
        more = {"global_step": 3} if library == "tensorboardX" else {}
        with writers.SummaryWriter(folder) as writer:
            session = (
                {"name": f"s{number}"} if library == "tensorboardX" else {"run_name": f"s{number}"}
            )
            writer.add_hparams(hparams, metrics, **session, **more)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
