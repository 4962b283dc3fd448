"""Losses that are weighted, reduced and collected: `hr.losses`."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
