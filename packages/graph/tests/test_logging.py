"""hr.logging writes messages at or above its level to standard error."""

from __future__ import annotations

import logging

import pytest

import headrace.graph as hr


@pytest.fixture(autouse=True)
def level():
    before = hr.logging.get_verbosity()
    yield
    hr.logging.set_verbosity(before)


def test_messages_below_the_level_are_dropped(caplog):
    with caplog.at_level(logging.NOTSET, "headrace"):
        hr.logging.set_verbosity(hr.logging.WARN)
        hr.logging.info("a %d", 1)
        hr.logging.warn("b %d", 2)
        hr.logging.error("c")
        hr.logging.log(hr.logging.FATAL, "d")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "b 2"), ("ERROR", "c"), ("CRITICAL", "d"),
    ]  # fmt: skip


def test_log_every_n_counts_each_line_separately(caplog):
    hr.logging.set_verbosity(hr.logging.INFO)
    with caplog.at_level(logging.INFO, "headrace"):
        for i in range(7):
            hr.logging.log_every_n(hr.logging.INFO, "every %d", 3, i)
            hr.logging.log_first_n(hr.logging.INFO, "first %d", 2, i)
            hr.logging.log_if(hr.logging.INFO, "if %d", i == 5, i)
    message = [r.getMessage() for r in caplog.records]
    assert message == ["every 0", "first 0", "first 1", "every 3", "if 5", "every 6"]


def test_levels_equal_python_levels():
    assert (hr.logging.DEBUG, hr.logging.INFO, hr.logging.FATAL) == (10, 20, 50)


def test_each_function_logs_at_its_level(caplog):
    with caplog.at_level(logging.NOTSET, "headrace"):
        hr.logging.set_verbosity(hr.logging.DEBUG)
        hr.logging.debug("a")
        hr.logging.warning("b")
        hr.logging.fatal("c")
        hr.logging.vlog(hr.logging.ERROR, "d")
        hr.logging.TaskLevelStatusMessage("e")
        hr.logging.flush()
    levels = [logging.DEBUG, logging.WARNING, logging.FATAL, logging.ERROR, logging.ERROR]
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == list(zip(levels, "abcde"))
    assert hr.get_logger() is logging.getLogger("headrace")
