"""An argument that is no UTF-8, as a shell can give it, is cleaned or refused; it is never an internal fault."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.cli.group import COMMANDS, satchel_command

pytestmark = pytest.mark.slow

INTERNAL = ERROR_KINDS["internal"].exit_status
LONE = ("\udcff", "a\udcffb")

# each needs a process of its own, or a terminal; what they are given is read by the others' code
_APART = {"mcp", "tour"}


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its words."""
    for name in (name for name in COMMANDS if name not in _APART):
        command = satchel_command.get_command(click.Context(satchel_command), name)
        assert command is not None
        if isinstance(command, click.Group):
            context = click.Context(command)
            inner = {word: command.get_command(context, word) for word in command.list_commands(context)}
            yield from (((name, word), one) for word, one in inner.items() if one is not None)
        else:
            yield (name,), command


def required(command: click.Command) -> list[str]:
    """Return what a command cannot do without."""
    given: list[str] = []
    for parameter in command.params:
        if parameter.required:
            choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ["e1"]
            given += [parameter.opts[0]] if isinstance(parameter, click.Option) else []
            given += [str(choices[0])] * (parameter.nargs if parameter.nargs > 0 else 1)
    return given


def spoilt(command: click.Command) -> Iterator[list[str]]:
    """Yield arguments of a command, a lone surrogate in one of them."""
    fixed = required(command)
    for lone in LONE:
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                yield (
                    [argument if argument != "e1" else lone for argument in fixed]
                    if parameter.required
                    else [
                        *fixed,
                        lone,
                    ]
                )
            elif isinstance(parameter, click.Option) and not parameter.is_flag:
                yield [*fixed, parameter.opts[0], lone]
                yield [*fixed, parameter.opts[0], f"name={lone}"]
        yield [*fixed, f"--{lone}"]


@pytest.fixture
def ran(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Run a command as ``main`` does, on streams that are strict but for what it makes of them."""
    from satchel.interfaces import cli

    def run(*arguments: str) -> tuple[int, str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as left:
            cli.main(arguments)
        written = b"".join(stream.buffer.getvalue() for stream in (out, err))
        return int(left.value.code or 0), written.decode()

    assert run("write", "discovery", "a zebra", "--agent", "ann")[0] == 0
    return run


@pytest.mark.parametrize(("words", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in commands()])
def test_no_argument_of_a_command_fails_inside(
    ran: Callable[..., tuple[int, str]], words: tuple[str, ...], command: click.Command
) -> None:
    for arguments in spoilt(command):
        status, text = ran(*words, *arguments)
        assert status not in {1, INTERNAL}, (arguments, text)
