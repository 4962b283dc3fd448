"""A training program of TensorFlow 1.x, between-graph; only its import is Headrace's.

It finds its cluster in TF_CONFIG and knows nothing of engines. All workers move `x` towards 3,
until a test makes the file `end`.
"""

import argparse
import json
import os
import time

import headrace.graph as tf

parser = argparse.ArgumentParser()
parser.add_argument("folder")
folder = parser.parse_args().folder

config = json.loads(os.environ["TF_CONFIG"])
cluster = tf.train.ClusterSpec(config["cluster"])
job, index = config["task"]["type"], config["task"]["index"]
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()

device = tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)
with tf.device(device):
    step = tf.train.get_or_create_global_step()
    x = tf.get_variable("x", [4], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(x - 3.0))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)

print(f"begin {index} pid {os.getpid()}")
with tf.train.MonitoredTrainingSession(
    master=server.target,
    is_chief=index == 0,
    checkpoint_dir=os.path.join(folder, "checkpoints"),
    save_checkpoint_steps=20,
    save_summaries_steps=None,
    save_summaries_secs=None,
    log_step_count_steps=None,
) as session:
    steps = 0
    while not os.path.exists(os.path.join(folder, "end")):
        _, now, value = session.run([train, step, loss])
        steps += 1
        if steps % 20 == 1:
            print(f"worker {index} steps {steps} global {now} loss {value:.6f}")
        time.sleep(0.01)
print(f"finished {index} loss {value:.6f}")
