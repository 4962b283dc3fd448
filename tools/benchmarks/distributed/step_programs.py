"""Steps over parameter servers: null steps, OSDI'16 Figure 6, transfers of 100 MB.

`tf` is headrace.graph or tensorflow.compat.v1. A program adds its graph to the default one: the
variables are on the tasks of ps, the arithmetic on the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEGABYTES = 100
DENSE = MEGABYTES * 1_000_000 // 4  # float32 elements
ROWS, WIDTH, DRAWN = 1_000_000, 256, 32  # 1 GB of rows of 1 KiB


@dataclass(frozen=True)
class Steps:
    """`fetches` is what each step runs; `check(session, n)` fails if n steps went wrong."""

    fetches: Any
    check: Callable[[Any, int], None] = lambda session, n: None


def on_worker(tf: Any) -> Any:
    return tf.device("/job:worker/task:0")


def on_ps(tf: Any, index: int) -> Any:
    return tf.device(f"/job:ps/task:{index}")


def noop_worker(tf: Any, n_ps: int) -> Steps:
    with on_worker(tf):
        return Steps(tf.no_op())


def noop_ps(tf: Any, n_ps: int) -> Steps:
    """An operation on each parameter server, none on the worker."""
    fetches = []
    for i in range(n_ps):
        with on_ps(tf, i):
            fetches.append(tf.no_op())
    return Steps(fetches)


def variables(tf: Any, n_ps: int, size: int | None) -> list[Any]:
    """Returns a variable of ones on each parameter server: scalars, or shares of `size`."""
    result = []
    for i in range(n_ps):
        with on_ps(tf, i):
            result.append(tf.Variable(tf.ones([] if size is None else [size // n_ps])))
    return result


def fetch_scalar(tf: Any, n_ps: int) -> Steps:
    """The client fetches the sum of a scalar from each parameter server."""
    parts = variables(tf, n_ps, None)
    with on_worker(tf):
        total = tf.add_n(parts) if n_ps > 1 else tf.identity(parts[0])
    return Steps(total, checker(total, lambda n: n_ps))


def fig6_scalar(tf: Any, n_ps: int) -> Steps:
    return there_and_back(tf, variables(tf, n_ps, None))


def fig6_dense(tf: Any, n_ps: int) -> Steps:
    return there_and_back(tf, variables(tf, n_ps, DENSE))


def there_and_back(tf: Any, parts: list[Any]) -> Steps:
    """The worker reads the variables, computes an update of each, and sends it back."""
    updates = []
    for i, part in enumerate(parts):
        with on_worker(tf):
            update = tf.minimum(part, 1.0)  # ones, which no simplification foresees
        with on_ps(tf, i):
            updates.append(tf.assign_add(part, update).op)
    first = [part if not part.shape.as_list() else part[0] for part in parts]
    total = tf.add_n(first)
    return Steps(updates, checker(total, lambda n: len(parts) * (1 + n)))


def read_dense(tf: Any, n_ps: int) -> Steps:
    """100 MB go to the worker, which uses one element of each part."""
    parts = variables(tf, n_ps, DENSE)
    with on_worker(tf):
        total = tf.add_n([tf.identity(part)[0] for part in parts])
    return Steps(total, checker(total, lambda n: n_ps))


def fig6_sparse32(tf: Any, n_ps: int) -> Steps:
    """32 random rows of 1 GB go to the worker, and their gradients go back."""
    shards = []
    for i in range(n_ps):
        with on_ps(tf, i):
            shards.append(tf.Variable(tf.zeros([ROWS // n_ps, WIDTH])))
    with on_worker(tf):
        ids = tf.random_uniform([DRAWN], 0, ROWS, tf.int32)
        rows = tf.nn.embedding_lookup(shards, ids, partition_strategy="mod")
        update = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
    sums = []
    for i, shard in enumerate(shards):
        with on_ps(tf, i):
            sums.append(tf.reduce_sum(shard))
    # A gradient is 1 for each element of a row that was drawn.
    return Steps(update, checker(tf.add_n(sums), lambda n: -DRAWN * WIDTH * n))


def checker(total: Any, expected: Callable[[int], float]) -> Callable[[Any, int], None]:
    def check(session: Any, n: int) -> None:
        found, wanted = float(session.run(total)), float(expected(n))
        if abs(found - wanted) > 1e-3 * abs(wanted):
            raise AssertionError(f"after {n} steps the sum is {found:g}, not {wanted:g}")

    return check


PROGRAMS: dict[str, Callable[[Any, int], Steps]] = {
    "noop_worker": noop_worker,
    "noop_ps": noop_ps,
    "fetch_scalar": fetch_scalar,
    "fig6_scalar": fig6_scalar,
    "fig6_dense": fig6_dense,
    "fig6_sparse32": fig6_sparse32,
    "read_dense": read_dense,
}
