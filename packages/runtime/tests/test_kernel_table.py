"""Which kernel libraries the runtime takes."""

from __future__ import annotations

import pytest
import stub_kernels

from headrace.formats import errors


def test_library_of_another_abi_is_refused_with_both_numbers():
    with pytest.raises(errors.FailedPreconditionError, match="'stub' speaks ABI 1, this runtime 2"):
        stub_kernels.add([stub_kernels.row("NoOp")], abi=1)
