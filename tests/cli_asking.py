"""Calling commands as a machine does, and every option that the program has, for the tables that test them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

import click

from satchel.interfaces.cli.group import satchel_command

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
                named = option.opts[0] if isinstance(option, click.Option) else str(option.name).upper()
                found.add((f"{name} {rest}".strip(), named))
    return found


def asked(cli: Cli, command: tuple[str, ...], *more: str) -> dict[str, Any]:
    """Run a command with ``--json``; return its answer, of ``decide`` its one decision; empty where it was refused."""
    name, *arguments = command
    _, out, _ = cli(*name.split(), *arguments, *more, "--json")
    answer: dict[str, Any] = json.loads(out) if out else {}
    return answer["decisions"][0] if name == "decide" and answer else answer
