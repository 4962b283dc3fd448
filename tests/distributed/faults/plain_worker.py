"""A worker with a plain session: it reports the first error of a run, then tries again with a new
session until the parameter server answers."""

from __future__ import annotations

import argparse
import time

from train_worker import build, say

import headrace.graph as tf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", type=int, required=True)
    parser.add_argument("--cluster", required=True)
    args = parser.parse_args()
    jobs = {
        job: tasks.split("|")
        for job, tasks in (part.split("=") for part in args.cluster.split(","))
    }
    server = tf.train.Server(jobs, job_name="worker", task_index=args.task)
    step, count, _, _, train_op, _ = build(len(jobs["ps"]), args.task, 0, 1)
    counted = 0.0
    read = count.read_value()
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        try:
            while True:
                _, at, counted = session.run([train_op, step, read])
                say(step=int(at), count=float(counted))
                time.sleep(0.005)
        except tf.errors.OpError as error:
            say(error=type(error).__name__, message=error.message, count=float(counted))
    while True:
        try:
            with tf.Session(server.target) as session:
                say(event="again", count=float(session.run(count)))
                return
        except tf.errors.OpError as error:
            say(waiting=type(error).__name__)
            time.sleep(0.2)


if __name__ == "__main__":
    main()
