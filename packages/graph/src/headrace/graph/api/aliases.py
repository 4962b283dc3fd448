"""Further names of public objects: the modules of `contrib`, and TensorFlow's inner modules.

A table maps a namespace to the names in it, each written as one of

    "nn.relu"       `relu` in the namespace
    "abs=math.abs"  under another name
    "nn.*"          all names directly in the namespace nn
    "cond=@control_flow.cond:cond"  an attribute of a module

A public name that does not exist (yet) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph.api.contrib_aliases import CONTRIB_ALIASES
from headrace.graph.api.inner_modules import INNER_MODULES

ALIASES = {**CONTRIB_ALIASES, **INNER_MODULES}


def expand(public: Mapping[str, str], aliases: Mapping[str, str] = ALIASES) -> dict[str, str]:
    """Returns the rows of the aliases, in the form of public_names.PUBLIC.

    Args:
      public: rows that aliases refer to.
      aliases: names by namespace. Tables further down may use the names of tables above.
    """
    found: dict[str, str] = {}
    for space, words in aliases.items():
        for word in words.split():
            new, _, name = word.rpartition("=")
            if name.startswith("@"):
                found[f"{space}.{new}"] = name[1:]
                continue
            if name.endswith(".*"):
                prefix = name[:-1]
                names = [
                    key
                    for key in (*public, *found)
                    if key.startswith(prefix) and "." not in key[len(prefix) :]
                ]
            else:
                names = [name]
            for key in names:
                target = public.get(key) or found.get(key)
                last = key.rpartition(".")[2]
                if target is not None:
                    found.setdefault(f"{space}.{new or last}", _named(target, last))
    return found


def missing(public: Mapping[str, str], aliases: Mapping[str, str] = ALIASES) -> list[str]:
    """Returns the names that aliases refer to and that do not exist."""
    known = {**public, **expand(public, aliases)}
    words = [word.rpartition("=")[2] for text in aliases.values() for word in text.split()]
    words = [word for word in words if not word.startswith("@")]
    prefixes = {key.rpartition(".")[0] for key in known}
    return sorted(
        {w for w in words if (w[:-2] not in prefixes if w.endswith(".*") else w not in known)}
    )


def _named(target: str, name: str) -> str:
    """Returns a row's target with the attribute written out, for use under another name."""
    return target if ":" in target else f"{target}:{name}"
