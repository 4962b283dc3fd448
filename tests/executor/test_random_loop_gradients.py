"""Gradients of random nested loops and conds, against the same program without control flow.

Modules: executor/native_loop, executor/loop_lowering, executor/dynamic_step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headrace.graph as hr

# A program changes a state of two vectors x[0], x[1]; w is a vector that only outer code sets.
#   ("mix", i): x[i] = sin(x[0] * x[1] + w)       ("scale", i): x[i] = x[i] * w + 0.5
#   ("swap",)                                     ("rows", i): x[i] = x[i] * w[0]
#   ("loop", n, body)                             ("cond", i, then, other): by x[i][0] > 0
_LEAVES = st.one_of(
    st.tuples(st.sampled_from(["mix", "scale", "rows"]), st.integers(0, 1)),
    st.tuples(st.just("swap")),
)


def _nested(children: Any) -> Any:
    body = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("loop"), st.integers(0, 3), body),
        st.tuples(st.just("cond"), st.integers(0, 1), body, body),
    )


PROGRAMS = st.lists(st.recursive(_LEAVES, _nested, max_leaves=8), min_size=1, max_size=4)
X0, X1, W = np.array([0.4, -0.3]), np.array([-0.7, 0.9]), np.array([1.1, 0.8])


def simple(statement: Any, x: list[Any], w: Any) -> list[Any]:
    kind = statement[0]
    if kind == "swap":
        return [x[1], x[0]]
    changed = list(x)
    i = statement[1]
    if kind == "mix":
        changed[i] = hr.sin(x[0] * x[1] + w)
    elif kind == "scale":
        changed[i] = x[i] * w + 0.5
    else:
        changed[i] = x[i] * hr.gather(w, [0, 0])
    return changed


def with_control_flow(program: Any, x: list[Any], w: Any) -> list[Any]:
    for statement in program:
        if statement[0] == "loop":
            _, n, body = statement
            x = hr.while_loop(
                lambda i, _, n=n: i < n,
                lambda i, s, body=body: (i + 1, with_control_flow(body, s, w)),
                (hr.constant(0), x),
            )[1]
        elif statement[0] == "cond":
            _, i, then, other = statement
            x = hr.cond(
                x[i][0] > 0.0,
                lambda x=x, then=then: with_control_flow(then, x, w),
                lambda x=x, other=other: with_control_flow(other, x, w),
            )
        else:
            x = simple(statement, x, w)
    return [hr.identity(t) for t in x]


def unrolled(program: Any, x: list[Any], w: Any, session: Any) -> list[Any]:
    """Builds what a run of the program computes: branches are chosen by values."""
    for statement in program:
        if statement[0] == "loop":
            for _ in range(statement[1]):
                x = unrolled(statement[2], x, w, session)
        elif statement[0] == "cond":
            _, i, then, other = statement
            x = unrolled(then if session.run(x[i])[0] > 0.0 else other, x, w, session)
        else:
            x = simple(statement, x, w)
    return x


def derivatives(y: Any, sources: list[Any], order: int) -> list[Any]:
    for _ in range(order):
        grads = [
            hr.zeros_like(s) if g is None else hr.convert_to_tensor(g)
            for s, g in zip(sources, hr.gradients(y, sources), strict=True)
        ]
        y = hr.add_n([hr.reduce_sum(g * g) for g in grads])
    return grads


# A loop whose result is kept as of a branch, and whose Exit is known to the branch only.
_LOOP_IN_BRANCH = [
    ("loop", 1, [("cond", 0, [("scale", 1)], [
        ("loop", 1, [("mix", 1)]), ("cond", 1, [("scale", 0)], [("scale", 0)]),
    ])]),
]  # fmt: skip


# A Switch that a gradient adds in a branch neither leads into that branch nor out of it.
_NESTED_CONDS = [
    ("loop", 2, [("cond", 1, [("scale", 1)], [("cond", 0, [("scale", 0)], [("scale", 0)])])]),
]  # fmt: skip
# The gradients of a loop's results are summed in the branch that the loop is in.
_SUM_IN_BRANCH = [
    ("loop", 3, [("cond", 0, [("swap",), ("loop", 3, [("scale", 1)]), ("mix", 0)], [
        ("cond", 1, [("swap",)], [("scale", 1)]),
    ])]),
]  # fmt: skip


@example(_LOOP_IN_BRANCH, 1, True)
@example(_NESTED_CONDS, 2, True)
@example(_SUM_IN_BRANCH, 2, False)
@settings(max_examples=40, deadline=None)
@given(PROGRAMS, st.sampled_from([1, 1, 2]), st.booleans())
def test_control_flow_and_the_unrolled_program_have_equal_gradients(
    program: Any, order: int, native: bool
) -> None:
    with hr.Graph().as_default():
        sources = [hr.constant(v) for v in (X0, X1, W)]
        config = hr.ConfigProto()
        config.experimental.executor_type = "" if native else "dynamic"
        with hr.Session(config=config) as session:
            results = []
            for build in (
                with_control_flow,
                lambda p, x, w: unrolled(p, x, w, session),
            ):
                x = build(program, sources[:2], sources[2])
                y = hr.reduce_sum(x[0] * 2.0 + x[1])
                results.append(session.run(derivatives(y, sources, order)))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
