"""The command line: ``satchel COMMAND``."""

from __future__ import annotations

import io
import os
import sys

from satchel.interfaces.cli import outcome

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from satchel.base.errors import SatchelError


def main(arguments: Sequence[str] | None = None, command: Callable[[], object] | None = None) -> NoReturn:
    """Run one command and exit with its status; the arguments are those of :func:`run`."""
    sys.stdout = sys.stdout or io.StringIO()  # None if the caller has closed it
    for stream in (sys.stdout, sys.stderr):
        # characters that the terminal's encoding lacks are escaped, so that printing never fails
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, command))


def run(arguments: Sequence[str], command: Callable[[], object] | None = None) -> int:
    """Run one command.

    A completed write is never reported as an error: if only the answer could not be printed, stderr explains that.
    """
    outcome.has_kept = False
    try:
        result = _by_click(list(arguments)) if command is None else command()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001 -- all end here, each in its own way
        person = getattr(error, "person", None)
        if isinstance(person, str) and _confirms(getattr(error, "problem", ""), person):
            os.environ["SATCHEL_PERSON"] = person
            return run(arguments, command)
        return _failed(arguments, error)


def _confirms(problem: str, person: str) -> bool:
    from satchel.base.processes import has_terminal

    if os.environ.get("SATCHEL_PERSON") or not has_terminal():
        return False
    with open("/dev/tty", "r+b", buffering=0) as terminal:  # noqa: PTH123 -- keeps pathlib out of the start
        terminal.write(f"{problem}.\nAre you {person}, and is this wanted? [y/N] ".encode())
        return terminal.readline().strip().lower() in {b"y", b"yes"}


def _by_click(arguments: list[str]) -> object:
    from satchel.interfaces.cli.group import satchel_command

    return satchel_command.main(arguments, prog_name="satchel", standalone_mode=False, color=_colour())


def _failed(arguments: Sequence[str], error: BaseException) -> int:
    import click

    from satchel.base.errors import ERROR_KINDS, AnswerLost, SatchelError
    from satchel.interfaces.cli.suggesting import option_hint

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ERROR_KINDS["invalid_input"].exit_status
    if isinstance(error, click.UsageError):
        hint = f"See `{error.ctx.command_path if error.ctx else 'satchel'} --help`"
        if "unexpected extra argument" in error.message:
            hint = f"Put a text of several words in quotes. {hint}"
        problem = error.format_message()
        if isinstance(error, click.NoSuchOption):
            suggestion = option_hint(error.option_name, error.ctx)
            if suggestion is not None:
                problem, hint = error.message, f"{suggestion} {hint}"
            elif not error.possibilities:
                hint = f"Before a text that begins with a dash put --, behind all options. {hint}"
        _report(arguments, "invalid_input", problem.rstrip("."), hint)
        return ERROR_KINDS["invalid_input"].exit_status
    if isinstance(error, SystemExit):
        # only click exits this way, with 1 if the reader of the output is gone, which is not a failure
        return 0 if error.code == 1 else int(error.code or 0)
    if isinstance(error, BrokenPipeError):
        # the reader of the output is gone; the flush at exit must not fail because of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    if os.environ.get("SATCHEL_DEBUG") and not isinstance(error, (SatchelError, click.Abort, KeyboardInterrupt)):
        raise error
    failure = _as_satchel_error(error)
    if isinstance(failure, AnswerLost):
        _say(str(failure))
        return 0
    if outcome.has_kept:
        _say(f"done, but the answer could not be shown ({failure.problem})")
        return 0
    _report(arguments, failure.code, failure.problem, failure.remedy)
    return failure.kind.exit_status


def _as_satchel_error(error: BaseException) -> SatchelError:
    import click

    from satchel.base.errors import Interrupted, SatchelError, system_error

    if isinstance(error, SatchelError):
        return error
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return Interrupted("stopped")
    if isinstance(error, OSError):
        return system_error(error) or SatchelError(f"{error.strerror or error}: {error.filename or 'the system'}")
    return SatchelError(f"a fault in Satchel ({type(error).__name__}: {error})", "SATCHEL_DEBUG=1 shows where")


def _say(text: str) -> None:
    import click

    click.echo(f"{click.style('warning', fg='yellow')}: {text}", err=True, color=_colour())


def _report(arguments: Sequence[str], code: str, problem: str, remedy: str | None) -> None:
    import click

    if "--json" in arguments:
        import json

        click.echo(json.dumps({"error": {"code": code, "problem": problem, "remedy": remedy}}), err=True)
        return
    end = "" if problem.endswith("?") else "."
    text = problem if remedy is None else f"{problem}{end} {remedy}"
    click.echo(f"{click.style('error', fg='red', bold=True)} [{code}]: {text}", err=True, color=_colour())


def _colour() -> bool | None:
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
