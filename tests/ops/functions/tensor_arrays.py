"""TensorArrays, map_fn, folds and scan: values, gradients, in loops and branches."""

from __future__ import annotations

import numpy as np

X = np.random.default_rng(17).normal(size=(4, 3)).astype(np.float32)


def _with_gradient(build):
    def program(m):
        x = m.constant(X)
        y = build(m, x)
        parts = list(y) if isinstance(y, (list, tuple)) else [y]
        loss = m.add_n([m.reduce_sum(m.square(part)) for part in parts])
        return [*parts, m.gradients(loss, x)[0]]

    return program


def _array(m, x, **options):
    return m.TensorArray(m.float32, **{"size": 4, **options}).unstack(x)


def _many_reads(m, x):
    array = _array(m, x, clear_after_read=False)
    return [array.read(1) * array.read(2), array.gather([0, 3]), array.stack()]


def _written(m, x):
    array = m.TensorArray(m.float32, size=0, dynamic_size=True, infer_shape=False)
    array = array.write(2, x[0]).write(0, x[1] * 2.0).scatter([1], x[3:] * x[2:3])
    return [array.stack(), array.grad("s").read(1) * 0.0]


def _split(m, x):
    array = m.TensorArray(m.float32, size=3, infer_shape=False).split(x, [1, 0, 3])
    return [array.concat() * x]


def _loop(m, x):
    source = _array(m, x)
    results = m.TensorArray(m.float32, size=4, element_shape=[3])
    _, state, results = m.while_loop(
        lambda i, s, r: i < 4,
        lambda i, s, r: (i + 1, m.sin(s * source.read(i)) + s, r.write(3 - i, s * s)),
        (m.constant(0), m.ones([3]), results),
    )
    return [state, results.stack()]


def _branches(m, x):
    array = _array(m, x, clear_after_read=False)

    def body(i, total):
        part = m.cond(m.equal(i % 2, 0), lambda: array.read(i), lambda: x[i] * array.read(0))
        return i + 1, total * 0.5 + m.square(part)

    return m.while_loop(lambda i, t: i < 4, body, (m.constant(0), m.zeros([3])))[1]


def _no_rows(m):
    x = m.placeholder_with_default(np.zeros((0, 3), np.float32), [None, 3])
    return [
        m.foldl(lambda a, r: a + r, x, initializer=m.ones([3])),
        m.scan(lambda a, r: a + r, x, initializer=m.ones([3])),
    ]


def _structures(m):
    x, y = m.constant(X), m.constant([1, 2, 3, 4])
    mapped = m.map_fn(
        lambda r: (r[0] * m.cast(r[1]["n"], m.float32), r[1]["n"]),
        (x, {"n": y}),
        dtype=(m.float32, m.int32),
    )
    scanned = m.scan(lambda a, r: (a[1], a[0] + r), y, initializer=(0, 1))
    return [*mapped, *scanned, m.foldr(lambda a, r: a * 10 + r, y), m.size(mapped[0])]


PROGRAMS = {
    "many reads": _with_gradient(_many_reads),
    "split": _with_gradient(_split),
    "written": lambda m: _written(m, m.constant(X))[:1],
    "a loop": _with_gradient(_loop),
    "branches": _with_gradient(_branches),
    "size": lambda m: [_array(m, m.constant(X), dynamic_size=True).size()],
    "map": _with_gradient(lambda m, x: m.map_fn(lambda r: m.tanh(r) * r[0], x)),
    "map of maps": _with_gradient(lambda m, x: m.map_fn(lambda r: m.map_fn(m.exp, r), x)),
    "foldl": _with_gradient(lambda m, x: m.foldl(lambda a, r: m.sin(a * r), x)),
    "foldr": _with_gradient(lambda m, x: m.foldr(lambda a, r: a * r + r, x, initializer=x[2])),
    "scan": _with_gradient(lambda m, x: m.scan(lambda a, r: m.sin(a) * r, x)),
    "scan back": _with_gradient(
        lambda m, x: m.scan(lambda a, r: m.sin(a) * r, x, initializer=x[1], reverse=True)
    ),
    "scan back from a row": _with_gradient(
        lambda m, x: m.scan(lambda a, r: a * r, x, reverse=True)
    ),
    "no rows": _no_rows,
    "structures": _structures,
}
