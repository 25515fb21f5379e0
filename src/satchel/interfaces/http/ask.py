"""A request of a local program, validated member by member, and the facts that it sent of its machine."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from inspect import Parameter, signature, unwrap
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from satchel.base.clock import Clock
from satchel.base.errors import Conflict, InvalidInput
from satchel.base.machine import NEEDED
from satchel.base.records import NamedTuple
from satchel.base.text import check_name
from satchel.base.wire import error_of, packed, unpacked
from satchel.brief.briefing.records import BriefingRequest
from satchel.client import check_default_run
from satchel.interfaces.http.access import Access
from satchel.interfaces.http.public import DRY_RUN
from satchel.interfaces.mcp.schema import Schema, check_arguments, excerpt
from satchel.interfaces.operations.declaration import Operation, schema_of
from satchel.interfaces.operations.parameters import DETAIL
from satchel.keep.citations import COMPARED
from satchel.keep.files.places import Place
from satchel.store import kept_calls
from satchel.store.transaction import Transaction

_MAX_KEY_CHARS = 64


class Ask(NamedTuple):
    """A request of a local program, as received."""

    access: Access
    name: str
    fields: Mapping[str, Any]

    def member(self, name: str, kind: Any) -> Any:
        """Return a member of the request, or an empty value if it is missing."""
        value = self.fields.get(name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise malformed(name)
        return value

    def key(self) -> str:
        """Return the program's key for the call, or an empty text."""
        key = str(self.member("key", str))
        if len(key) > _MAX_KEY_CHARS or not key.isascii():
            raise malformed("key")
        return key

    def durable_key(self) -> bytes | None:
        """Return the key under which the store records the call, unique per token; None if the call has no key."""
        key = self.key()
        return blake2b(key.encode(), key=self.access.token.encode()[:64], digest_size=16).digest() if key else None

    def standing(self) -> Mapping[str, Any]:
        standing: dict[str, Any] = self.member("standing", dict)
        if not all(value is None or isinstance(value, (str, bool)) for value in standing.values()):
            raise malformed("standing")
        for name in ("agent", "run", "project", "root", "worktree", "host", "machine"):
            if isinstance(standing.get(name), bool):
                raise malformed(f"standing.{name}")
        check_default_run(standing.get("run"))
        if standing.get("agent") is not None:
            check_name(standing["agent"], "agent")
        return standing


def malformed(what: str) -> InvalidInput:
    """Return the error for a part of a call that no local program would send."""
    return InvalidInput(f"{what} of the call is malformed", "Use the satchel program to call the server")


def are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


_VERSIONS = "Server and local program need the same version"
# Parameters that interfaces read themselves, where an operation does not pass them on.
_OF_INTERFACES = frozenset({DETAIL.name, "tokens"})


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
    declared = {one.passed_as or one.name: one for one in operation.parameters if one.name not in not_passed}
    declared |= {DRY_RUN.name: DRY_RUN} if operation.asks else {}
    # the choices are left to the service, whose errors are the same as without a server
    return schema_of(one.but(name=name, choices=(), for_people=False) for name, one in declared.items())


def check_fit(method: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Check arguments against the signature of a method and its annotations, as far as these can be read."""
    declared = signature(method)
    try:
        bound = declared.bind(*arguments, **named).arguments
    except TypeError as error:
        raise InvalidInput(f"the call has other arguments ({error})", _VERSIONS) from None
    names = getattr(unwrap(method), "__globals__", {})
    kinds = {name: _evaluated(one.annotation, names) for name, one in declared.parameters.items()}
    for name, one in declared.parameters.items():
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


MAX_FACTS = 10_000
_MOST_TREES, _MOST_KEPT = 100, 1_000
_PLACE = packed(Place("", None))["$r"]

# What was seen, by the function and the arguments: an ``answer``, or an ``error``.
Facts = Mapping[str, Mapping[str, Any]]


class Recorded:
    """Facts that outlive a call, for the last 100 working trees that called. Thread-safe.

    They hold the comparison of citations from the session start, and the processes that have ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: OrderedDict[tuple[str, ...], Facts] = OrderedDict()

    def of(self, tree: tuple[str, ...], sent: Facts) -> Facts:
        """Return the facts about a tree; newly sent ones replace the recorded ones."""
        lasting = {
            key: fact
            for key, fact in sent.items()
            if key.startswith(COMPARED) or (key.startswith("is_alive") and fact.get("answer") is False)
        }
        with self._lock:
            if sent:
                self._facts[tree] = dict([*lasting.items()][:_MOST_KEPT])
            if tree in self._facts:
                self._facts.move_to_end(tree)
            while len(self._facts) > _MOST_TREES:
                self._facts.popitem(last=False)
            return sent or self._facts.get(tree, {})


class KeptBefore(BaseException):
    """A repeated call whose first run was saved; nothing is saved twice."""


class CallerElsewhere:
    """A remote caller, for one run of one call: see :mod:`satchel.base.machine`.

    Attributes:
        is_kept: whether the call has saved anything.
        is_done: whether the call's work is done; later writes are not part of it.
    """

    def __init__(self, facts: Facts, project: str, key: bytes | None, clock: Clock) -> None:
        self._facts = facts
        self._project = project
        self._call = key
        self._clock = clock
        self._is_beside = False
        self.is_kept = False
        self.is_done = False

    def fact(self, name: str, arguments: tuple[Any, ...], unknown: Any = None) -> Any:
        """Return a fact from the caller's machine, or ``unknown`` if it was not sent."""
        fact = self._facts.get(_key(name, packed(list(arguments))))
        if fact is None:
            if unknown is NEEDED:
                raise Conflict(
                    f"the call does not say what {name} sees on your machine",
                    "Bring server and local program to the same version",
                )
            return unknown
        if "error" in fact:
            raise error_of(fact["error"])
        return unpacked(fact.get("answer"))

    @contextmanager
    def beside_the_call(self) -> Iterator[None]:
        """Exclude writes within the block from those of the call."""
        self._is_beside = True
        try:
            yield
        finally:
            self._is_beside = False

    def before_commit(self, transaction: Transaction) -> None:
        """Save the key of the call in its transaction."""
        if self._call is None or self.is_kept or self.is_done or self._is_beside:
            return
        if not kept_calls.keep(transaction, self._project, self._call, self._clock()):
            raise KeptBefore

    def after_commit(self) -> None:
        """Record that the call has written something."""
        self.is_kept = self.is_kept or not (self.is_done or self._is_beside)


def read_facts(sent: list[Any], known_as: Callable[[str | None], str | None]) -> dict[str, Mapping[str, Any]]:
    if len(sent) > MAX_FACTS:
        raise InvalidInput(f"{len(sent):,} facts were sent", f"At most {MAX_FACTS:,} are taken")

    def renamed(value: Any) -> Any:
        if not isinstance(value, dict) or value.get("$r") != _PLACE or value.get("is_key"):
            return value
        worktree = value.get("worktree")
        if not isinstance(worktree, str | None):
            raise malformed("a fact")
        return {**value, "worktree": known_as(worktree)}

    facts: dict[str, Mapping[str, Any]] = {}
    for fact in sent:
        if not (isinstance(fact, list) and len(fact) == 3 and isinstance(fact[1], list) and isinstance(fact[2], dict)):
            raise malformed("a fact")
        name, arguments, result = fact
        facts[_key(name, [renamed(one) for one in arguments])] = {key: renamed(value) for key, value in result.items()}
    return facts


def _key(name: str, arguments: list[Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"
