"""Metrics over all batches so far: `hr.metrics`."""

from headrace.graph.api.namespace import keep_public_names

keep_public_names(__name__)
