"""``satchel serve``, and ``satchel open``."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import click

from satchel.base.clock import system_clock
from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.folders import state_folder
from satchel.client import open_satchel
from satchel.interfaces.cli.common import json_option, leave_trace, require_person_here, show, show_json
from satchel.interfaces.http.databases import Databases, configuration_file
from satchel.interfaces.http.running import Servers
from satchel.interfaces.http.tokens import ACTIVE, Tokens
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import local_time, show_table
from satchel.interfaces.web import opening
from satchel.interfaces.web.logins import LINK_MS, Logins
from satchel.keep.names import local_person, shown_name

DEFAULT_PORT = 7347
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 -- compared with, not bound
_HOST_NAME = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_ROOM = "Control room: `satchel open`"
_TOKENS = "Other machines need a token: `satchel token new NAME`"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=DEFAULT_PORT,
    show_default=True,
    metavar="NUMBER",
    help="The port; 0 takes one that is free.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="A name, with or without a port, under which callers reach it, beside the loopback ones. Repeatable.",
)
@click.option("--behind-tls", is_flag=True, help="A program in front of it ends TLS.")
@click.option("--insecure", is_flag=True, help="Let tokens and contents pass the network unencrypted.")
@click.option(
    "--config",
    "configuration",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file with the [databases] that tokens lead to. Default: your config.toml.",
)
@click.option("--open", "opens", is_flag=True, help="Open the pages in your browser, as `satchel open` does.")
@json_option
def serve_command(
    host: str,
    port: int,
    host_names: tuple[str, ...],
    behind_tls: bool,
    insecure: bool,
    configuration: Path | None,
    opens: bool,
    as_json: bool,
) -> int:
    """Serve Satchel over HTTP, to clients, hooks and people on other machines.

    MCP is under /mcp, the JSON API under /api; every request there needs a token. The pages for people are under /, and
    `satchel open` leads a browser to them. It serves this machine alone unless told
    otherwise. SIGTERM or Ctrl-C ends it.

    \b
    Examples:
      satchel serve
      satchel serve --open
      satchel serve --behind-tls --host-name satchel.example.org
    """
    for name in host_names:
        if not _HOST_NAME.fullmatch(name):
            raise InvalidInput(
                f"--host-name {name!r} is no name of a host",
                "Give a name or an address, with a port or without, and no scheme: --host-name satchel.example.org",
            )
    _check_exposure(host, host_names, behind_tls=behind_tls, insecure=insecure)
    if opens:
        require_person_here("open the pages")
    try:
        from satchel.interfaces.http import server as http
        from satchel.interfaces.http.serving import Serving
        from satchel.interfaces.http.settings import Settings
        from satchel.interfaces.http.stores import Stores
    except ImportError as error:
        from satchel.base.installation import missing_extra

        raise missing_extra(f"serving needs the extra serve ({error})", "serve") from None
    databases = Databases(configuration_file(configuration))
    databases.every()
    folder = state_folder()
    tokens, logins, servers = Tokens(folder, system_clock), Logins(folder, system_clock), Servers(folder)
    active = [token for token in tokens.every() if token.state == ACTIVE]
    listener = http.bind(host, port)
    connections = http.prepare_process(Settings().connections)
    url = http.address_of(listener)
    if host not in _WILDCARDS:
        host_names = (*host_names, url.removeprefix("http://"))
    port = listener.getsockname()[1]
    url_here = {"::": f"http://[::1]:{port}"}.get(host, f"http://127.0.0.1:{port}") if host in _WILDCARDS else url
    with suppress(SatchelError):  # without it the pages are at the address alone
        host_names = (*host_names, opening.room_host(folder))
    settings = Settings(host_names=host_names, behind_tls=behind_tls, connections=connections)

    def say_ready() -> None:
        with suppress(SatchelError):  # without it, only `satchel open` finds no server
            servers.enter(url_here, port)
        if as_json:
            click.echo(json.dumps({"url": url, "pid": os.getpid()}))
            sys.stdout.flush()
        click.echo(f"satchel serves at {url}; Ctrl-C ends it", err=True)
        if not opens:
            click.echo(_ROOM, err=True)
        if not active:
            click.echo(_TOKENS, err=True)
        if opens:
            Thread(target=_open, args=(logins, url_here, port), daemon=True).start()

    stores = Stores(os.environ, databases)
    http.preload()
    http.warm(stores, [(token.store, token.project) for token in active])
    is_done = http.run(Serving(tokens, stores, settings, logins, _own_stores()), listener, say_ready)
    with suppress(SatchelError):
        servers.leave()
    click.echo("stopped", err=True)
    if not is_done:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # a thread is still running, and a normal exit would wait for it
    return 0


def _open(logins: Logins, url: str, port: int) -> None:

    try:
        secret = logins.new_link(name_here(), port)
        link, direct = opening.links_of(state_folder(), url, secret)
        click.echo(link, err=True)
        show_fallback(direct)
        open_in_browser(logins, link, secret)
    except SatchelError as error:
        click.echo(f"no browser was opened: {error.problem}; {error.remedy}", err=True)


def _own_stores() -> list[Path]:
    try:
        with open_satchel() as satchel:
            file = satchel.place.file
            return [file] if file.exists() else []
    except SatchelError:
        return []


def _check_exposure(host: str, host_names: tuple[str, ...], *, behind_tls: bool, insecure: bool) -> None:
    if _is_loopback(host):
        return
    if not behind_tls and not insecure:
        raise Refused(
            f"{host} can be reached from other machines, and tokens and contents would pass unencrypted",
            "Put a program that ends TLS in front and say --behind-tls; where the network itself is encrypted, as in a "
            "VPN, --insecure",
        )
    if host in _WILDCARDS and not host_names:
        raise InvalidInput(
            f"{host} says nothing about the name under which callers reach this server",
            "Add --host-name NAME; repeat it for further names",
        )


def _is_loopback(host: str) -> bool:
    import ipaddress
    import socket

    try:
        addresses = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InvalidInput(f"there is no address {host!r}", "Give one of this machine: --host 127.0.0.1") from None
    return bool(host) and all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in addresses)


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
def open_command(
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
        text = f"{len(ended)} logged out" if len(ended) != 1 else f"login {ended[0].id} is logged out"
        show({"revoked": ended}, text, as_json=as_json)
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
    open_in_browser(logins, link, secret)


def show_fallback(direct: str | None) -> None:
    """Print the link for a browser that does not know the host name of the other."""
    if direct is not None:
        click.echo(f"if your browser does not find that address, open {direct}", err=True)


def name_here() -> str:
    """Return the name of the current user, as other people see it."""
    return shown_name(local_person(os.environ))


def open_in_browser(logins: Logins, link: str, secret: str) -> None:
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
