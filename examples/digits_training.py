"""Trains one fold, with checkpoints, an event log, and Ctrl-C between steps.

Step k depends on the variables, the seed and k alone. A training that is stopped and continues from
its checkpoint therefore ends in the same bits as one that was never stopped.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from digits_data import shifted
from digits_model import HIDDEN, LEARNING_RATE, Model, build_model
from resumable import Interrupt, Stopped, check_device, claim, on_device
from tqdm import tqdm

import headrace.graph as hr

BATCH = 64
SAVE_EVERY = 200  # steps
LOG_EVERY = 20
TRACED_STEP = 10


@dataclass(frozen=True)
class Settings:
    """The options of a training; a folder has the training of one set of them."""

    data: str  # hash of the digits, and the fold that is held out
    epochs: int
    seed: int


@dataclass(frozen=True)
class Examples:
    """images [n, side, side, 1] float, labels [n] int64; the test images are not trained on."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def train_fold(
    examples: Examples, settings: Settings, folder: Path, title: str, device: str | None = None
) -> float:
    """Trains in `folder`, and continues an earlier training there, perhaps of another device.

    Args:
      device: "cpu" or "gpu"; None: a GPU if there is one.
    Returns: the accuracy on the test images; the model is in folder/export.
    Raises: ValueError if the folder contains a training with other settings, or if there is no such
      device; Stopped after Ctrl-C.
    """
    claim(folder, asdict(settings), "--out")
    with hr.Graph().as_default() as graph:
        hr.set_random_seed(settings.seed)
        with on_device(device):
            model = build_model(examples.images.shape[1])
        saver = hr.train.Saver(max_to_keep=3)
        with (
            hr.Session(config=compiled_kernels_only()) as session,
            EventLog(folder, graph, model) as log,
            Interrupt() as interrupt,
        ):
            check_device(session, device)
            session.run(hr.global_variables_initializer())
            if latest := hr.train.latest_checkpoint(str(folder)):
                saver.restore(session, latest)
                state = hr.train.get_checkpoint_state(str(folder))
                saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            Training(examples, settings, model, session, saver, log, folder).run(title, interrupt)
            accuracy = accuracy_of(session, model, examples)
            _export(session, model, folder / "export")
            return accuracy


def compiled_kernels_only() -> Any:
    """Returns: a ConfigProto under which a session fails where only a Python kernel exists."""
    config = hr.ConfigProto(allow_soft_placement=True)
    config.experimental.refuse_reference_kernels = True
    return config


@dataclass
class Training:
    """The training loop and its objects."""

    examples: Examples
    settings: Settings
    model: Model
    session: hr.Session
    saver: Any
    log: EventLog
    folder: Path

    def run(self, title: str, interrupt: Interrupt) -> None:
        done = int(self.session.run(self.model.step))
        per_epoch = len(self.examples.images) // BATCH
        steps = self.settings.epochs * per_epoch
        self.log.begin(done)
        with tqdm(total=steps, initial=done, desc=title, unit="step") as bar:
            for step in range(done, steps):
                feed = self._feed(step, per_epoch, steps)
                loss = self.log.run_step(self.session, self.model, feed, step)
                bar.update()
                if step % LOG_EVERY == 0:
                    bar.set_postfix(loss=f"{loss:.4f}")
                last = step + 1 == steps
                if last or interrupt.requested or (step + 1) % SAVE_EVERY == 0:
                    self.saver.save(self.session, str(self.folder / "model.ckpt"), step + 1)
                    accuracy = accuracy_of(self.session, self.model, self.examples)
                    self.log.describe(self.session, accuracy, step + 1)
                if interrupt.requested and not last:
                    raise Stopped(step + 1, steps)

    def _feed(self, step: int, per_epoch: int, steps: int) -> dict[Any, Any]:
        """Returns: the feeds of a step, which do not depend on the steps before it."""
        epoch, place = divmod(step, per_epoch)
        seed = self.settings.seed
        order = np.random.RandomState([seed, 1, epoch]).permutation(len(self.examples.images))
        at = order[place * BATCH :][:BATCH]
        rng = np.random.RandomState([seed, 2, step])
        return {
            self.model.images: shifted(self.examples.images[at], rng),
            self.model.labels: self.examples.labels[at],
            self.model.kept: 2.0 * (rng.random_sample((len(at), HIDDEN)) < 0.5),
            # half a cosine, down to zero
            self.model.rate: LEARNING_RATE / 2 * (1 + np.cos(np.pi * step / steps)),
        }


def accuracy_of(session: hr.Session, model: Model, examples: Examples) -> float:
    """Returns: the fraction of the test images that are classified correctly."""
    images, labels = examples.test_images, examples.test_labels
    pieces = [images[i : i + 512] for i in range(0, len(images), 512)]
    predicted = [session.run(model.predictions, {model.images: piece}) for piece in pieces]
    return float(np.mean(np.concatenate(predicted) == labels))


def _export(session: hr.Session, model: Model, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    outputs = {"probabilities": model.probabilities, "predictions": model.predictions}
    hr.saved_model.simple_save(session, str(folder), {"images": model.images}, outputs)


def _side_by_side(filters: hr.Tensor, rows: int = 4) -> hr.Tensor:
    """Returns: filters [h, w, 1, n] as one image [1, height, width, 1], with gaps between them."""
    h, w, _, n = filters.shape.as_list()
    with hr.name_scope("filters"):
        gapped = hr.pad(filters, [[0, 1], [0, 1], [0, 0], [0, 0]])
        grid = hr.reshape(gapped, [h + 1, w + 1, rows, n // rows])
        picture = hr.transpose(grid, [2, 0, 3, 1])
        return hr.reshape(picture, [1, rows * (h + 1), n // rows * (w + 1), 1])


class EventLog:
    """What the board shows: the graph, scalars, pictures, histograms and one traced step."""

    def __init__(self, folder: Path, graph: hr.Graph, model: Model) -> None:
        hr.summary.scalar("batch/loss", model.loss, collections=["steps"])
        hr.summary.scalar("batch/rate", model.rate, collections=["steps"])
        for variable in hr.trainable_variables():
            hr.summary.histogram(f"variables/{variable.op.name}", variable, collections=["weights"])
        filters = _side_by_side(graph.get_tensor_by_name("conv1/weights:0"))
        hr.summary.image("filters/conv1", filters, 1, collections=["weights"])
        self._steps = hr.summary.merge_all("steps")
        self._weights = hr.summary.merge_all("weights")
        self._pictures = hr.summary.image("digits", model.images, max_outputs=6, collections=[])
        self._writer = hr.summary.FileWriter(str(folder), graph)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()

    def begin(self, step: int) -> None:
        """Marks the logged events of later steps as superseded, which an ended training left."""
        started = hr.summary.SessionLog(status=hr.summary.SessionLog.START)
        self._writer.add_session_log(started, step)

    def run_step(self, session: hr.Session, model: Model, feed: dict[Any, Any], step: int) -> float:
        """Runs one training step, and logs every LOG_EVERY-th. Returns: the loss."""
        if step == TRACED_STEP:
            options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
            trace = hr.RunMetadata()
            _, loss = session.run([model.train, model.loss], feed, options, trace)
            self._writer.add_run_metadata(trace, f"step {step}", step)
        elif step % LOG_EVERY == 0:
            _, loss, text = session.run([model.train, model.loss, self._steps], feed)
            self._writer.add_summary(text, step)
        else:
            _, loss = session.run([model.train, model.loss], feed)
        if step == 0:
            self._writer.add_summary(session.run(self._pictures, feed), step)
        return float(loss)

    def describe(self, session: hr.Session, accuracy: float, step: int) -> None:
        """Logs the weights and the accuracy on the test images."""
        self._writer.add_summary(session.run(self._weights), step)
        value = hr.summary.Summary.Value(tag="held_out_accuracy", simple_value=accuracy)
        self._writer.add_summary(hr.summary.Summary(value=[value]), step)
        self._writer.flush()
