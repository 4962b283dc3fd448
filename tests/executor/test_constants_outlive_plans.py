"""Constants of a plan stay alive while a step uses them, even if the plan is dropped.

Modules: plan/constant_folding, plan/lease.
"""

from __future__ import annotations

import child_process


def test_a_folded_value_waits_for_its_reader_while_other_shapes_push_its_plan_out() -> None:
    printed = child_process.output(
        """
    x = hr.placeholder(hr.float32, [None])
    folded = hr.reverse(hr.constant(np.arange(5000, dtype=np.float32)), [0])
    early = hr.reduce_sum(x) + folded[7]
    gate = hr.FIFOQueue(100, [hr.float32], shapes=[[]])
    with hr.control_dependencies([gate.dequeue(), early]):
        late = folded * 1.0
        later = hr.identity(folded)
    sevens = hr.py_func(lambda: np.full([5000], 7, np.float32), [], hr.float32)
    with hr.Session() as session:
        got = []
        threads = [
            threading.Thread(target=lambda n=n: got.append(
                session.run([early, late, later], {x: np.ones([n], np.float32)})))
            for n in range(1, 41)
        ]
        for thread in threads:
            thread.start()
        wait_until_idle()  # until all wait for the gate
        kept = [session.run(sevens) for _ in range(100)]
        for _ in threads:
            session.run(gate.enqueue(1.0))
        for thread in threads:
            thread.join()
    wanted = np.arange(5000, dtype=np.float32)[::-1]
    right = [np.array_equal(a, wanted) and np.array_equal(b, wanted) for _, a, b in got]
    print(right.count(True), right.count(False))
        """,
        MALLOC_PERTURB_="165",
    )
    assert printed == "40 0\n"


def test_handles_are_valid_while_sessions_are_reset() -> None:
    printed = child_process.output(
        """
    queue = hr.FIFOQueue(50, [hr.float32], shapes=[[]])
    put = queue.enqueue(hr.placeholder_with_default(1.0, []))
    take = queue.dequeue()
    over = False
    with hr.Session() as session:
        def work():
            while not over:
                try:
                    session.run(put)
                    session.run(take, options=hr.RunOptions(timeout_in_ms=20))
                except hr.errors.OpError:
                    pass
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 4
        while time.monotonic() < until:
            hr.Session.reset("")
            session._service.reset([])
        over = True
        for thread in threads:
            thread.join()
        session.run(put)
        print(session.run(take))
        """,
        MALLOC_PERTURB_="165",
    )
    assert printed == "1.0\n"
