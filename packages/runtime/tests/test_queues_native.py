"""Queues in C++, without a session: interleavings that no program can cause on purpose."""

from native_program import run_program


def test_a_waiter_whose_run_ends_while_it_enters_the_queue_is_finished(tmp_path):
    assert int(run_program(tmp_path, "queue_cancel")) == 20001


def test_operations_of_all_kinds_end_once_whoever_cancels_them(tmp_path):
    assert run_program(tmp_path, "waiting_threads") == "9800 ended\n"
