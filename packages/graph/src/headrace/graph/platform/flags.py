"""Command-line flags (hr.flags), and the start of programs (hr.app)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn


class Error(Exception):
    """Base class of errors of flags."""


class DuplicateFlagError(Error):
    """Two flags have the same name."""


class IllegalFlagValueError(Error):
    """The value of a flag is invalid."""


class UnparsedFlagAccessError(Error):
    """A flag was accessed before the command line was parsed."""


class UnrecognizedFlagError(Error):
    """The command line has an undefined flag."""


class UnknownFlagError(UnrecognizedFlagError, AttributeError):
    """The program sets a flag that it has not defined."""


class _Flag:
    """A flag: its parser, default and value."""

    __slots__ = ("default", "help", "is_bool", "multi", "name", "parse", "present", "value")

    def __init__(
        self, name: str, default: Any, help: str | None, parse: Callable[[str], Any],  # noqa: A002
        is_bool: bool = False, multi: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.help = help or ""
        self.parse = parse
        self.is_bool = is_bool
        self.multi = multi
        self.default = self.value = self._converted(default)
        self.present = 0

    def _converted(self, value: Any) -> Any:
        if value is None:
            return None
        if self.multi:
            values = value if isinstance(value, (list, tuple)) else [value]
            return [self.convert(v) for v in values]
        return self.convert(value)

    def convert(self, value: Any) -> Any:
        """Parses a value of the command line or program. Raises: IllegalFlagValueError."""
        try:
            return self.parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from None


class FlagValues:
    """The flags of a program as attributes; `FLAGS(argv)` parses a command line.

    The first access to a flag parses sys.argv, unless a command line was parsed before; flags that
    are not defined are left alone then. `FLAGS.__flags` is a dict of the flags.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_validators"] = []

    def _define(self, flag: _Flag) -> None:
        if flag.name in self._flags:
            raise DuplicateFlagError(f"The flag '{flag.name}' is defined twice.")
        self._flags[flag.name] = flag

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":
            return dict(self._flags)
        flag = self._flags.get(name)
        if flag is None:
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv, known_only=True)
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags:
            raise UnknownFlagError(f"Unknown command line flag '{name}': define it first")
        self._flags[name].value = value
        self._check([name])

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        del self._flags[name]

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._flags))

    def __len__(self) -> int:
        return len(self._flags)

    def __getitem__(self, name: str) -> Any:
        return self._flags[name]

    def __dir__(self) -> list[str]:
        return sorted(self._flags)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parses a command line; argv[0] is the program.

        Args:
          argv: the command line.
          known_only: return undefined flags among the remaining arguments.
        Returns: argv[0] and the arguments that are not flags.
        Raises: UnrecognizedFlagError for an undefined flag; IllegalFlagValueError for an invalid or
          missing value.
        """
        rest = list(argv[:1])
        words = list(argv[1:])
        seen: set[str] = set()
        while words:
            word = words.pop(0)
            if word == "--":
                rest += words
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            name, provided, value = word.lstrip("-").partition("=")
            flag, negated = self._flags.get(name), False
            if flag is None and name.startswith("no") and not provided:
                flag = self._flags.get(name[2:])
                negated = flag is not None and flag.is_bool
                flag = flag if negated else None
            if flag is None:
                if name in ("help", "h", "helpfull", "helpshort"):
                    self._show_help(rest[0] if rest else "")
                if not known_only:
                    raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
                rest.append(word)
                continue
            if flag.is_bool:
                value = "false" if negated else value if provided else "true"
            elif not provided:
                if not words:
                    raise Error(f"Missing value for flag {word}")
                value = words.pop(0)
            self._set_flag(flag, value, seen)
        self.__dict__["_parsed"] = True
        self._check(list(self._flags))
        return rest

    def _set_flag(self, flag: _Flag, value: str, seen: set[str]) -> None:
        if flag.multi:
            before = flag.value if flag.name in seen and flag.value else []
            flag.value = [*before, flag.convert(value)]
        else:
            flag.value = flag.convert(value)
        flag.present += 1
        seen.add(flag.name)

    def _show_help(self, program: str) -> NoReturn:
        print(f"USAGE: {program} [flags]\n{self.get_help()}")
        raise SystemExit(1)

    def get_help(self, prefix: str = "", include_special_flags: bool = True) -> str:
        """Returns a help text with one line per flag."""
        lines = []
        for name in self:
            flag = self._flags[name]
            shown = f"--[no]{name}" if flag.is_bool else f"--{name}"
            lines.append(f"{prefix}  {shown}: {flag.help} (default: {flag.default!r})")
        return "\n".join(lines)

    def _check(self, names: list[str]) -> None:
        for name, check, message in self._validators:
            if name in names and name in self._flags and not check(self._flags[name].value):
                raise IllegalFlagValueError(f"flag --{name}={self._flags[name].value}: {message}")

    def is_parsed(self) -> bool:
        """Returns whether a command line has been parsed."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Allows access to defaults without parsing a command line."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Resets the parsed state."""
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict[str, Any]:
        """Returns a dict from names to values."""
        return {name: flag.value for name, flag in self._flags.items()}


FLAGS = FlagValues()


def _number(kind: type, lower: Any, upper: Any) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if isinstance(value, bool):
            raise TypeError(f"expected a number, got {value!r}")
        number = int(value, 0) if kind is int and isinstance(value, str) else kind(value)
        if (lower is not None and number < lower) or (upper is not None and number > upper):
            raise ValueError(f"must be within [{lower}, {upper}]")
        return number

    return parse


def _truth(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in ("true", "t", "1"):
            return True
        if value.lower() in ("false", "f", "0"):
            return False
        raise ValueError("Non-boolean argument to boolean flag")
    return bool(value)


def _one_of(enum_values: Any, case_sensitive: bool = True) -> Callable[[Any], Any]:
    known = list(enum_values)

    def parse(value: Any) -> Any:
        for one in known:
            if value == one or (not case_sensitive and str(value).lower() == str(one).lower()):
                return one
        raise ValueError(f"value should be one of <{'|'.join(map(str, known))}>")

    return parse


def _comma_list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value else []
    return list(value)


def DEFINE_string(  # noqa: N802 - TF's name
    name: str,
    default: str,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    **_: Any,  # noqa: A002
) -> None:
    """Defines a flag with a string value."""
    flag_values._define(_Flag(name, default, help, str))


def DEFINE_integer(  # noqa: N802 - TF's name
    name: str, default: int | str, help: str | None, lower_bound: float | None = None,  # noqa: A002
    upper_bound: float | None = None, flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Defines a flag with an integer value within bounds."""
    flag_values._define(_Flag(name, default, help, _number(int, lower_bound, upper_bound)))


def DEFINE_float(  # noqa: N802 - TF's name
    name: str, default: float | str, help: str | None, lower_bound: float | None = None,  # noqa: A002
    upper_bound: float | None = None, flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Defines a flag with a float value within bounds."""
    flag_values._define(_Flag(name, default, help, _number(float, lower_bound, upper_bound)))


def DEFINE_boolean(  # noqa: N802 - TF's name
    name: str,
    default: bool | str | int,
    help: str | None,
    flag_values: FlagValues = FLAGS,
    **_: Any,  # noqa: A002
) -> None:
    """Defines a boolean flag: --name or --noname."""
    flag_values._define(_Flag(name, default, help, _truth, is_bool=True))


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(  # noqa: N802 - TF's name
    name: str, default: str, enum_values: Sequence[str], help: str | None,  # noqa: A002
    flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Defines a flag with one of several string values."""
    flag_values._define(_Flag(name, default, help, _one_of(enum_values)))


def DEFINE_list(  # noqa: N802 - TF's name
    name: str,
    default: str | Sequence[str],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    **_: Any,  # noqa: A002
) -> None:
    """Defines a flag with a comma-separated list."""
    flag_values._define(_Flag(name, default, help, _comma_list))


def DEFINE_multi_string(  # noqa: N802 - TF's name
    name: str,
    default: str | Sequence[str],
    help: str | None,
    flag_values: FlagValues = FLAGS,
    **_: Any,  # noqa: A002
) -> None:
    """Defines a flag that may be repeated: a list of strings."""
    flag_values._define(_Flag(name, default, help, str, multi=True))


def DEFINE_multi_integer(  # noqa: N802 - TF's name
    name: str, default: int | str | Sequence[int | str],
    help: str | None,  # noqa: A002
    lower_bound: float | None = None,
    upper_bound: float | None = None, flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Defines a flag that may be repeated: a list of integers."""
    parse = _number(int, lower_bound, upper_bound)
    flag_values._define(_Flag(name, default, help, parse, multi=True))


def DEFINE_multi_float(  # noqa: N802 - TF's name
    name: str, default: float | str | Sequence[float | str],
    help: str | None,  # noqa: A002
    lower_bound: float | None = None,
    upper_bound: float | None = None, flag_values: FlagValues = FLAGS, **_: Any,
) -> None:  # fmt: skip
    """Defines a flag that may be repeated: a list of floats."""
    parse = _number(float, lower_bound, upper_bound)
    flag_values._define(_Flag(name, default, help, parse, multi=True))


def register_validator(
    flag_name: str,
    checker: Callable[[Any], bool],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Registers a check of a flag's value, run after parsing and when it is set."""
    flag_values._validators.append((flag_name, checker, message))


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Makes a flag required. Raises: KeyError for an unknown flag."""
    if flag_name not in flag_values:
        raise KeyError(flag_name)
    register_validator(
        flag_name,
        lambda value: value is not None,
        f"Flag --{flag_name} must have a value other than None.",
        flag_values,
    )


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Makes flags required."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def run(main: Callable[..., Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Parses the flags, calls main with the remaining arguments, and exits with its result.

    Args:
      main: `main(argv)`; by default that of the `__main__` module.
      argv: command line; sys.argv by default.
    """
    main = main or sys.modules["__main__"].main
    try:
        rest = FLAGS(sys.argv if argv is None else argv)
    except Error as error:
        print(f"FATAL Flags parsing error: {error}\nPass --help to see all flags.", file=sys.stderr)
        raise SystemExit(1) from None
    raise SystemExit(main(rest))
