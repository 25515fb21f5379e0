"""``satchel export``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from satchel.base.errors import Conflict, NotFound, SatchelError
from satchel.interfaces.cli.common import json_option, progress, show_json, store_options
from satchel.interfaces.cli.opening import opened, warn
from satchel.interfaces.text.parts import counted


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--kinds", metavar="KIND,...", help="Only these kinds of lines, such as decision,constraint.")
@store_options
@json_option
def command(file: Path | None, kinds: str | None, db: str | None, project: str | None, as_json: bool) -> None:
    """Write everything that the project keeps as lines of JSON, to FILE or standard output.

    Each line is an item with its uid, its history and its links; `satchel import` takes them into any store, as often
    as you like. FILE appears once it is whole; only an older export is replaced.

    \b
    Examples:
      satchel export project.jsonl
      satchel export --kinds decision,constraint | less
    """
    names = None if kinds is None else [kind.strip() for kind in kinds.split(",")]
    to_file = file is not None and str(file) != "-"
    with opened(db, project, read_only=True) as satchel, progress("exporting", quiet=as_json) as report:
        if to_file and file is not None:
            with _appearing(file) as target:
                result = satchel.moving.export(target, kinds=names, progress=report)
        else:
            result = satchel.moving.export(sys.stdout.buffer, kinds=names, progress=report)
            sys.stdout.buffer.flush()
    if as_json and to_file:
        show_json(result)
    else:
        click.echo(f"exported {counted(result.lines, 'line')} of {result.project}", err=True)
        if result.damaged:
            what = f"{counted(len(result.damaged), 'item')} with damaged text left out"
            warn((f"{what}; `satchel doctor` names each",))


@contextmanager
def _appearing(file: Path) -> Iterator[BinaryIO]:
    """Yield a stream that becomes a private file once it is complete.

    Raises:
        Conflict: another kind of file has that name.
        NotFound: there is no such folder.
    """
    from satchel.keep.moving.service import header_of

    if os.path.lexists(file) and (not file.is_file() or file.is_symlink() or header_of(file) is None):
        raise Conflict(f"{file} is there and is no export", "Give another name")
    draft = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise NotFound(f"there is no folder {file.parent}", "Make it first, or give another name") from None
    except OSError as error:
        raise SatchelError(f"{file} cannot be written: {error.strerror}", "Give another name") from error
    try:
        with os.fdopen(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
