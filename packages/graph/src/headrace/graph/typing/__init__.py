"""Types for annotations: `from headrace.graph.typing import TensorLike`."""

from headrace.graph.api.namespace import keep_public_names

keep_public_names(__name__)
