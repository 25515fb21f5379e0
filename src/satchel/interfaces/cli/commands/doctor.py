"""``satchel doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

import click

from satchel.base.errors import ERROR_KINDS
from satchel.base.folders import current_folder
from satchel.base.installation import command_adding
from satchel.base.tokens import token_counter
from satchel.client import Satchel, open_satchel
from satchel.interfaces.cli.common import json_option, progress, show, show_json, store_options
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.hooks.state import check_hooks
from satchel.interfaces.text.housekeeping import server_fields, server_line
from satchel.keep.housekeeping.publishing import check_publishing
from satchel.store.upkeep import Check

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}

# Checks that say what was examined, and by whom.
_CONTEXT = frozenset({"server", "here"})


@click.command()
@click.option("--rebuild", is_flag=True, help="Rebuild the search index and recount instead.")
@click.option("--verbose", is_flag=True, help="Print a line for each check that is well too.")
@store_options
@json_option
def doctor_command(rebuild: bool, verbose: bool, db: str | None, project: str | None, as_json: bool) -> int:
    """Check that everything works: configuration, place, schema, integrity, index, conversations, the newest backup,
    and whether a build tool would publish the store.

    What is wrong comes first, then what is well, in one line. The last line says who acts where, how the store was
    found and why it is trusted. Without --rebuild nothing is changed. The exit status is 0 unless a check failed.

    \b
    Examples:
      satchel doctor
      satchel doctor --verbose
      satchel doctor --rebuild
    """
    if rebuild:
        _rebuild(db, project, as_json=as_json)
        return 0
    with open_satchel(db, project, read_only=True) as satchel, progress("examining", quiet=as_json):
        checks = list(_checks(satchel))
    for check in checks:
        if not as_json and (verbose or check.status != "ok"):
            _show(check)
    if as_json:
        show_json(checks)
    elif not verbose:
        well = [check for check in checks if check.status == "ok"]
        names = [check.name for check in well if check.name not in _CONTEXT]
        _show(Check(f"{len(names)} checks", "ok", ", ".join(names)))
        for check in well:
            if check.name in _CONTEXT:
                _show(check)
    failed = any(check.status == "failed" for check in checks)
    return ERROR_KINDS["store_damaged"].exit_status if failed else 0


def _show(check: Check) -> None:
    click.echo(f"{click.style(f'{check.status:<8}', fg=_COLOURS[check.status])}{check.name}: {check.detail}")


def _checks(satchel: Satchel) -> Iterator[Check]:
    is_readable = satchel.place.exists
    for check in satchel.housekeeping.doctor(satchel.config.warnings):
        is_readable &= check.status != "failed"
        yield check
    counter = token_counter(satchel.config.tokens_encoding)
    detail = f"exact, {counter.name}" if counter.exact else f"estimated: {counter.reason}"
    if find_spec("splintr") is None:
        detail += f"; for exact counts run `{command_adding('tokens')}`"
    yield Check("tokens", "ok", detail)
    yield check_hooks()
    # a store that failed a check may be unreadable, and a missing one has no sessions
    yield from (_unmet(*names) for names in (satchel.sessions.unmet() if is_readable else ()))
    server = server_fields(os.environ, current_folder())
    if server is not None:
        yield _of_server(server)
    if satchel.place.owns_folder:
        yield check_publishing(satchel.place.file.parent)
    yield satchel.housekeeping.whereabouts(satchel.place.origin)


def _rebuild(db: str | None, project: str | None, *, as_json: bool) -> None:
    with opened(db, project) as satchel, progress("indexing", quiet=as_json) as report:
        # both are loaded before the first commit, and so are the kinds that are rebuilt
        housekeeping, finding = satchel.housekeeping, satchel.finding
        count = finding.rebuild(report)
        housekeeping.recount()
    show({"indexed": count}, f"{count:,} items indexed", as_json=as_json)


def _unmet(server: str, hooks: str) -> Check:
    return Check(
        "sessions",
        "warning",
        f"the server of {server} and the hooks of {hooks} did not meet in one worktree, so that claims of the one stop "
        "edits of the other; if they are one agent, start its client again, and run `satchel setup --check`",
    )


def _of_server(fields: Mapping[str, str]) -> Check:
    where = "" if "fault" in fields else "; what was examined is the store on this machine"
    return Check("server", "warning" if "fault" in fields else "ok", server_line(fields) + where)
