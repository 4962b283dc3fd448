"""`hr.contrib.factorization`."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
