"""interrupts_held defers Ctrl-C until the end of its block."""

from __future__ import annotations

import signal
import threading

import pytest

from headrace.formats.interrupts import interrupts_held


@pytest.fixture(autouse=True)
def _default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_raised_at_the_end_of_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        signal.raise_signal(signal.SIGINT)
        done.append("work")
    assert done == ["work"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_error_of_the_block_propagates_and_the_handler_is_restored() -> None:
    with pytest.raises(ZeroDivisionError), interrupts_held():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_raised_even_if_the_block_fails() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError


def test_nested_blocks_defer_ctrl_c_to_the_end_of_the_outer_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_other_threads_and_ignored_signals_are_unaffected() -> None:
    handlers = []

    def work() -> None:
        with interrupts_held():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work()
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]
