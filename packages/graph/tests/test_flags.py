"""hr.flags parses a command line; hr.app.run passes the remaining arguments to main."""

from __future__ import annotations

import sys

import pytest

from headrace.graph.platform import flags


@pytest.fixture
def values():
    result = flags.FlagValues()
    flags.DEFINE_string("name", "n", "a name", flag_values=result)
    flags.DEFINE_integer("count", 3, "how many", lower_bound=0, flag_values=result)
    flags.DEFINE_float("rate", None, "how fast", flag_values=result)
    flags.DEFINE_boolean("fast", True, "whether", flag_values=result)
    flags.DEFINE_enum("kind", "a", ["a", "b"], "which", flag_values=result)
    flags.DEFINE_list("parts", "x,y", "some", flag_values=result)
    flags.DEFINE_multi_integer("sizes", [1], "several", flag_values=result)
    return result


def test_flags_are_parsed_and_remaining_arguments_returned(values):
    rest = values(["p", "--name=q", "--count", "0x10", "one", "--nofast", "-rate=1e-3", "--kind=b",
                   "--parts=u, v", "--sizes=4", "--sizes=5", "--", "--name=r"])  # fmt: skip
    assert rest == ["p", "one", "--name=r"]
    assert values.flag_values_dict() == {
        "name": "q", "count": 16, "fast": False, "rate": 1e-3, "kind": "b", "parts": ["u", "v"],
        "sizes": [4, 5],
    }  # fmt: skip


def test_the_first_access_parses_the_command_line(values, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["p", "--name=q", "--other=1", "--count", "4", "--more", "x"])
    assert "count" in values and not values.is_parsed()
    assert (values.count, values.name) == (4, "q") and values.is_parsed()
    listed = getattr(values, "__flags")
    assert {name: flag.value for name, flag in listed.items()} == values.flag_values_dict()
    monkeypatch.setattr(sys, "argv", ["p", "--count=x"])
    values.unparse_flags()
    with pytest.raises(flags.IllegalFlagValueError, match="--count=x"):
        _ = values.name


def test_flags_have_their_values_after_parsing(values):
    values(["p"])
    assert (values.name, values.count, values.rate, values.fast) == ("n", 3, None, True)
    assert (values.parts, values.sizes) == (["x", "y"], [1])
    values.count = 7
    assert values.count == 7
    with pytest.raises(flags.UnrecognizedFlagError, match="Unknown command line flag 'other'"):
        values.other = 1
    with pytest.raises(AttributeError):
        values.another = 1


@pytest.mark.parametrize(
    ("word", "error"),
    [("--count=x", flags.IllegalFlagValueError), ("--count=-1", flags.IllegalFlagValueError),
     ("--kind=c", flags.IllegalFlagValueError), ("--fast=maybe", flags.IllegalFlagValueError),
     ("--unknown", flags.UnrecognizedFlagError), ("--name", flags.Error)],
)  # fmt: skip
def test_invalid_flag_values_raise(values, word, error):
    with pytest.raises(error):
        values(["p", word])


def test_duplicate_flag_raises(values):
    with pytest.raises(flags.DuplicateFlagError, match="'name' is defined twice"):
        flags.DEFINE_string("name", "", "", flag_values=values)


def test_required_flags_and_validators(values):
    flags.mark_flag_as_required("rate", values)
    with pytest.raises(flags.IllegalFlagValueError, match="must have a value"):
        values(["p"])
    flags.register_validator("count", lambda n: n % 2 == 1, "must be odd", values)
    with pytest.raises(flags.IllegalFlagValueError, match="count=4: must be odd"):
        values(["p", "--rate=1", "--count=4"])


def test_run_parses_flags_calls_main_and_exits_with_its_result(monkeypatch, capsys):
    monkeypatch.setattr(flags, "FLAGS", flags.FlagValues())
    flags.DEFINE_string("who", "me", "", flag_values=flags.FLAGS)
    seen = []
    with pytest.raises(SystemExit) as left:
        flags.run(lambda argv: seen.append((argv, flags.FLAGS.who)), ["p", "--who=you", "x"])
    assert left.value.code is None and seen == [(["p", "x"], "you")]
    with pytest.raises(SystemExit) as left:
        flags.run(print, ["p", "--no_such"])
    assert left.value.code == 1 and "no_such" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        flags.run(print, ["p", "--help"])
    assert "--who" in capsys.readouterr().out
