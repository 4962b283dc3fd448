"""HParams: typed values, parsed from text and JSON."""

from __future__ import annotations

import copy
import pickle

import pytest

from headrace.graph.contrib.training.hparam import HParams, parse_values


def made() -> HParams:
    return HParams(rate=0.1, units=100, names=["a", "b"], deep=True, kind="lstm", empty=None)


def test_values_are_attributes() -> None:
    h = made()
    assert (h.rate, h.units, h.names, h.deep) == (0.1, 100, ["a", "b"], True)
    assert h.values()["kind"] == "lstm" and "rate" in h and "other" not in h
    assert h.get("units") == 100 and h.get("other", 3) == 3
    assert str(HParams(a=1, b="x")) == "a=1,b=x" and repr(HParams(b=2, a=1)) == (
        "HParams([('a', 1), ('b', 2)])"
    )
    with pytest.raises(AttributeError, match="other"):
        h.other  # noqa: B018


def test_a_text_sets_values() -> None:
    h = made().parse("rate=1e-3,units=7, names=[x, y z],deep=false,kind=gru")
    assert h.values() == {
        "rate": 1e-3,
        "units": 7,
        "names": ["x", "y", "z"],
        "deep": False,
        "kind": "gru",
        "empty": None,
    }
    assert made().parse("deep=1").deep is True


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("units=1.5", "Could not parse hparam 'units' of type 'int' with value '1.5'"),
        ("deep=maybe", "Could not parse hparam 'deep'"),
        ("other=1", "Unknown hyperparameter type for other"),
        ("rate", "Malformed hyperparameter value: rate"),
        ("units=1,units=2", "Multiple assignments to variable 'units'"),
        ("names=a", "Must pass a list for multi-valued parameter: names"),
        ("units=[1,2]", "Must not pass a list for single-valued parameter: units"),
        ("names[0]=[1,2]", "Assignment of a list to a list index"),
    ],
)
def test_an_invalid_text_is_rejected(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("[", r"\[")):
        made().parse(text)


def test_elements_are_parsed_by_index() -> None:
    kinds = {"a": int, "b": float}
    assert parse_values("a[1]=3,b=[1,2.5],a[0]=4", kinds) == {"a": {1: 3, 0: 4}, "b": [1.0, 2.5]}
    assert parse_values("c=1,a=2", kinds, ignore_unknown=True) == {"a": 2}
    for twice in ("a[1]=1,a[1]=2", "a=1,a[0]=2", "a[0]=2,a=1"):
        with pytest.raises(ValueError, match="Multiple assignments"):
            parse_values(twice, kinds)


def test_values_keep_their_types() -> None:
    h = made()
    h.set_hparam("rate", 1)
    assert h.rate == 1.0 and type(h.rate) is float
    h.empty = None
    for name, value in (("units", 1.0), ("units", True), ("deep", 1), ("kind", 3), ("rate", "x")):
        with pytest.raises(ValueError, match=f"Could not cast hparam '{name}'"):
            h.set_hparam(name, value)
    with pytest.raises(KeyError):
        h.set_hparam("other", 1)
    with pytest.raises(ValueError, match="incompatible with default"):
        h.get("units", "x")
    with pytest.raises(ValueError, match="incompatible with default"):
        h.get("names", "x")


def test_values_are_added_and_removed() -> None:
    h = made()
    h.add_hparam("more", (1, 2))
    with pytest.raises(ValueError, match="Hyperparameter name is reserved: values"):
        h.add_hparam("values", 1)
    with pytest.raises(ValueError, match="cannot be empty"):
        h.add_hparam("none", [])
    h.del_hparam("more")
    h.del_hparam("more")
    assert "more" not in h and not hasattr(h, "more")
    h.set_model_structure("s")
    assert h.get_model_structure() == "s"
    with pytest.raises(NotImplementedError, match="parse_json"):
        HParams(hparam_def=object())


def test_values_pass_through_json_and_copies() -> None:
    h = HParams(a=1, b=[0.5, 2.0], c="x")
    assert HParams(a=0, b=[1.0], c="").parse_json(h.to_json()).values() == h.values()
    assert h.to_json(sort_keys=True, separators=(",", ":")) == '{"a":1,"b":[0.5,2.0],"c":"x"}'
    assert copy.deepcopy(h).values() == pickle.loads(pickle.dumps(h)).values() == h.values()
    assert h.override_from_dict({"a": 5}) is h and h.set_from_map({"a": 6}).a == 6
