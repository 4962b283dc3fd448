"""pytest imports the modules of every test folder by their bare names into one process."""

from __future__ import annotations

from collections import Counter

from checkout import PACKAGES, ROOT


def test_modules_of_test_folders_have_names_of_their_own() -> None:
    for start in (ROOT / "tests", *(ROOT / "packages" / p / "tests" for p in PACKAGES)):
        folders = {path.parent for path in start.rglob("*.py")}
        # Folders with an __init__ are packages, which are imported from the folder above.
        roots = [f for f in folders if not (f / "__init__.py").exists()]
        modules = [path.stem for f in roots for path in f.glob("*.py") if path.stem != "conftest"]
        modules += [f.name for f in folders if (f / "__init__.py").exists()]
        twice = sorted(name for name, count in Counter(modules).items() if count > 1)
        assert twice == [], f"{start}: a test would import another folder's module of this name"
