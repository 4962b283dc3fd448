"""The training loop that examples share: progress bar, event log, checkpoints, Ctrl-C.

Ctrl-C ends the loop between two steps and saves; the same command goes on at that step. As each
example, this is a program for TensorFlow 1.15 when its import is changed.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from tqdm import tqdm

import headrace.graph as tf

TRACED_STEP = 10
NOT_TIMED = 3  # first steps, which prepare kernels and fill queues
LARGEST_SEED = 2**31 - 1
DEVICES = ("cpu", "gpu")
OWN_FILES = ("settings.json", "checkpoint", "model.ckpt-*", "events.out.tfevents.*")


class UsageError(ValueError):
    """What the user asked for is impossible; the message says what to change."""


class Stopped(Exception):
    """Ctrl-C ended the training before its last step; its state is saved."""

    def __init__(self, step: int, steps: int) -> None:
        super().__init__(f"stopped after step {step} of {steps}; what was learnt is saved")


@dataclass(frozen=True)
class Job:
    """What an example adds to the default graph."""

    loss: Any  # [] float
    train: Any  # the operation of one step, which counts it in the global step
    feed: Callable[[int], dict[Any, Any]] = lambda step: {}  # depends on nothing but the step
    report: Callable[[Any], None] = lambda session: None  # prints what the trained model does


def whole(least: int, most: int = LARGEST_SEED) -> Callable[[str], int]:
    """Returns: a type for argparse, integers of least to most."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no integer of {least} to {most}")
        return value

    return parse


def positive(text: str) -> float:
    """A type for argparse: finite numbers above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def parser(title: str, doc: str, steps: int, batch: int) -> argparse.ArgumentParser:
    """Returns: a parser of the options that all examples have."""
    result = argparse.ArgumentParser(prog=title, description=doc.splitlines()[0])
    add = result.add_argument
    add("--steps", type=whole(1), default=steps, help=f"with those of earlier runs ({steps})")
    add("--batch", type=whole(1), default=batch, help=f"examples in a step ({batch})")
    add("--seed", type=whole(0), default=1, help="of the initial values and the batches (1)")
    folder = Path("runs") / title
    add("--logdir", type=Path, default=folder, help=f"of checkpoints and event log ({folder})")
    add("--log-every", type=whole(1), default=20, metavar="STEPS", help="summaries (20)")
    add("--save-every", type=whole(1), default=500, metavar="STEPS", help="checkpoints (500)")
    add("--fresh", action="store_true", help="start again, whatever is in --logdir")
    return result


def add_device(parser: argparse.ArgumentParser) -> None:
    """Adds the option --device."""
    parser.add_argument("--device", choices=DEVICES, help="that trains (a GPU if there is one)")


def on_device(kind: str | None) -> Any:
    """Returns: the scope in which a graph is built for the first device of a kind; None: any."""
    return tf.device(kind and f"/{kind}:0")


def check_device(session: Any, kind: str | None) -> None:
    """Raises: UsageError if the session has no device of the kind; soft placement would not."""
    if kind and kind.upper() not in {device.device_type for device in session.list_devices()}:
        raise UsageError(
            f"--device {kind}: there is none here; `python -m headrace.kernels.opencl` lists the "
            "OpenCL devices and says why one is not used"
        )


def run(options: argparse.Namespace, title: str, build: Callable[[], Job], **settings: Any) -> int:
    """Trains until `options.steps`, from where an earlier run in the folder ended, and reports.

    Args:
      build: adds the model to the default graph.
      settings: what an earlier run in the folder must have had as well.
    Returns: the exit status: 0, 130 after Ctrl-C, 2 for impossible options.
    """
    settings = {"example": title, "seed": options.seed, "batch": options.batch, **settings}
    try:
        if options.fresh:
            clear(options.logdir)
        claim(options.logdir, settings)
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(options.seed)
            tf.train.get_or_create_global_step()
            with on_device(options.device):
                job = build()
            tf.summary.scalar("loss", job.loss)
            # What has no kernel there, such as queues and readers, goes to the CPU.
            config = tf.ConfigProto(allow_soft_placement=True)
            with tf.Session(graph=graph, config=config) as session:
                check_device(session, options.device)
                _train(session, job, options, title)
                job.report(session)
    except Stopped as stopped:
        print(f"{title}: {stopped}. The same command continues from there.", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(f"{title}: stopped at once; the newest checkpoint is saved", file=sys.stderr)
        return 130
    except UsageError as error:
        print(f"{title}: {error}", file=sys.stderr)
        return 2
    return 0


def claim(folder: Path, required: dict[str, Any], option: str = "--logdir") -> None:
    """Records the settings in the folder, or compares them with those recorded there.

    Args:
      option: with which the user names the folder.
    Raises: UsageError if the folder has a training with other settings, or cannot be written.
    """
    path = folder / "settings.json"
    try:
        if path.exists():
            found = json.loads(path.read_text())
            if found != required:
                raise UsageError(
                    f"{folder} contains a training with {found}, not with {required}: name "
                    f"another folder with {option}, or start again with --fresh"
                )
            return
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(required, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def clear(folder: Path) -> None:
    """Removes an earlier training from the folder, and nothing else."""
    for old in [old for pattern in OWN_FILES for old in folder.glob(pattern)]:
        old.unlink()


def initialize(session: Any) -> None:
    """Gives variables and tables their initial values."""
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(tf.tables_initializer())


def _train(session: Any, job: Job, options: argparse.Namespace, title: str) -> None:
    saver = tf.train.Saver(max_to_keep=3)
    initialize(session)
    folder = str(options.logdir)
    latest = tf.train.latest_checkpoint(folder)
    if latest:
        saver.restore(session, latest)
        known = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths
        saver.recover_last_checkpoints(known)
    done = int(session.run(tf.train.get_global_step()))
    writer = tf.summary.FileWriter(folder, session.graph)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), done)
    coord = tf.train.Coordinator()
    threads = []
    if tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        threads = tf.train.start_queue_runners(session, coord)
    try:
        with coord.stop_on_exception(), Interrupt() as interrupt:
            _Loop(session, job, options, saver, writer).run(done, title, interrupt)
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=60)
        writer.close()


@dataclass
class _Loop:
    session: Any
    job: Job
    options: argparse.Namespace
    saver: Any
    writer: Any

    def run(self, done: int, title: str, interrupt: Interrupt) -> None:
        steps, folder = self.options.steps, self.options.logdir
        self.fetches = {"train": self.job.train, "loss": self.job.loss}
        self.summaries = tf.summary.merge_all()
        times = []
        with tqdm(total=steps, initial=min(done, steps), desc=title, unit="step") as bar:
            for step in range(done, steps):
                start = time.perf_counter()
                values = self._step(step)
                times.append(time.perf_counter() - start)
                bar.update()
                if "summary" in values:
                    bar.set_postfix(loss=f"{values['loss']:.4f}")
                last = step + 1 == steps
                if last or interrupt.requested or (step + 1) % self.options.save_every == 0:
                    path = str(folder / "model.ckpt")
                    self.saver.save(self.session, path, step + 1, write_meta_graph=False)
                if interrupt.requested and not last:
                    raise Stopped(step + 1, steps)
        if times:
            median = statistics.median(times[NOT_TIMED:] or times) * 1e3
            print(f"{title}: {len(times)} steps, median {median:.2f} ms, loss {values['loss']:.4f}")
        else:
            print(f"{title}: the {done} steps are done; --steps asks for more")

    def _step(self, step: int) -> dict[str, Any]:
        """Runs one training step. Returns: its loss, and its summary if it has one."""
        feed, fetches = self.job.feed(step), dict(self.fetches)
        if step % self.options.log_every == 0:
            fetches["summary"] = self.summaries
        if step == TRACED_STEP:
            full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            trace = tf.RunMetadata()
            values = self.session.run(fetches, feed, full, trace)
            self.writer.add_run_metadata(trace, f"step {step}", step)
        else:
            values = self.session.run(fetches, feed)
        if "summary" in values:
            self.writer.add_summary(values["summary"], step)
        return values


class Interrupt:
    """Sets `requested` at Ctrl-C: the loop stops between steps. A second Ctrl-C stops at once."""

    requested = False

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)
