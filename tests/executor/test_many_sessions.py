"""Sessions one after another, at the same time, and closed while others run.

Modules: session/local_session.
"""

from __future__ import annotations

import child_process
import numpy as np
from concurrently import concurrently

import headrace.graph as hr


def test_two_hundred_sessions_come_and_go() -> None:
    # In a process of its own: what went wrong here once was an abort.
    printed = child_process.output(
        """
        import random
        v = hr.Variable(np.zeros([10], np.float32))
        r = hr.get_variable("r", [10], initializer=hr.zeros_initializer(), use_resource=True)
        queue = hr.FIFOQueue(10, [hr.float32], shapes=[[10]])
        step = hr.group(v.assign_add(hr.ones([10])), r.assign_add(hr.ones([10])))
        through = queue.enqueue(v), queue.dequeue()
        start = (0, hr.ones([10]))
        _, loop = hr.while_loop(lambda i, a: i < 20, lambda i, a: (i + 1, a + v), start)
        init = hr.global_variables_initializer()
        total = 0.0
        for i in range(200):
            session = hr.Session()
            session.run(init)
            session.run(step)
            _, got = session.run(through)
            total += got.sum() + session.run(loop)[0]
            if i % 3:
                session.close()
            del session
        print(total)
        """
    )
    assert float(printed) == 200 * (10 + 21)


def test_threads_share_sessions_and_read_complete_values() -> None:
    v = hr.get_variable("v", [1000], initializer=hr.zeros_initializer(), use_resource=True)
    x = hr.placeholder(hr.float32, [1000])
    add = v.assign_add(hr.ones([1000]), read_value=False)
    read = v.read_value()
    twice = x * 2.0
    wrong: list[object] = []
    with hr.Session() as session:
        session.run(v.initializer)

        def work(number: int) -> None:
            mine = np.full([1000], number, np.float32)
            for _ in range(100):
                session.run(add)
                seen = session.run(read)
                doubled = session.run(twice, {x: mine})
                if len(set(seen)) != 1 or not np.array_equal(doubled, mine * 2):
                    wrong.append(seen)

        concurrently(work, 6)
        assert not wrong
        assert session.run(read)[0] == 600


def test_sessions_close_while_others_run_in_them() -> None:
    printed = child_process.output(
        """
        queue = hr.FIFOQueue(4, [hr.float32], shapes=[[]])
        x = hr.placeholder(hr.float32, [None])
        fetches = [
            queue.dequeue(),
            hr.reduce_sum(hr.tanh(x)),
            hr.while_loop(lambda i: i < 100_000_000, lambda i: i + 1, [0]),
        ]
        ended = {"closed": 0, "cancelled": 0, "value": 0}
        def work(session, fetch, feeds):
            try:
                for _ in range(20):
                    session.run(fetch, feeds)
                ended["value"] += 1
            except hr.errors.CancelledError:
                ended["cancelled"] += 1
            except RuntimeError as error:
                assert "closed Session" in str(error), error
                ended["closed"] += 1
        for i in range(40):
            session = hr.Session()
            feeds = [{}, {x: np.ones([1 + 50_000 * (i % 3)], np.float32)}, {}]
            threads = [threading.Thread(target=work, args=(session, f, d))
                       for f, d in zip(fetches, feeds) for _ in range(2)]
            for thread in threads:
                thread.start()
            time.sleep(0.001 * (i % 7))
            session.close()
            for thread in threads:
                thread.join(200)
                assert not thread.is_alive(), "a run outlived its session"
        print(sum(ended.values()), ended["cancelled"] > 0)
        """
    )
    assert printed == "240 True\n"
