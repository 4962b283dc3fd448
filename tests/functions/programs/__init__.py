"""Programs with functions, and what they must compute: for the runtime and for TensorFlow."""

from programs import control_flow, defun, function, functional_ops
from programs.case import PROGRAMS, Run, X, close

# TensorArrays of a call cannot be passed to its gradient in TensorFlow, which keeps them per call.
NOT_IN_TENSORFLOW = ("a_recurrent_network_in_a_function", "a_map_in_a_function")

__all__ = [
    "NOT_IN_TENSORFLOW",
    "PROGRAMS",
    "Run",
    "X",
    "close",
    "control_flow",
    "defun",
    "function",
    "functional_ops",
]
