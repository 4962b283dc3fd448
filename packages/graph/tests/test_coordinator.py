"""Coordinator: stopping threads, and raising their first error."""

from __future__ import annotations

import threading

import pytest

import headrace.graph as hr


def test_first_error_stops_all_threads_and_join_raises_it():
    coord = hr.train.Coordinator()

    def fails():
        with coord.stop_on_exception():
            raise ValueError("first")

    def waits():
        assert coord.wait_for_stop(10)

    threads = [threading.Thread(target=f) for f in (waits, fails)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="first"):
        coord.join(threads)
    assert coord.should_stop() and coord.joined
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined


def test_out_of_range_error_is_a_clean_stop():
    coord = hr.train.Coordinator()
    with coord.stop_on_exception():
        raise hr.errors.OutOfRangeError(None, None, "no more")
    assert coord.should_stop()
    coord.join([])
    coord.raise_requested_exception()


def test_join_names_threads_that_do_not_stop():
    coord, go_on = hr.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=go_on.wait, name="stubborn")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.01)
    coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    go_on.set()
    thread.join()


def test_looper_thread_runs_until_a_stop_is_requested():
    coord, seen = hr.train.Coordinator(), []

    def once(n):
        seen.append(n)
        if len(seen) == 3:
            coord.request_stop()

    hr.train.LooperThread.loop(coord, 0.001, once, args=(7,))
    coord.join()
    assert seen == [7, 7, 7]


def test_an_error_after_the_first_stop_request_is_dropped():
    coord = hr.train.Coordinator()
    coord.request_stop()
    coord.request_stop(ValueError("a stopped thread"))
    coord.join()
    coord.clear_stop()
    coord.request_stop(ValueError("the reason"))
    coord.request_stop(KeyError("a stopped thread"))
    with pytest.raises(ValueError, match="the reason"):
        coord.join()
