"""HParams: named values of a model, with their types."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

# One assignment: name, optional index, and a value or a list of values.
_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"((?P<val>[^,\[]*)|\[(?P<vals>[^\]]*)\])($|,\s*)"
)


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Parses a text such as "rate=0.1,sizes=[10,20],names[1]=b".

    Args:
      values: assignments, separated by commas.
      type_map: the type of each name, or of the elements of its list.
      ignore_unknown: skip names that type_map lacks.
    Returns: a value, a list, or for indexed assignments a dict {index: value}, by name.
    Raises: ValueError for an invalid text, an unknown name, or a repeated assignment.
    """
    results: dict[str, Any] = {}
    position = 0
    while position < len(values):
        found = _ASSIGNMENT.match(values, position)
        if not found:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = found.end()
        name = found["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        parse = _parser(name, type_map[name], values)
        if found["vals"] is not None:
            if found["index"] is not None:
                raise ValueError("Assignment of a list to a list index.")
            _once(name, results, values)
            results[name] = [parse(v) for v in re.split("[ ,]", found["vals"]) if v]
        elif found["index"] is None:
            _once(name, results, values)
            results[name] = parse(found["val"])
        else:
            elements = results.setdefault(name, {})
            if not isinstance(elements, dict):
                _once(name, results, values)
            index = int(found["index"])
            _once(index, elements, values, f"{name}[{index}]")
            elements[index] = parse(found["val"])
    return results


def _once(key: Any, found: Mapping[Any, Any], values: str, name: str | None = None) -> None:
    if key in found:
        raise ValueError(f"Multiple assignments to variable '{name or key}' in {values}")


def _parser(name: str, kind: type, values: str) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            if kind is not bool:
                return kind(text)
            if text in ("true", "True", "false", "False"):
                return text.lower() == "true"
            return bool(int(text))
        except ValueError:
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' "
                f"in {values}"
            ) from None

    return parse


def _converted(name: str, kind: type, value: Any) -> Any:
    """Converts a value to the type of a parameter, where this loses nothing.

    Raises: ValueError for another kind of value.
    """
    if type(value) is kind or kind is type(None):
        return value
    is_text = issubclass(kind, (str, bytes))
    if (
        (is_text and not isinstance(value, (str, bytes)))
        or issubclass(kind, bool) != isinstance(value, bool)
        or (issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral))
        or (issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number))
    ):
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


class HParams:
    """Named values of a model (hyperparameters), which are attributes of the object.

    The type of a value, or of the elements of a list, is that of its first value. A later value
    must have this type; an integer is accepted for a float.

    Args:
      hparam_def: not supported: the message of TensorFlow that holds such values.
      model_structure: any object, kept for the program.
      kwargs: the values.
    Raises: ValueError for a reserved name or an empty list; NotImplementedError for hparam_def.
    """

    def __init__(
        self, hparam_def: object = None, model_structure: object = None, **kwargs: Any
    ) -> None:
        if hparam_def is not None:
            raise NotImplementedError("HParams: hparam_def is not supported; use parse_json")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def add_hparam(self, name: str, value: object) -> None:
        """Adds a value. Raises: ValueError if the name is taken, or for an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        first = value[0] if is_list else value  # type: ignore[index]
        self._hparam_types[name] = (type(first), is_list)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: object) -> None:
        """Sets a value. Raises: KeyError for an unknown name; ValueError for another type."""
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_converted(name, kind, v) for v in value])
        elif is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        else:
            setattr(self, name, _converted(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a value, if it is there."""
        if self._hparam_types.pop(name, None) is not None:
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Sets values from a text; see parse_values. Returns: the object.

        Raises: ValueError for an invalid text, an unknown name or an element of a list.
        """
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Sets values. Returns: the object. Raises: as set_hparam."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> HParams:
        """Same as override_from_dict, its old name."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: object) -> None:
        """Sets the object that the program keeps here."""
        self._model_structure = model_structure

    def get_model_structure(self) -> object:
        """Returns the object that the program keeps here."""
        return self._model_structure

    def to_json(
        self,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """Returns the values as a JSON object; the arguments are those of json.dumps."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Sets values from a JSON object. Returns: the object. Raises: as set_hparam."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Returns the values by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: object = None) -> Any:
        """Returns a value, or the default if there is none.

        Raises: ValueError for a default of another type than the value.
        """
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None:
            text = (
                f"Hparam '{key}' of type '{f'list<{kind}>' if is_list else kind}' is incompatible "
                f"with default={default}"
            )
            if is_list != isinstance(default, list):
                raise ValueError(text)
            try:
                for value in default if isinstance(default, list) else [default]:
                    _converted(key, kind, value)
            except ValueError as error:
                raise ValueError(f"{text}. {error}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
