"""Every field of the kernel ABI is used by the runtime.

The runtime assigns what kernels are given, and reads what kernel libraries say. The tests search
the runtime's sources: they find a field that nothing uses, not one that is used wrongly.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
HEADER = PACKAGES / "formats/src/headrace/formats/include/headrace/kernel.h"
RUNTIME = PACKAGES / "runtime/src/headrace/runtime"
# From this field of hr_request on, the library sets the fields.
FIRST_OF_LIBRARY = "outputs"
FROM_RUNTIME = ("hr_node", "hr_ctx", "hr_ctx_api", "hr_request")
FROM_LIBRARIES = ("hr_variant_type", "hr_request", "hr_kernel", "hr_kernel_table")


@lru_cache(maxsize=1)
def _header() -> str:
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)


@lru_cache(maxsize=1)
def _sources() -> str:
    """Returns the runtime's code without comments and the Cython declarations of the header."""
    text = []
    for path in sorted(RUNTIME.rglob("*")):
        if path.suffix == ".pyx":
            code = re.sub(r'"""(?!\s*static|\s*#).*?"""', "", path.read_text(), flags=re.DOTALL)
            text.append(re.sub(r"#(?!include|define).*", "", code))
        elif path.suffix == ".hpp":
            text.append(re.sub(r"//.*", "", path.read_text()))
    return "\n".join(text)


def _struct_names() -> set[str]:
    return set(re.findall(r"\bstruct (hr_\w+) \{", _header()))


def _fields(struct: str) -> list[str]:
    body = re.search(rf"\bstruct {struct} \{{(.*?)\n\}}", _header(), re.DOTALL)
    assert body, struct
    names = []
    for declaration in body[1].split(";"):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        plain = re.findall(r"(\w+)(?:\[\w+\])?\s*(?=,|$)", declaration)
        names += [pointer[1]] if pointer else plain
    return names


def _cases(structs: tuple[str, ...], from_libraries: bool) -> list[tuple[str, str]]:
    cases = []
    for struct in structs:
        fields = _fields(struct)
        if struct == "hr_request":
            cut = fields.index(FIRST_OF_LIBRARY)
            fields = fields[cut:] if from_libraries else fields[:cut]
        cases += [(struct, field) for field in fields if not (from_libraries and field == "size")]
    return cases


@pytest.mark.parametrize(("struct", "field"), _cases(FROM_RUNTIME, from_libraries=False))
def test_runtime_sets_every_field_that_kernels_receive(struct, field):
    owner = r"\bctx" if struct == "hr_ctx" else ""
    assert re.search(rf"{owner}(?:\.|->){field}\s*=(?!=)", _sources()), (
        f"nothing sets {struct}.{field}"
    )


def test_runtime_sets_every_function_of_a_node():
    values = re.search(r"hr_node_api headrace_node_api = \{(.*?)\};", _sources(), re.DOTALL)
    assert values
    sources = re.findall(r"(?:attributes_detail::)?(sizeof|\w+)(?:\(\w+\))?,", values[1])
    assert [name.replace("get_", "attr_").replace("sizeof", "size") for name in sources] == _fields(
        "hr_node_api"
    )


@pytest.mark.parametrize(("struct", "field"), _cases(FROM_LIBRARIES, from_libraries=True))
def test_runtime_reads_every_field_of_a_kernel_table(struct, field):
    assert re.search(rf"(?:\.|->){field}\b(?!\s*=[^=])", _sources()), (
        f"nothing reads {struct}.{field}"
    )


@pytest.mark.parametrize("flag", re.findall(r"\bHR_KERNEL_(?!ABI|TABLE)\w+", _header()))
def test_runtime_handles_every_kernel_flag(flag):
    assert re.search(rf"flags\s*(?:&|!=|==)[^\n]*{flag}|{flag}[^\n]*\bflags\b", _sources()), (
        f"nothing reads {flag}"
    )


def test_every_struct_of_the_header_is_used_by_the_runtime():
    used = _sources() + "".join(re.findall(r"\bconst hr_variant_type\*", _header()))
    assert not {name for name in _struct_names() if not re.search(rf"\b{name}\b", used)}
