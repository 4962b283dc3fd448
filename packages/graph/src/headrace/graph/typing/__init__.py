"""Types for annotations: `from headrace.graph.typing import TensorLike`."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
