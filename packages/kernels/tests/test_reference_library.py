"""The reference library as the runtime sees it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from headrace.formats import op_catalogue
from headrace.formats.errors import NotFoundError
from headrace.kernels.reference import library


def test_every_kernel_is_in_the_file_or_folder_of_its_ops_family() -> None:
    from headrace.kernels.reference.library import _modules

    astray = {
        op: module
        for op, module in _modules().items()
        if module.split(".")[0] != op_catalogue.family(op)
    }
    assert not astray


def test_every_name_that_is_listed_can_be_made() -> None:
    from importlib import import_module

    from headrace.kernels.reference import registry
    from headrace.kernels.reference.library import _modules

    for module in set(_modules().values()):
        import_module(f"headrace.kernels.reference.ops.{module}")
    assert set(registry.factories) == set(library().ops())


def test_an_unknown_op_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="no kernel for Nonsense"):
        library().create("Nonsense", {})


def test_asking_what_there_is_imports_no_family() -> None:
    code = (
        "import sys; from headrace.kernels.reference import library; library().ops();"
        "print([m for m in sys.modules if m.endswith(('.elementwise', '.convolution'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_kernel_neither_changes_nor_keeps_its_inputs() -> None:
    x = np.arange(6.0)
    y = library().create("Identity", {})(x)
    assert not np.shares_memory(x, y)
