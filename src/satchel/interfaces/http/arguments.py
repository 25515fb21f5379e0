"""Checks of the arguments of a local program's call, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, signature, unwrap
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from satchel.base.errors import InvalidInput
from satchel.brief.briefing.records import BriefingRequest
from satchel.interfaces.http.public import DRY_RUN
from satchel.interfaces.mcp.schema import Schema, check_arguments, excerpt
from satchel.interfaces.operations.declaration import Operation, schema_of
from satchel.interfaces.operations.parameters import DETAIL

_VERSIONS = "Server and local program need the same version"
_OF_INTERFACES = frozenset({DETAIL.name, "tokens"})
"""Parameters that interfaces read themselves, where an operation does not pass them on."""


def named_arguments(operation: Operation, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation, by their names in the service."""
    if arguments:
        raise InvalidInput(f"{operation.name} takes its arguments by name", _VERSIONS)
    return check_arguments(_schema(operation), _plain(named), operation.name)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"the names in {excerpt(value)} are not all text", _VERSIONS)
    return {name: _plain(one) for name, one in value.items()}


@cache
def _schema(operation: Operation) -> Schema:
    not_passed = {*operation.instead, *_OF_INTERFACES} - ({DETAIL.name} if operation.passes_detail else set())
    taken = {one.passed_as or one.name: one for one in operation.parameters if one.name not in not_passed}
    taken |= {DRY_RUN.name: DRY_RUN} if operation.asks else {}
    # the choices are left to the service, whose errors are the same as without a server
    return schema_of(one.but(name=name, choices=(), for_people=False) for name, one in taken.items())


def check_fit(method: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Check arguments against the signature of a method and its annotations, as far as these can be read."""
    taken = signature(method)
    try:
        bound = taken.bind(*arguments, **named).arguments
    except TypeError as error:
        raise InvalidInput(f"the call has other arguments ({error})", _VERSIONS) from None
    names = getattr(unwrap(method), "__globals__", {})
    kinds = {name: _evaluated(one.annotation, names) for name, one in taken.parameters.items()}
    for name, one in taken.parameters.items():
        if one.kind is Parameter.VAR_KEYWORD:  # of all methods only a briefing has it
            kinds |= get_type_hints(BriefingRequest)
            bound |= bound.pop(name, {})
    for name, value in bound.items():
        if name not in kinds:
            raise InvalidInput(f"the call has an unknown argument {excerpt(name)}", _VERSIONS)
        kind = kinds[name]
        if kind is not None and not _is_of(kind, value):
            raise InvalidInput(f"{name} must be {getattr(kind, '__name__', kind)}, not {excerpt(value)}", _VERSIONS)


def _evaluated(annotation: object, names: Mapping[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**names, "Sequence": Sequence})  # noqa: S307 -- an annotation of our own
    except NameError:  # imported for annotations only
        return None


def _is_of(kind: Any, value: object) -> bool:
    if kind is None or kind is type(None):
        return value is None
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return any(_is_of(one, value) for one in get_args(kind))
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Sequence:
        return isinstance(value, (list, tuple)) and all(_is_of(inner[0], one) for one in value)
    if origin is tuple:
        return isinstance(value, (list, tuple)) and len(value) == len(inner) and all(map(_is_of, inner, value))
    if origin in {int, float}:
        return not isinstance(value, bool) and isinstance(value, (int, float) if origin is float else int)
    return isinstance(value, origin)
