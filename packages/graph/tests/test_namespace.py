from __future__ import annotations

import subprocess
import sys

import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    value = find(name)
    assert value is not None or name == "newaxis"
    reached = hr
    for part in name.split("."):
        reached = getattr(reached, part)
    assert reached is value


def test_a_name_that_is_not_public_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        hr.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="initializers.*nonsense"):
        hr.initializers.nonsense  # noqa: B018
    assert "placeholder" in dir(hr) and "initializers" in dir(hr)


def test_importing_loads_neither_protobuf_nor_the_op_families():
    code = (
        "import sys, headrace.graph as hr; "
        "loaded = [m for m in sys.modules if m.startswith(('google', 'headrace.graph.ops.'))]; "
        "print(loaded)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
