"""The data formats that Headrace's packages share: messages, op catalogue, files, kernel ABI."""

from headrace.formats.headers import include_dir
from headrace.formats.reexports import lazy_attribute as __getattr__

__all__ = ["include_dir"]
