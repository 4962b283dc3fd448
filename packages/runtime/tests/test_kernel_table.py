"""Which kernel libraries the runtime accepts, and the error for an op without a kernel.

Modules: kernels/kernel_table, kernels/kernel_registry, memory/kernel_abi.
"""

from __future__ import annotations

import pytest
import stub_kernels

from headrace.formats import errors


def test_library_of_another_abi_is_rejected_with_both_numbers():
    with pytest.raises(
        errors.FailedPreconditionError, match="'stub' has kernel ABI 1, this runtime has 2"
    ):
        stub_kernels.add([stub_kernels.registration("NoOp")], abi=1)


def _no_kernel_text(monkeypatch, installed):
    """The error of a program with an op that no kernel of the tests computes."""
    from headrace.formats import services
    from headrace.runtime.kernels import kernel_table

    monkeypatch.setattr(services, "service_names", lambda group: installed)
    return kernel_table.missing_kernel_text()


def test_without_kernel_libraries_the_error_says_which_package_to_install(monkeypatch):
    assert _no_kernel_text(monkeypatch, []) == (
        "no kernel library is installed: install headrace-kernels (in a checkout of Headrace: pip "
        "install ./packages/kernels)"
    )


def test_an_op_that_no_library_supports_is_reported_with_the_installed_ones(monkeypatch):
    assert _no_kernel_text(monkeypatch, ["cpu", "reference"]) == (
        "none of the installed kernel libraries (cpu, reference) has one"
    )
