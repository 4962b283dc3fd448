"""Graphs, summaries and step traces in the browser: `headrace-board --logdir runs`."""

from headrace.board.app import create_app
from headrace.board.notebook import show
from headrace.board.web.security import Access

__all__ = ["Access", "create_app", "show"]
