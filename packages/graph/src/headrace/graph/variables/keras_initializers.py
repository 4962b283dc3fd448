"""`hr.keras.initializers`: the initializers under the names and with the defaults of Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.formats.dtypes import float32
from headrace.graph.typing.aliases import DTypeLike
from headrace.graph.variables import initializers as base


class RandomNormal(base.RandomNormal):
    """Draws from a normal distribution. Args: as random_normal_initializer."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class TruncatedNormal(RandomNormal, base.TruncatedNormal):
    """Draws from a normal distribution, within two standard deviations."""


class RandomUniform(base.RandomUniform):
    """Draws from a uniform distribution. Args: as random_uniform_initializer."""

    def __init__(
        self,
        minval: float = -0.05,
        maxval: float = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


normal = random_normal = RandomNormal
truncated_normal = TruncatedNormal
uniform = random_uniform = RandomUniform

_KNOWN: dict[str, Callable[..., base.Initializer]] = {
    **{
        name: getattr(base, name)
        for name in "Constant GlorotNormal GlorotUniform Identity Ones Orthogonal "
        "VarianceScaling Zeros glorot_normal glorot_uniform he_normal he_uniform identity "
        "lecun_normal lecun_uniform ones orthogonal zeros".split()
    },
    **{
        name: globals()[name]
        for name in "RandomNormal RandomUniform TruncatedNormal normal random_normal "
        "random_uniform truncated_normal uniform".split()
    },
    "constant": base.Constant,
}


def serialize(initializer: base.Initializer) -> dict[str, Any]:
    """Returns an initializer's class and arguments, as Keras saves them."""
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, Callable[..., Any]] | None = None
) -> Any:
    """Creates an initializer from what `serialize` returned.

    Args:
      config: the names "class_name" and "config".
      custom_objects: further classes by name.
    Raises: ValueError for an unknown class.
    """
    name = config["class_name"]
    found = {**_KNOWN, **(custom_objects or {})}.get(name)
    if found is None:
        raise ValueError(f"Unknown initializer: {name}")
    arguments = dict(config["config"])
    if isinstance(found, type) and issubclass(found, base.Initializer):
        return found.from_config(arguments)
    return found(**arguments)


def get(identifier: Any) -> Any:
    """Returns an initializer for a name, a saved form, a class or an initializer.

    Raises: ValueError for anything else.
    """
    if identifier is None:
        return None
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    if isinstance(identifier, str):
        if identifier not in _KNOWN:
            raise ValueError(f"Unknown initializer: {identifier}")
        return _KNOWN[identifier]()
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
