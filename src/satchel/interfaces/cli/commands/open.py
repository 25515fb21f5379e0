"""``satchel open``."""

from __future__ import annotations

import os

import click

from satchel.base.clock import system_clock
from satchel.base.errors import InvalidInput
from satchel.base.folders import state_folder
from satchel.interfaces.cli.common import json_option, leave_trace, require_person_here, show_json
from satchel.interfaces.http.running import Servers
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.tables import local_time, show_table
from satchel.interfaces.web import opening
from satchel.interfaces.web.logins import LINK_MS, Logins
from satchel.keep.names import local_person, shown_name


@click.command()
@click.option(
    "--as",
    "person",
    metavar="NAME",
    help="Who you are there. Default: person.name, else git's user.name, else your login name.",
)
@click.option("--port", type=click.IntRange(1, 65_535), metavar="NUMBER", help="Of several servers the one there.")
@click.option("--print", "only_prints", is_flag=True, help="Print the link, and open no browser.")
@click.option("--list", "lists", is_flag=True, help="List the browsers that are logged in.")
@click.option("--revoke", metavar="ID", help="Log a browser out; `all` logs out every one.")
@json_option
def command(
    person: str | None, port: int | None, only_prints: bool, lists: bool, revoke: str | None, as_json: bool
) -> None:
    """Open the control room of the server that runs here, in your browser.

    The link is good for 60 seconds and for one login. It is printed; without a display no browser is opened. What you
    write there is by that name. A login ends after 12 hours.

    \b
    Examples:
      satchel open
      satchel open --print --as ann
      satchel open --list
      satchel open --revoke all
    """
    folder = state_folder()
    logins = Logins(folder, system_clock)
    if lists + (revoke is not None) > 1:
        raise InvalidInput("--list and --revoke are two things", "Give one of them")
    if lists:
        _list(logins, as_json=as_json)
        return
    if revoke is not None:
        require_person_here("log a browser out")
        ended = logins.revoke(None if revoke == "all" else revoke)
        if as_json:
            show_json({"revoked": fields_of(ended)})
        else:
            click.echo(f"{len(ended)} logged out" if len(ended) != 1 else f"login {ended[0].id} is logged out")
        return
    require_person_here("open the pages")
    server = Servers(folder).find(port)
    secret = logins.new_link(person or name_here(), server.port)
    link, direct = opening.links_of(folder, server.url, secret)
    if as_json:
        show_json({"link": link, "fallback": direct, "seconds": LINK_MS // 1_000})
    else:
        click.echo(link)
        click.echo(f"the link is good for {LINK_MS // 1_000} s and one login", err=True)
        show_fallback(direct)
    leave_trace("opened the pages")
    if only_prints:
        return
    show(logins, link, secret)


def show_fallback(direct: str | None) -> None:
    """Print the link for a browser that does not know the host name of the other."""
    if direct is not None:
        click.echo(f"if your browser does not find that address, open {direct}", err=True)


def name_here() -> str:
    """Return the name of the current user, as other people see it."""
    return shown_name(local_person(os.environ))


def show(logins: Logins, link: str, secret: str) -> None:
    """Open the browser at a link, and wait until the link is used."""
    if not opening.has_display(os.environ):
        click.echo("there is no display here: open the link yourself", err=True)
        return
    file = opening.open_browser(state_folder(), link)
    if file is None:
        click.echo("no browser could be started: open the link yourself", err=True)
    elif not opening.await_use(logins, secret, file):
        click.echo("the link was not used in time: `satchel open` makes a new one", err=True)


def _list(logins: Logins, *, as_json: bool) -> None:
    entries = logins.every()
    if as_json:
        show_json({"logins": fields_of(entries)})
        return
    if not entries:
        click.echo("no browser is logged in: `satchel open` logs one in", err=True)
        return
    rows = [
        (one.id, one.author, one.token or "a link", local_time(one.created_at), local_time(one.used_at))
        for one in entries
    ]
    show_table(("id", "person", "by", "since", "used"), rows)
