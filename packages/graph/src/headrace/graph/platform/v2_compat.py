"""Switches between the behaviour of TF 1.x and 2.x.

Headrace has the behaviour of 1.x: graphs and sessions, no eager execution. Functions that switch to
it do nothing; of those that switch to 2.x only the ones for resource variables exist.
"""

from __future__ import annotations

_resource_variables = False


def enable_resource_variables() -> None:
    """Makes resource variables the default."""
    global _resource_variables
    _resource_variables = True


def disable_resource_variables() -> None:
    """Makes reference variables the default, which is the initial state."""
    global _resource_variables
    _resource_variables = False


def resource_variables_enabled() -> bool:
    """Returns whether resource variables are the default."""
    return _resource_variables


def executing_eagerly() -> bool:
    """Returns False: operations are added to a graph."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Returns False: operations are added to a graph."""
    return False


def disable_v2_behavior() -> None:
    """Does nothing: eager execution does not exist."""


def disable_eager_execution() -> None:
    """Does nothing: eager execution does not exist."""


def disable_v2_tensorshape() -> None:
    """Does nothing: shapes are made of Dimensions."""


def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared by identity."""


def disable_control_flow_v2() -> None:
    """Does nothing: cond and while_loop consist of Switch and Merge."""


def control_flow_v2_enabled() -> bool:
    """Returns False: cond and while_loop consist of Switch and Merge."""
    return False
