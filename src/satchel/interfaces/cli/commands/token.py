"""``satchel token``."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

import click

from satchel.base.clock import iso, parse_time, system_clock
from satchel.base.errors import InvalidInput
from satchel.base.folders import state_folder
from satchel.client import Satchel, open_satchel
from satchel.interfaces.cli.common import json_option, leave_trace, require_person_here, show, show_json, store_options
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.cli.suggesting import SuggestingGroup
from satchel.interfaces.http.access import AGENT, ROLES
from satchel.interfaces.http.databases import Databases, configuration_file, store_of
from satchel.interfaces.http.tokens import REVOKED, Token, Tokens
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import local_time, show_table
from satchel.keep import projects

_NEVER = "never"


@click.group(cls=SuggestingGroup)
def token_command() -> None:
    """Make, list and revoke the tokens that give access to `satchel serve`.

    They lie in your own state folder, in no store: a backup that is restored brings back none that was revoked.

    \b
    Example:
      satchel token new ci --read-only --expires 30d
    """


@token_command.command()
@click.argument("name")
@store_options
@click.option("--database", metavar="NAME", help="A database of the server's configuration, instead of a file.")
@click.option(
    "--config",
    "configuration",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file that names the database. Default: your config.toml.",
)
@click.option("--agent", metavar="NAME", help="Who acts by it. Default: each call says who.")
@click.option("--role", type=click.Choice(ROLES), default=AGENT, show_default=True, help="Who holds it.")
@click.option("--read-only", is_flag=True, help="Refuse every write.")
@click.option(
    "--expires",
    metavar="TIME",
    default="90d",
    show_default=True,
    help="After a time (30d), on a day (2027-01-31, UTC), or never.",
)
@json_option
def new(
    name: str,
    db: str | None,
    project: str | None,
    database: str | None,
    configuration: Path | None,
    agent: str | None,
    role: str,
    read_only: bool,
    expires: str,
    as_json: bool,
) -> None:
    """Make a token for this folder's project.

    --project names another project of the store, or with --database one of a team's PostgreSQL database, which stands
    as [databases.NAME] with its url in the configuration of `satchel serve`.

    The token's text is printed once, alone on standard output; only a
    digest of it is kept. Its holder can do in the project what the token allows, so give each machine and each
    person one of their own.

    \b
    Examples:
      satchel token new laptop
      satchel token new ci --read-only --expires 30d
      satchel token new laptop --database team --project app
      export SATCHEL_TOKEN="$(satchel token new container --agent builder)"
    """
    expires_at = _expiry(expires, system_clock())
    require_person_here("make a token")
    with _opened(db, project, database, configuration) as satchel:
        store = satchel.place.store_file if database is None else store_of(database)
        if store is None:
            raise InvalidInput(
                "a token names no address of a database, which may hold a password",
                "Write [databases.NAME] with its url into the server's configuration, and give --database NAME",
            )
        project_name, is_new = _project(satchel)
        token, text = Tokens(state_folder(), system_clock).new(
            name, store=store, project=project_name, role=role, agent=agent, read_only=read_only, expires_at=expires_at
        )
        satchel.housekeeping.record_action(f"made the token {token.name} of role {role}")
    if as_json:
        show_json({"token": text, **fields_of(token)})
        return
    ends = "never expires" if token.expires_at is None else f"expires {local_time(token.expires_at)}"
    acts = "" if token.agent is None else f" as {token.agent}"
    click.echo(
        f"token {token.name} ({token.id}) of role {token.role}: {_rights(token)}{acts} in project {token.project} of "
        f"{token.store}; it {ends}. Its text is shown only now:",
        err=True,
    )
    if is_new:
        click.echo(f"nothing was written for project {token.project} yet: the first write makes it", err=True)
    click.echo(text)


@token_command.command("list")
@json_option
def list_tokens(as_json: bool) -> None:
    """List your tokens, of all stores.

    Those that have expired or were revoked are listed for 90 days more.

    \b
    Examples:
      satchel token list
    """
    tokens = Tokens(state_folder(), system_clock).every()
    if as_json:
        show_json({"tokens": fields_of(tokens)})
        return
    if not tokens:
        click.echo("there is no token yet: `satchel token new NAME` makes one", err=True)
        return
    headings = ("name", "id", "role", "project", "store", "agent", "rights", "expires", "state")
    stores = {str(token.store) for token in tokens}
    show_table(headings, [_row(token) for token in tokens], usual={"store": stores.pop()} if len(stores) == 1 else None)


@token_command.command()
@click.argument("name_or_id")
@json_option
def revoke(name_or_id: str, as_json: bool) -> None:
    """Revoke a token by its name or id.

    A running server refuses it from the next request on.

    \b
    Examples:
      satchel token revoke ci
    """
    require_person_here("revoke a token")
    token = Tokens(state_folder(), system_clock).revoke(name_or_id)
    leave_trace(f"revoked the token {token.name}")
    assert token.revoked_at is not None
    text = f"token {token.name} ({token.id}) is {REVOKED} since {local_time(token.revoked_at)}"
    show(token, text, as_json=as_json)


def _opened(
    db: str | None, project: str | None, database: str | None, configuration: Path | None
) -> AbstractContextManager[Satchel]:
    if database is None:
        return opened(db, project)
    if db is not None:
        raise InvalidInput("--db and --database name two stores", "Leave one of them out")
    if project is None:
        raise InvalidInput(f"nothing says which project of the database {database} is meant", "Add --project NAME")
    address = Databases(configuration_file(configuration)).address(database)
    return open_satchel(address, project, cwd="/", read_only=True)


def _project(satchel: Satchel) -> tuple[str, bool]:
    work = satchel.workplace
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
    return project.name, not project.id


def _expiry(text: str, now: int) -> int | None:
    if text.strip().lower() == _NEVER:
        return None
    try:
        at = parse_time(text, now, "--expires")
    except InvalidInput as error:
        raise InvalidInput(error.problem, "Give a length of time (30d, 12w), a day (2027-01-31) or never") from None
    if re.fullmatch(r"\d+[a-z]", text.strip()):  # a duration, which parse_time would take for an age
        at = 2 * now - at
    if at <= now:
        raise InvalidInput(f"--expires {text!r} is in the past ({iso(at)})", "Give a time to come, or 30d")
    return at


def _row(token: Token) -> tuple[object, ...]:
    expires = _NEVER if token.expires_at is None else local_time(token.expires_at)
    return (
        *(token.name, token.id, token.role, token.project, token.store),
        *(token.agent, _rights(token), expires, token.state),
    )


def _rights(token: Token) -> str:
    return "read only" if token.read_only else "read and write"
