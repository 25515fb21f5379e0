"""Translation of service messages for the command line: commands and options in place of tools and parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from satchel.base.errors import SatchelError
from satchel.interfaces.operations.declaration import Operation, Parameter, option_of

_QUOTED = r"""(?<!\w)'[^'\n]*'|"[^"\n]*"|`[^`\n]*`"""
_ASSIGNMENT = r"""[a-z_]+=(?:"[^"\n]*"|[^\s,;)]*[^\s,;.)])"""
_ALONE = r"(?<![\w/.-]){}(?![\w/-]|\.\w)"
_PATTERN = re.compile(
    rf"{_QUOTED}"
    rf"|(?P<one>(?<![\w/.-]){_ASSIGNMENT})"
    rf"|(?:satchel's )?(?P<tool>{_ALONE.format('[a-z]+(?:_[a-z]+)+')})"
    rf"(?P<given>(?: with)?(?:,? (?:and )?{_ASSIGNMENT})+)?"
    r"|(?P<verb>\b(?:[Ll]eave(?: out)?|[Gg]ive) )(?P<names>[a-z_]+(?:(?:, | or | and )[a-z_]+)*)"
)


def reword(error: SatchelError, operation: Operation) -> None:
    """Rewrite an operation's error with commands and options."""
    error.problem = for_people(error.problem, operation)
    error.remedy = None if error.remedy is None else for_people(error.remedy, operation)


def for_people(text: str, operation: Operation) -> str:
    """Return a message with tools replaced by commands, and parameters by options.

    Quoted text is left alone, since it may be a user's. A parameter is looked up in the tool named next to it, then in
    the operation, then in the first operation that has it.
    """
    return _PATTERN.sub(lambda match: _replaced(match, operation), text)


def _replaced(match: re.Match[str], operation: Operation) -> str:
    whole = match[0]
    if match["one"]:
        return _option(whole, operation) or whole
    if match["names"]:
        options = {one.name: option_of(one) or one.name for one in operation.parameters}
        return match["verb"] + re.sub("[a-z_]+", lambda name: options.get(name[0], name[0]), match["names"])
    if not match["tool"]:
        return whole
    command = _command_of(match["tool"])
    if command is None:
        parameter = _parameter(match["tool"], operation)
        return whole if parameter is None else (option_of(parameter) or match["tool"]) + (match["given"] or "")
    words, declared = command
    arguments = [_option(one, declared) or one for one in re.findall(_ASSIGNMENT, match["given"] or "")]
    return f"`{' '.join(['satchel', *words, *arguments])}`"


def _option(assignment: str, operation: Operation) -> str | None:
    name, _, value = assignment.partition("=")
    parameter = _parameter(name, operation)
    option = "" if parameter is None else option_of(parameter)
    if parameter is None or not option:
        return None
    if option.isupper():
        return value
    on, _, off = option.partition("/")
    if parameter.type is bool:
        return on if value == "true" else off or None
    return f"{on} {value}"


def _parameter(name: str, operation: Operation) -> Parameter | None:
    return next((one for each in _operations(operation) for one in each.parameters if one.name == name), None)


def _operations(first: Operation) -> Iterator[Operation]:
    yield first
    from satchel.interfaces.operations.all import OPERATIONS

    yield from OPERATIONS


def _command_of(tool: str) -> tuple[tuple[str, ...], Operation] | None:
    from satchel.interfaces.operations.all import OPERATIONS

    for one in OPERATIONS:
        if one.tool == tool and one.command:
            return one.command, one
        for name, other in one.instead.items():
            if other.tool == tool and one.command:
                return (*one.command, f"--{name}"), other
    return None
