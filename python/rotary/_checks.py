# SPDX-License-Identifier: Apache-2.0
"""Checks a call's arguments against its annotations; messages name the parameter."""

from __future__ import annotations

import enum
import functools
import inspect
import json
import math
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rotary._errors import invalid

_NO_NUMBERS = (bool, np.bool_, str, bytes, np.complexfloating)


def shown(value: Any) -> str:
    """Returns a short value as text, else the name of its type."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"one of {value.bit_length()} bits"
    if value is None or isinstance(value, (int, float, np.bool_, np.number)):
        return str(value)
    if isinstance(value, str) and len(value) <= 40:
        return repr(value)
    return type(value).__name__


def _refusal(name: str, wanted: str, value: Any) -> TypeError:
    hint = (f"; a layer type is given as layer_type={shown(value)}"
            if name == "layer" and isinstance(value, str) else "")
    return TypeError(f"{name} must be {wanted}, got {shown(value)}{hint}")


def whole(value: Any, name: str) -> int:
    """Returns the value as an int of at most 64 bits."""
    if type(value) is not int:
        if isinstance(value, _NO_NUMBERS):
            raise _refusal(name, "a whole number", value)
        try:
            value = operator.index(value)
        except TypeError:
            raise _refusal(name, "a whole number", value) from None
    if not -2**63 <= value < 2**63:
        raise invalid(f"{name} must be from -2^63 to 2^63 - 1, got {shown(value)}")
    return value


def _real(value: Any, name: str) -> float:
    if type(value) is float:
        return value
    if isinstance(value, _NO_NUMBERS) or getattr(value, "ndim", 0):
        raise _refusal(name, "a number", value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _refusal(name, "a number", value) from None
    except OverflowError:
        raise invalid(f"{name} must be in float64's range, got {shown(value)}") from None


def truth(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _refusal(name, "True or False", value)
    return bool(value)


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _refusal(name, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(f"{name} must be text that UTF-8 can encode, got "
                      f"{ascii(value[:40])}") from None
    return value


def chosen(table: Mapping[str, Any], key: Any, name: str) -> Any:
    """Returns the table's entry for the key. Messages list the keys."""
    try:
        return table[key]
    except (KeyError, TypeError):
        raise invalid(f"{name} must be one of {', '.join(map(str, table))}, got "
                      f"{shown(key)}") from None


def _anything(value: Any, name: str) -> Any:
    return value


_Check = Callable[[Any, str], Any]
_PLAIN: dict[Any, _Check] = {int: whole, float: _real, bool: truth, str: text, Any: _anything}
_T = typing.TypeVar("_T")


def _check_of_class(kinds: tuple[type, ...]) -> _Check:
    kinds = tuple(typing.get_origin(kind) or kind for kind in kinds)
    # A caller may pass Parameters as a dict and an enumerator by its name.
    taken = tuple(Mapping if issubclass(kind, Mapping) else
                  str if issubclass(kind, enum.Enum) else kind for kind in kinds)

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, taken) or isinstance(value, str) and str not in taken:
            names = [kind.__name__ for kind in kinds] + ["dict"] * (Mapping in taken)
            raise _refusal(name, f"of type {' or '.join(names)}", value)
        return text(value, name) if isinstance(value, str) else value

    return check


def _check_of(hint: Any) -> _Check:
    parts = typing.get_args(hint)
    if type(None) in parts:
        rest = _check_of(typing.Union[tuple(part for part in parts if part is not type(None))])
        if rest is _anything:  # CPython 3.10 reads the hint of x: Any = None as Optional[Any]
            return rest
        return lambda value, name: None if value is None else rest(value, name)
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return text  # the function checks the value
    if not isinstance(origin, type) or issubclass(origin, types.UnionType):
        return _check_of_class(parts or (hint,))
    outer = _check_of_class((origin,))
    if issubclass(origin, Mapping):
        return outer
    inner = _check_of(parts[0])
    return lambda value, name: tuple(inner(each, name) for each in outer(value, name))


# Checks of positional arguments (index, name, check), of named arguments, and of **kwargs.
_Checks = tuple[list[tuple[int, str, _Check]], dict[str, _Check], _Check]


def _checks_of(target: Callable) -> _Checks:
    hints = typing.get_type_hints(target)
    parameters = inspect.signature(target).parameters.values()
    by_name = {each.name: _check_of(hints.get(each.name, Any)) for each in parameters}
    by_place = [(place, each.name, by_name[each.name]) for place, each in enumerate(parameters)
                if each.kind is each.POSITIONAL_OR_KEYWORD]
    if all(check is _anything for _, _, check in by_place):
        by_place = []
    others = [by_name[each.name] for each in parameters if each.kind is each.VAR_KEYWORD]
    return by_place, by_name, others[0] if others else _anything


def checked(target: _T) -> _T:
    """Wraps a function, or a class's __init__, to check arguments against the annotations."""
    if isinstance(target, type):
        target.__init__ = checked(target.__init__)  # type: ignore[misc]
        return target

    found: _Checks | None = None  # made at the first call, when all annotated classes exist

    @functools.wraps(target)  # type: ignore[arg-type]
    def call(*given: Any, **named: Any) -> Any:
        nonlocal found
        if found is None:
            found = _checks_of(target)  # type: ignore[arg-type]
        by_place, by_name, others = found
        if by_place and given:
            changed = list(given)
            for place, name, check in by_place[:len(given)]:
                changed[place] = check(given[place], name)
            given = tuple(changed)
        for name, value in named.items():
            check = by_name.get(name, others)
            if check is not _anything:
                named[name] = check(value, name)
        return target(*given, **named)  # type: ignore[operator]

    return call  # type: ignore[return-value]


def json_text(value: Any, name: str) -> str:
    """Returns JSON text for dicts, lists, text and numbers, including NumPy's."""
    return json.dumps(plain(value, name))


def plain(value: Any, name: str) -> Any:
    """Converts a value to the types of JSON."""
    if isinstance(value, Mapping):
        return {text(key, f"a key of {name}"): plain(each, f"{name}.{key}")
                for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, f"{name}[{number}]") for number, each in enumerate(value)]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid(f"{name} must be finite, got {value}")
    if isinstance(value, int) and value.bit_length() > 64:
        raise invalid(f"{name} must fit in 64 bits, got {shown(value)}")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, str):
        raise _refusal(name, "a number, text, a list or a dict", value)
    return text(value, name)
