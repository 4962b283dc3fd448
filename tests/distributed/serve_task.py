"""A task of a cluster that only serves, with two devices."""

import argparse

import headrace.graph as tf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", required=True)
    parser.add_argument("--task", type=int, required=True)
    parser.add_argument("--cluster", required=True)
    args = parser.parse_args()
    jobs = {
        job: tasks.split("|")
        for job, tasks in (part.split("=") for part in args.cluster.split(","))
    }
    config = tf.ConfigProto(device_count={"CPU": 2})
    server = tf.train.Server(jobs, job_name=args.job, task_index=args.task, config=config)
    print('{"event": "serving"}', flush=True)
    server.join()


if __name__ == "__main__":
    main()
