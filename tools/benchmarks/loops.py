"""What an iteration of a while loop costs, by what its body does, beside TensorFlow's.

    python tools/benchmarks/loops.py --peer .peers/tensorflow/bin/python [--before PYTHON] [ROW ...]

Nanoseconds an iteration: the minimum over rounds in which the sides take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np


def simple(tf: Any, session: Any, body: Any, start: Any, times: int, **more: Any) -> Any:
    """Runs `body(i, *values)` that often; one value is fetched."""
    end = tf.while_loop(
        lambda i, *_: i < times,
        lambda i, *values: (i + 1, *body(i, *values)),
        (tf.constant(0), *start),
        **more,
    )
    s = session()
    s.run(tf.global_variables_initializer())
    fetch = tf.add_n([tf.reduce_sum(value) for value in end[1:]])
    return lambda: s.run(fetch)


def add(tf: Any, session: Any, n: int) -> Any:
    return simple(tf, session, lambda i, v: (v + 1.0,), (tf.constant(0.0),), n)


def gather(tf: Any, session: Any, n: int) -> Any:
    x = tf.constant(np.arange(100, dtype=np.float32))
    return simple(tf, session, lambda i, v: (v + tf.gather(x, i % 100),), (tf.constant(0.0),), n)


def index(tf: Any, session: Any, n: int) -> Any:
    x = tf.constant(np.arange(100, dtype=np.float32))
    return simple(tf, session, lambda i, v: (v + x[i % 100],), (tf.constant(0.0),), n)


def window(tf: Any, session: Any, n: int) -> Any:
    x = tf.constant(np.arange(105, dtype=np.float32))
    body = lambda i, v: (v + tf.reduce_sum(x[i % 100 : i % 100 + 5]),)  # noqa: E731
    return simple(tf, session, body, (tf.constant(0.0),), n)


def cond(tf: Any, session: Any, n: int) -> Any:
    body = lambda i, v: (tf.cond(tf.equal(i % 2, 0), lambda: v + 1.0, lambda: v * 0.5),)  # noqa: E731
    return simple(tf, session, body, (tf.constant(0.0),), n)


def asserted(tf: Any, session: Any, n: int) -> Any:
    def body(i: Any, v: Any) -> Any:
        with tf.control_dependencies([tf.Assert(i < n, [i, v])]):
            return (v + 1.0,)

    return simple(tf, session, body, (tf.constant(0.0),), n)


def nested(tf: Any, session: Any, n: int) -> Any:
    """Parts are iterations of the inner loop, ten to one of the outer."""

    def body(i: Any, v: Any) -> Any:
        inner = lambda j, w: (j + 1, w + 1.0)  # noqa: E731
        return (tf.while_loop(lambda j, w: j < 10, inner, (tf.constant(0), v))[1],)

    return simple(tf, session, body, (tf.constant(0.0),), n // 10)


def growing(tf: Any, session: Any, n: int) -> Any:
    """A vector that an iteration makes longer by one."""
    end = tf.while_loop(
        lambda i, v: i < n,
        lambda i, v: (i + 1, tf.concat([v, [tf.cast(i, tf.float32)]], 0)),
        (tf.constant(0), tf.constant([0.0])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    fetch = tf.reduce_sum(end[1])
    s = session()
    return lambda: s.run(fetch)


def matmul(tf: Any, session: Any, n: int) -> Any:
    w = tf.constant(np.random.RandomState(0).randn(512, 512).astype(np.float32) / 23)
    x = tf.constant(np.random.RandomState(1).randn(512, 512).astype(np.float32))
    return simple(tf, session, lambda i, v: (tf.matmul(v, w),), (x,), n)


def two_matmuls(tf: Any, session: Any, n: int) -> Any:
    w = tf.constant(np.random.RandomState(0).randn(512, 512).astype(np.float32) / 23)
    x = tf.constant(np.random.RandomState(1).randn(512, 512).astype(np.float32))
    body = lambda i, v, u: (tf.matmul(v, w), tf.matmul(u, w))  # noqa: E731
    return simple(tf, session, body, (x, x + 1.0), n)


def lstm(tf: Any, session: Any, n: int) -> Any:
    units, batch = 64, 8
    w = tf.constant(np.random.RandomState(0).randn(2 * units, 4 * units).astype(np.float32) / 8)
    x = tf.constant(np.random.RandomState(1).randn(n, batch, units).astype(np.float32))

    def body(i: Any, c: Any, h: Any) -> Any:
        gates = tf.matmul(tf.concat([tf.gather(x, i), h], 1), w)
        a, b, o, g = tf.split(gates, 4, 1)
        c = c * tf.sigmoid(b) + tf.sigmoid(a) * tf.tanh(g)
        return c, tf.tanh(c) * tf.sigmoid(o)

    zero = tf.constant(np.zeros((batch, units), np.float32))
    return simple(tf, session, body, (zero, zero), n)


def many_shapes(tf: Any, session: Any, n: int) -> Any:
    """A body whose vector has another of 100 lengths in each iteration."""
    x = tf.constant(np.arange(200, dtype=np.float32))
    body = lambda i, v: (v + tf.reduce_sum(x[: i * 37 % 100 + 1] * 2.0),)  # noqa: E731
    return simple(tf, session, body, (tf.constant(0.0),), n)


ROWS: dict[str, tuple[Any, int]] = {
    "add": (add, 10_000),
    "gather": (gather, 10_000),
    "index": (index, 10_000),
    "window": (window, 5_000),
    "cond": (cond, 10_000),
    "assert": (asserted, 5_000),
    "nested": (nested, 10_000),
    "growing": (growing, 500),
    "many_shapes": (many_shapes, 1_000),
    "matmul": (matmul, 20),
    "two_matmuls": (two_matmuls, 10),
    "lstm": (lstm, 500),
}


def worker(side: str) -> None:
    if side == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
        tf.disable_control_flow_v2()
    else:
        import headrace.graph as tf
    built: dict[str, Any] = {}
    for line in sys.stdin:
        row = line.strip()
        make, n = ROWS[row]
        try:
            if row not in built:
                with tf.Graph().as_default():
                    built[row] = make(tf, tf.Session, n)
                built[row]()
                built[row]()
            start = time.perf_counter()
            value = built[row]()
            took = time.perf_counter() - start
            reply = {"ns": took / n * 1e9, "value": float(np.sum(value))}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(reply), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    parser.add_argument("--peer")
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    sides = {"ours": sys.executable}
    if options.before:
        sides["before"] = options.before
    if options.peer:
        sides["tensorflow"] = options.peer
    processes = {
        side: subprocess.Popen(
            [python, __file__, "--worker", side],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"},
        )
        for side, python in sides.items()
    }
    print(f"{'row':14}" + "".join(f"{side:>14}" for side in sides) + "   ns an iteration")
    for row in options.rows:
        best: dict[str, float] = {}
        values: dict[str, float] = {}
        errors = []
        for _ in range(options.rounds):
            for side, process in processes.items():
                assert process.stdin and process.stdout
                print(row, file=process.stdin, flush=True)
                reply = json.loads(process.stdout.readline() or '{"error": "the process ended"}')
                if "error" in reply:
                    errors.append(f"{side}: {reply['error']}")
                    continue
                best[side] = min(best.get(side, 1e18), reply["ns"])
                values[side] = reply["value"]
        line = f"{row:14}" + "".join(f"{best.get(side, float('nan')):14,.0f}" for side in sides)
        spread = max(values.values()) - min(values.values()) if values else 0
        if values and spread > 1e-3 * max(1.0, *map(abs, values.values())):
            line += f"   values differ: {values}"
        print(line + "".join(f"\n    {error}" for error in dict.fromkeys(errors)), flush=True)
    for process in processes.values():
        process.kill()


if __name__ == "__main__":
    main()
