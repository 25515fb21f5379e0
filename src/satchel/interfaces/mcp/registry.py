"""The tools for agents: declared once, listed briefly, and run without letting exceptions escape."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, Generic, TypeGuard, TypeVar

from satchel.base.errors import AnswerLost, InvalidInput, SatchelError, system_error, unknown_name
from satchel.base.records import dataclass
from satchel.interfaces.mcp.call import INTERNAL_TEXT, Call, log_fault, notice_beside_error, reason_of
from satchel.interfaces.mcp.schema import MAX_SHOWN_CHARS, Schema, check_arguments

ServiceT = TypeVar("ServiceT")

ALL_TOOLSETS = "all"


@dataclass(frozen=True, slots=True)
class Tool(Generic[ServiceT]):
    """A tool: its listing for agents, and its handler."""

    name: str
    toolset: str
    title: str
    description: str
    parameters: Schema
    handler: Callable[Concatenate[Call[ServiceT], ...], str]
    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    reaches_out: bool = False
    found_by: str = ""
    always_shown: bool = False
    unlisted: frozenset[str] = frozenset()
    rare: Mapping[str, Collection[str]] = MappingProxyType({})
    required: tuple[str, ...] = ()

    def listing(self) -> dict[str, Any]:
        """Return the tool as in ``tools/list``.

        It has all four hints of ToolAnnotations (revisions 2025-03-26 and later): Codex asks a person before a write
        that lacks one of them. Claude Code reads the keys of ``_meta``. The listing does not say that unknown arguments
        are refused: the refusal suggests the nearest name. Of a union only the first type is listed, which can express
        everything; some hosts reject unions.
        """
        schema = {key: value for key, value in self.parameters.items() if key != "additionalProperties"}
        schema["properties"] = {
            name: _listed(inner, self.rare.get(name, ()))
            for name, inner in schema["properties"].items()
            if name not in self.unlisted
        }
        schema |= {"required": list(self.required)} if self.required else {}
        hints = {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.reaches_out,
        }
        meta: dict[str, Any] = {"anthropic/alwaysLoad": True} if self.always_shown else {}
        meta |= {"anthropic/searchHint": self.found_by} if self.found_by else {}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
            "annotations": {"title": self.title, **hints},
        } | ({"_meta": meta} if meta else {})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a tool call: its text, and whether it is an error."""

    text: str
    is_error: bool = False


class Registry(Generic[ServiceT]):
    """The tools of one server, in the order of their declaration."""

    def __init__(
        self,
        tools: Iterable[Tool[ServiceT]],
        toolsets: Iterable[str] = (ALL_TOOLSETS,),
        *,
        read_only: bool = False,
        choosing: Callable[[Tool[ServiceT]], str] | None = None,
    ) -> None:
        self._choosing = choosing or _at_the_start
        self._declared = {tool.name: tool for tool in tools}
        served = self._choose(toolsets)
        self.tools: dict[str, Tool[ServiceT]] = {
            tool.name: tool
            for tool in self._declared.values()
            if tool.toolset in served and (tool.read_only or not read_only)
        }

    def _choose(self, toolsets: Iterable[str]) -> set[str]:
        every = list(dict.fromkeys(tool.toolset for tool in self._declared.values()))
        names = set()
        for name in toolsets:
            if name == ALL_TOOLSETS:
                names.update(every)
            elif name in every:
                names.add(name)
            else:
                raise unknown_name("toolset", name, [*every, ALL_TOOLSETS])
        if not names:
            raise InvalidInput("no toolset is chosen", f"Valid: {', '.join([*every, ALL_TOOLSETS])}")
        return names

    def listing(self) -> list[dict[str, Any]]:
        """Return the tools as in ``tools/list``, each self-contained."""
        return [tool.listing() for tool in self.tools.values()]

    def tool(self, name: str) -> Tool[ServiceT]:
        tool = self.tools.get(name)
        if tool is not None:
            return tool
        left_out = self._declared.get(name)
        if left_out is not None:
            raise InvalidInput(f"tool {name!r} is not served here", self._choosing(left_out))
        raise unknown_name("tool", name[:MAX_SHOWN_CHARS], self.tools, suggestion=self._suggestion(name))

    def _suggestion(self, name: str) -> str | None:
        words = _words(name)
        shared = {tool.name: len(words & _words(f"{tool.name} {tool.found_by}")) for tool in self.tools.values()}
        most = max(shared.values(), default=0)
        best = [tool for tool, count in shared.items() if count == most]
        return best[0] if most and len(best) == 1 else None

    def run(self, tool: Tool[ServiceT], arguments: dict[str, object], call: Call[ServiceT]) -> Outcome:
        """Check the arguments and run the handler."""
        try:
            call.check()
            properties = tool.parameters["properties"]
            values = {name: value for name, value in arguments.items() if name != _EVERYWHERE or name in properties}
            if values.get(_AUTHOR) == _ME and _EVERYWHERE not in properties:
                values[_AUTHOR] = arguments.get(_EVERYWHERE, _ME)
            checked = check_arguments(tool.parameters, values, tool.name, unlisted=tool.unlisted)
            text = tool.handler(call, **checked)
            if not isinstance(text, str):
                raise TypeError(f"the handler returned {type(text).__name__}, not text")
        except Exception as error:  # noqa: BLE001 - the edge between a client and our faults
            return self._failed(tool, call, arguments, error)
        return Outcome(text)

    def _failed(
        self, tool: Tool[ServiceT], call: Call[ServiceT], arguments: Mapping[str, object], error: Exception
    ) -> Outcome:
        where = f"tool {tool.name}"
        if call.is_done and not tool.read_only:
            reason = call.hide(reason_of(error, where), getattr(error, "code", ""))
            return Outcome(
                f"done, but the answer could not be written: {reason}. Read it back instead of repeating the call"
            )
        if isinstance(error, AnswerLost) and not tool.read_only:
            return Outcome(str(error))
        if isinstance(error, OSError):
            error = system_error(error) or error
        if isinstance(error, SatchelError):
            line = None if call.cancelled() else notice_beside_error(call, arguments)
            problem = call.hide(str(error), error.code)
            text = f"error [{error.code}]: {problem}{'' if tool.read_only else _nothing_of(arguments)}"
            return Outcome(text if line is None else f"{text}\n{line}", is_error=True)
        if call.cancelled():  # the cancellation caused whatever the interrupted statement raised
            return Outcome("error [interrupted]: the call was cancelled", is_error=True)
        log_fault(where)
        return Outcome(f"error [internal]: {INTERNAL_TEXT}", is_error=True)


def _at_the_start(tool: Tool[Any]) -> str:
    return f"It belongs to the toolset {tool.toolset}; start the server with that toolset" + (
        "" if tool.read_only else " and not read-only"
    )


def _nothing_of(arguments: Mapping[str, object]) -> str:
    several = max((len(value) for value in arguments.values() if _are_items(value)), default=0)
    return f". None of these {several} was saved" if several > 1 else ""


def _are_items(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall("[a-z]+", text.lower())}


# The parameter that every tool accepts, since subagents give their name; tools that need none ignore it.
_EVERYWHERE = "agent"

# The one filter whose value refers to that parameter even then.
_AUTHOR, _ME = "author", "me"


def _listed(schema: Schema, rare: Collection[str]) -> Schema:
    kinds = schema.get("type")
    listed = schema if kinds is None or isinstance(kinds, str) else {**schema, "type": kinds[0]}
    if not rare:
        return listed
    if "items" in listed:
        return {**listed, "items": _listed(listed["items"], rare)}
    return {**listed, "enum": [one for one in listed["enum"] if one not in rare]}
