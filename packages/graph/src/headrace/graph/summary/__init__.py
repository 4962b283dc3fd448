"""Summaries and event files: `hr.summary`."""
