"""Functions: graphs that nodes of other graphs call (white paper §10): `hr.functions`."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
