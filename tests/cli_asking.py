"""Calling commands as a machine does, and every option that the program has, for the tables that test them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any
from unittest.mock import patch

import click

from over_server import over_server
from satchel import Satchel, open_satchel
from satchel.interfaces.cli import opening, run
from satchel.interfaces.cli.group import satchel_command
from satchel.interfaces.operations import as_command
from satchel.interfaces.operations.declaration import Operation, Parameter

Cli = Callable[..., tuple[int, str, str]]


def options_of(groups: Collection[str]) -> set[tuple[str, str]]:
    """Return every command of some groups with each of its options and arguments."""
    found = set()
    for name in groups:
        command = satchel_command.get_command(click.Context(satchel_command), name)
        assert command is not None
        inner = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else [""]
        for rest in inner:
            part = command.get_command(click.Context(command), rest) if isinstance(command, click.Group) else command
            assert part is not None
            for option in part.params:
                found.add((f"{name} {rest}".strip(), _shown(option)))
    return found


def _shown(option: click.Parameter) -> str:
    return option.opts[0] if isinstance(option, click.Option) else str(option.name).upper()


def _as_option(parameter: Parameter) -> click.Parameter:
    return as_command._click_parameter(as_command._click_name(parameter), parameter, parameter.required)


def option_of(parameter: Parameter) -> str:
    """Return what :func:`options_of` calls the option or argument that a parameter has."""
    return _shown(_as_option(parameter))


def argv_of(operation: Operation, arguments: Mapping[str, object]) -> list[str]:
    """Return the command line that asks, with ``--json``, for what arguments ask an operation.

    Each of the arguments needs an option; a flag that is false is left out unless there is one for that too.
    """
    options, words = [], []
    for parameter in operation.parameters:
        if parameter.name not in arguments:
            continue
        assert parameter.option is not None, parameter.name
        option, value = _as_option(parameter), arguments[parameter.name]
        texts = [_text(one) for one in (value if parameter.takes_list and isinstance(value, list) else [value])]
        if isinstance(option, click.Argument):
            words += texts
        elif isinstance(option, click.Option) and option.is_flag:
            options += option.opts[:1] if value else option.secondary_opts
        else:
            options += [part for text in texts for part in (option.opts[0], text)]
    return [*operation.command, *options, "--json", *(["--", *words] if words else [])]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def answered(satchel: Satchel, argv: Sequence[str]) -> dict[str, Any]:
    """Run a command in the store of an opened Satchel, at its time; return its answer, or ``{"error": code}``."""
    opened = partial(
        open_satchel,
        cwd=satchel.place.file.parent,
        environ=satchel.environ,
        settings={"store.durability": "relaxed"},
        clock=satchel.workplace.clock,
    )

    def open_it(*given: Any, **named: Any) -> Satchel:
        return over_server(opened(*given, **named))

    out, err = io.StringIO(), io.StringIO()
    with patch.object(opening, "open_anywhere", open_it), redirect_stdout(out), redirect_stderr(err):
        run(argv)
    answer = json.loads(out.getvalue() or err.getvalue())
    assert isinstance(answer, dict)
    return answer if out.getvalue() else {"error": answer["error"]["code"]}


def asked(cli: Cli, command: tuple[str, ...], *more: str) -> dict[str, Any]:
    """Run a command with ``--json``; return its answer, of ``decide`` its one decision; empty where it was refused."""
    name, *arguments = command
    _, out, _ = cli(*name.split(), *arguments, *more, "--json")
    answer: dict[str, Any] = json.loads(out) if out else {}
    return answer["decisions"][0] if name == "decide" and answer else answer
