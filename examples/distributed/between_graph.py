"""Training by several workers that share parameter servers: between-graph replication.

Each worker builds the same graph, with the variables on the parameter servers, and trains on
batches of its own. TF_CONFIG says which task a process is (headrace-launch sets it, also on Ray and
Slurm); without it the flags of TensorFlow 1.x programs say it: --ps_hosts, --worker_hosts,
--job_name, --task_index. Without either, one process trains alone. As the other examples, this is
a program for TensorFlow when its import is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
import resumable
from progress import Progress
from stop_signal import StopSignal

import headrace.graph as tf

STOP_GRACE_S = 2


@dataclass(frozen=True)
class Task:
    """The place of this process in its cluster; an empty cluster for a process alone."""

    cluster: dict[str, Any]  # addresses by job
    job: str
    index: int

    @property
    def is_chief(self) -> bool:
        return self.job == "chief" or ("chief" not in self.cluster and self.index == 0)

    @property
    def replica(self) -> int:
        """Which of the workers this is, the chief being the first."""
        return self.index + (self.job == "worker" and "chief" in self.cluster)

    @property
    def n_ps(self) -> int:
        return len(self.cluster.get("ps", ()))

    @property
    def n_workers(self) -> int:
        return sum(len(self.cluster.get(job, ())) for job in ("chief", "worker")) or 1

    def placement(self) -> Any:
        """Returns: what places variables on the parameter servers, and the rest on this task."""
        if not self.n_ps:
            return None
        own = f"/job:{self.job}/task:{self.index}"
        return tf.train.replica_device_setter(cluster=self.cluster, worker_device=own)

    def config(self) -> Any:
        """Returns: a ConfigProto of a session that does not depend on the other workers."""
        own = f"/job:{self.job}/task:{self.index}"
        return tf.ConfigProto(device_filters=["/job:ps", own] if self.cluster else [])


@dataclass(frozen=True)
class Model:
    """What an example adds to the default graph."""

    loss: Any  # [] float
    optimizer: Any
    gradients: Any  # list of (gradient, variable)
    feed: Callable[[int, int], dict[Any, Any]]  # from the global step and the number of the worker
    report: Callable[[Any], str]  # what the trained model does, from a session


def parser(title: str, doc: str, steps: int, batch: int) -> argparse.ArgumentParser:
    """Returns: a parser of the options that the distributed examples have."""
    result = resumable.parser(title, doc, steps, batch)
    add = result.add_argument
    add("--sync", action="store_true", help="average the gradients of all workers in each step")
    add("--launch", action="store_true", help="start workers and parameter servers on this machine")
    add("--workers", type=resumable.whole(1), default=2, help="with --launch (2)")
    add("--ps", type=resumable.whole(1), default=2, help="parameter servers with --launch (2)")
    flags = result.add_argument_group("the cluster, where TF_CONFIG is not set")
    for job in ("ps", "worker"):
        flags.add_argument(f"--{job}_hosts", default="", help="addresses, by comma")
    flags.add_argument("--job_name", choices=("ps", "worker"), default="worker")
    flags.add_argument("--task_index", type=resumable.whole(0), default=0)
    return result


def task_of(options: argparse.Namespace) -> Task:
    """Returns: the task of this process, by TF_CONFIG or by flags."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if config.get("cluster"):
        task = config["task"]
        return Task(config["cluster"], task["type"], int(task["index"]))
    hosts = {"ps": options.ps_hosts, "worker": options.worker_hosts}
    cluster = {job: text.split(",") for job, text in hosts.items() if text}
    return Task(cluster, options.job_name, options.task_index)


def run(
    options: argparse.Namespace,
    title: str,
    build: Callable[[Task], Model],
    settings: dict[str, Any],
) -> int:
    """Serves or trains, as the task of this process says, or launches all tasks.

    Args:
      build: adds the model to the default graph.
      settings: what an earlier run in the folder must have had as well.
    Returns: the exit status: 0, 130 after Ctrl-C, 2 for impossible options.
    """
    if options.launch:
        return launch(options)
    task = task_of(options)
    try:
        with StopSignal() as stop:
            server = None
            if task.cluster:
                server = tf.train.Server(task.cluster, job_name=task.job, task_index=task.index)
            if task.job == "ps":
                server.join()
                return 0
            if task.is_chief:
                if options.fresh:
                    resumable.clear(options.logdir)
                common = {"example": title, "seed": options.seed, "batch": options.batch}
                resumable.claim(options.logdir, {**common, "sync": options.sync, **settings})
            with tf.Graph().as_default():
                return train(options, title, task, server.target if server else "", build, stop)
    except resumable.UsageError as error:
        print(f"{title}: {error}", file=sys.stderr)
        return 2


def launch(options: argparse.Namespace) -> int:
    """Becomes the launcher of this program, as workers and parameter servers."""
    command = [sys.executable, "-m", "headrace.distributed.command.launch"]
    command += [f"--workers={options.workers}", f"--ps={options.ps}"]
    command += [argument for argument in sys.argv if argument != "--launch"]
    os.execv(sys.executable, command)


def train(
    options: argparse.Namespace,
    title: str,
    task: Task,
    target: str,
    build: Callable[[Task], Model],
    stop: StopSignal,
) -> int:
    tf.set_random_seed(options.seed)
    with tf.device(task.placement()):
        step = tf.train.get_or_create_global_step()
        model = build(task)
        optimizer = model.optimizer
        if options.sync:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, task.n_workers)
        update = optimizer.apply_gradients(model.gradients, global_step=step)
    # On the task of the variable: elsewhere its value could be sent before the update.
    with tf.device(step.device), tf.control_dependencies([update]):
        step_after = step.read_value()
    tf.summary.scalar("training/loss", model.loss)
    hooks = [tf.train.StopAtStepHook(last_step=options.steps)]
    if options.sync:
        # Without initial tokens each step averages exactly one gradient of each worker.
        hooks.append(optimizer.make_session_run_hook(task.is_chief, num_tokens=0))
        hooks.append(LetGo(optimizer.get_init_tokens_op(1), stop))
    report = Report(model.report)
    trace = tf.train.ProfilerHook(save_steps=options.save_every, output_dir=str(options.logdir))
    session = tf.train.MonitoredTrainingSession(
        target,
        is_chief=task.is_chief,
        checkpoint_dir=str(options.logdir),
        # Each parameter server writes the variables that it has.
        scaffold=tf.train.Scaffold(saver=tf.train.Saver(sharded=True, max_to_keep=3)),
        hooks=hooks,
        chief_only_hooks=[trace, report],
        save_checkpoint_steps=options.save_every,
        save_summaries_steps=options.log_every,
        config=task.config(),
        # The thread of the chief that averages gradients may wait for some that never come.
        stop_grace_period_secs=STOP_GRACE_S,
    )
    name = f"{title}: worker {task.replica}"
    own, loss = 0, None
    with session:
        start = time.perf_counter()
        done = int(session.run_step_fn(lambda step_context: step_context.session.run(step)))
        with Progress(task.is_chief, title, done, options.steps) as progress:
            while done < options.steps and not session.should_stop() and not stop.requested:
                fetches = [update, model.loss, step_after]
                _, loss, done = session.run(fetches, model.feed(int(done), task.replica))
                progress.show(int(done), float(loss))
                own += 1
        seconds = time.perf_counter() - start
    if stop.requested and done < options.steps:
        print(f"{name}: stopped after step {done} of {options.steps}", file=sys.stderr)
        return 130
    if loss is None:
        print(f"{name}: the {done} steps are done; --steps asks for more")
    else:
        print(f"{name}: {own} steps of its own, {own / seconds:.1f} a second, loss {loss:.4f}")
    if report.text:
        print(f"{title}: {report.text}")
    return 0


class Report(tf.train.SessionRunHook):
    """Lets the chief try the trained model at the end."""

    text = ""

    def __init__(self, report: Callable[[Any], str]) -> None:
        self._report = report

    def end(self, session: Any) -> None:
        self.text = self._report(session)


class LetGo(tf.train.SessionRunHook):
    """After Ctrl-C, gives this worker the token for which it waits: others may end before it.

    Args:
      release: operation that adds a token.
    """

    def __init__(self, release: Any, stop: StopSignal) -> None:
        self._release = release
        self._stop = stop

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._stop.on_request = lambda: session.run(self._release)

    def end(self, session: Any) -> None:
        self._stop.on_request = None
