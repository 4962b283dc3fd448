"""Summaries and event files: `hr.summary`."""

from headrace.graph.api.namespace import keep_public_names

keep_public_names(__name__)
