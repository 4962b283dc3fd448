"""Layers, with variables under scopes of their own: `hr.layers`."""

from headrace.graph.api.namespace import keep_public_names

keep_public_names(__name__)
