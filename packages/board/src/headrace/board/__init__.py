"""Graphs, summaries and step traces in the browser: `headrace-board --logdir runs`."""

from headrace.board.app import create_app
from headrace.board.notebook import show

__all__ = ["create_app", "show"]
