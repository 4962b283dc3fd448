"""The parts of TensorFlow 1.x's `contrib` that programs use: `hr.contrib`."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
