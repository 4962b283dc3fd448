"""A worker of the fault tests: between-graph replication with counted updates.

Each update adds exactly 1 to `count` and moves `x` towards 3. What happens goes to the standard
output, a JSON object per line: {"time": s, "step": global step, "count": sum of updates}.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import headrace.graph as tf


def say(**event: Any) -> None:
    print(json.dumps({"time": time.time(), **event}), flush=True)


def build(ps_tasks: int, task: int, sync: int, workers: int) -> tuple[Any, ...]:
    """Returns (global step, count, x, loss, train_op, hooks)."""
    setter = tf.train.replica_device_setter(
        ps_tasks=ps_tasks, worker_device=f"/job:worker/task:{task}"
    )
    with tf.device(setter):
        step = tf.train.get_or_create_global_step()
        count = tf.get_variable("count", [], tf.float64, tf.zeros_initializer())
        x = tf.get_variable("x", [16], tf.float64, tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(x - 3.0))
        optimizer: Any = tf.train.GradientDescentOptimizer(1.0)
        hooks = []
        if sync:
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, sync, workers)
        gradients = [(tf.constant(-1.0, tf.float64), count), (0.1 * (x - 3.0), x)]
        train_op = optimizer.apply_gradients(gradients, global_step=step)
        if sync:
            hooks.append(optimizer.make_session_run_hook(task == 0))
    return step, count, x, loss, train_op, hooks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", type=int, required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--steps", type=int, default=10**9, help="of the global step")
    parser.add_argument("--checkpoints")
    parser.add_argument("--save-steps", type=int, default=50)
    parser.add_argument("--sync", type=int, default=0, help="gradients to aggregate")
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between steps")
    parser.add_argument("--address", help="an address that the cluster of the others does not have")
    args = parser.parse_args()
    jobs: dict[str, Any] = {
        job: dict(enumerate(tasks.split("|")))
        for job, tasks in (part.split("=") for part in args.cluster.split(","))
    }
    if args.address:
        jobs["worker"][args.task] = args.address
    say(event="started")
    server = tf.train.Server(tf.train.ClusterSpec(jobs), job_name="worker", task_index=args.task)
    step, count, x, loss, train_op, hooks = build(
        len(jobs["ps"]), args.task, args.sync, len(jobs["worker"])
    )
    hooks.append(tf.train.StopAtStepHook(last_step=args.steps))
    done = 0
    with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=args.task == 0, checkpoint_dir=args.checkpoints, hooks=hooks,
        save_checkpoint_secs=None,
        save_checkpoint_steps=args.save_steps if args.checkpoints else None,
        save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        say(event="session")
        while not session.should_stop():
            _, at, counted, value = session.run([train_op, step, count, loss])
            done += 1
            say(step=int(at), count=float(counted), loss=float(value), done=done)
            time.sleep(args.pause)
    say(event="finished", done=done)


if __name__ == "__main__":
    main()
