"""What programs switch on or off at their start, between TF 1.x and 2.x.

Here everything is as in 1.x: graphs, sessions, and no eager execution. Switches to that do nothing;
those away from it are not there, but for resource variables.
"""

from __future__ import annotations

_resource_variables = False


def enable_resource_variables() -> None:
    """Makes new variables resource variables, unless they are told otherwise."""
    global _resource_variables
    _resource_variables = True


def disable_resource_variables() -> None:
    """Makes new variables reference variables, unless they are told otherwise (as at the start)."""
    global _resource_variables
    _resource_variables = False


def resource_variables_enabled() -> bool:
    """Whether new variables are resource variables."""
    return _resource_variables


def executing_eagerly() -> bool:
    """False: operations are added to a graph."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """False: operations are added to a graph."""
    return False


def disable_v2_behavior() -> None:
    """Does nothing: it is off."""


def disable_eager_execution() -> None:
    """Does nothing: it is off."""


def disable_v2_tensorshape() -> None:
    """Does nothing: shapes are made of Dimensions."""


def disable_tensor_equality() -> None:
    """Does nothing: tensors are equal where they are the same."""


def disable_control_flow_v2() -> None:
    """Does nothing: cond and while_loop are made of Switch and Merge."""


def control_flow_v2_enabled() -> bool:
    """False: cond and while_loop are made of Switch and Merge."""
    return False
