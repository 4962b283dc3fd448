"""Fixtures: a new default graph for each test, and a fake session service."""

from __future__ import annotations

import pytest
from interpreter import Interpreter

import headrace.graph as hr
from headrace.formats import services


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture
def service(monkeypatch):
    """Replaces the session service by an interpreter; returns the list of opened sessions."""
    opened: list[Interpreter] = []

    def open_session(target, config):
        opened.append(Interpreter(target, config))
        return opened[-1]

    def find(group, name):
        assert group == services.SESSIONS
        return open_session

    monkeypatch.setattr(services, "find_service", find)
    return opened
