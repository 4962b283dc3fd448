"""Finds NVIDIA's OpenCL driver, also where no .icd file names it, as in many containers."""

from __future__ import annotations

import ctypes.util
import glob
import os
import subprocess
from pathlib import Path

FOLDERS = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/local/cuda/compat",
    "/usr/lib/wsl/lib",
]
LIBRARY = "libnvidia-opencl.so*"


def find_driver() -> Path | None:
    """NVIDIA's OpenCL library: in the usual folders, or where the linker looks."""
    found = [p for folder in FOLDERS for p in glob.glob(f"{folder}/{LIBRARY}")]
    if not found:
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
        found = [line.split()[-1] for line in listed.splitlines() if "libnvidia-opencl" in line]
    return Path(sorted(found, key=len)[0]) if found else None


def registered() -> list[Path]:
    """The .icd files that OpenCL's loader reads."""
    named = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
    return sorted(Path(named).glob("*.icd")) if Path(named).is_dir() else [Path(named)]


def register(driver: Path, folder: Path) -> None:
    """Makes the loader read the driver besides what it read before.

    A folder is written for this process and its children: OCL_ICD_VENDORS takes no list.
    """
    lines = {str(driver)}
    for icd in registered():
        if icd.is_file():
            lines |= set(icd.read_text().split())
    for i, line in enumerate(sorted(lines)):
        (folder / f"{i}.icd").write_text(line + "\n")
    os.environ["OCL_ICD_VENDORS"] = str(folder)


def loader() -> str | None:
    """OpenCL's loader, by a name that can be opened."""
    return ctypes.util.find_library("OpenCL") or _bundled_loader()


def _bundled_loader() -> str | None:
    for folder in map(Path, __import__("sys").path):
        for found in sorted((folder / "pyopencl.libs").glob("libOpenCL*.so*")):
            return str(found)
    return None
