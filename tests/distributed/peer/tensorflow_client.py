"""A TensorFlow program whose session is on a server of Headrace; prints what it saw as JSON.

It runs in TensorFlow's own interpreter: python tensorflow_client.py grpc://host:port
"""

import json
import os
import sys

for name in list(os.environ):  # the server is on this machine
    if name.lower().endswith("_proxy"):
        del os.environ[name]

import numpy as np  # noqa: E402
import tensorflow  # noqa: E402

tf = getattr(tensorflow, "compat", tensorflow).v1
tf.disable_eager_execution()


def main(target: str) -> None:
    seen = {}
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        r = tf.get_variable("r", initializer=3.0, use_resource=True)
    with tf.device("/job:ps/task:1"):
        x = tf.placeholder(tf.float32, [2])
        shape = tf.placeholder(tf.int32, [1])
        y = x * v + r
        words = tf.constant(["a", "bc"])
        bad = tf.reshape(y, shape, name="bad")
    up = tf.assign_add(v, [1.0, 1.0])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        seen["y"] = session.run(y, {x: [1, 2]}).tolist()
        added, text, fed = session.run([up, words, x], {x: [5, 6]})
        seen["several"] = [added.tolist(), [w.decode() for w in text], fed.tolist()]
        total = tf.reduce_sum(y)  # the graph grows
        seen["total"] = float(session.run(total, {x: [1, 2]}))
        seen["devices"] = sorted(d.name for d in session.list_devices())
        call = session.make_callable(y, [x])
        seen["callable"] = call(np.array([1, 2], np.float32)).tolist()
        trace = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: [1, 2]}, options=options, run_metadata=trace)
        seen["traced"] = sorted({d.device for d in trace.step_stats.dev_stats})
        try:
            session.run(bad, {x: [1, 2], shape: [7]})
        except tf.errors.OpError as error:
            seen["error"] = [type(error).__name__, error.message]
        handle = session.partial_run_setup([y, total], [x])
        first = session.partial_run(handle, y, {x: [1, 1]})
        seen["partial"] = [first.tolist(), float(session.partial_run(handle, total))]
    tf.Session.reset(target)
    with tf.Session(target) as session:
        try:
            session.run(v)
        except tf.errors.OpError as error:
            seen["reset"] = type(error).__name__
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
