"""Builds, differentiates and inspects dataflow graphs: `import headrace.graph as hr`."""

from typing import Any

from headrace.graph.api.namespace import find, names, prefer_public_names

prefer_public_names(__name__)

from headrace.graph.builder import operators as operators  # noqa: E402 - gives Tensor its operators
from headrace.graph.builder import packing as packing  # noqa: E402 - converts lists of tensors
from headrace.graph.framework.graph import Graph as Graph  # noqa: E402
from headrace.graph.framework.graph import get_default_graph as get_default_graph  # noqa: E402
from headrace.graph.framework.operation import Operation as Operation  # noqa: E402
from headrace.graph.framework.operation import Tensor as Tensor  # noqa: E402


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__version__":
        raise AttributeError(name)
    value = globals()[name] = find(name)
    return value


def __dir__() -> list[str]:
    return names()
