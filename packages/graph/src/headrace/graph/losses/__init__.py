"""Losses that are weighted, reduced and collected: `hr.losses`."""

from headrace.graph.api.namespace import keep_public_names

keep_public_names(__name__)
