"""``satchel serve``."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from satchel.base.clock import system_clock
from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.folders import state_folder
from satchel.client import open_satchel
from satchel.interfaces.cli.common import json_option, require_person_here
from satchel.interfaces.http.databases import Databases, configuration_file
from satchel.interfaces.http.tokens import ACTIVE, Tokens

if TYPE_CHECKING:
    from satchel.interfaces.web.logins import Logins

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
def command(
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
        from satchel.interfaces.http.running import Servers
        from satchel.interfaces.http.server import preload, warm
        from satchel.interfaces.http.serving import Serving
        from satchel.interfaces.http.settings import Settings
        from satchel.interfaces.http.stores import Stores
        from satchel.interfaces.web.logins import Logins
        from satchel.interfaces.web.opening import room_host
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
        host_names = (*host_names, room_host(folder))
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
    preload()
    warm(stores, [(token.store, token.project) for token in active])
    is_done = http.run(Serving(tokens, stores, settings, logins, _own_stores()), listener, say_ready)
    with suppress(SatchelError):
        servers.leave()
    if not is_done:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # a thread is still running, and a normal exit would wait for it
    return 0


def _open(logins: Logins, url: str, port: int) -> None:
    from satchel.interfaces.cli.commands.open import name_here, show, show_fallback
    from satchel.interfaces.web.opening import links_of

    try:
        secret = logins.new_link(name_here(), port)
        link, direct = links_of(state_folder(), url, secret)
        click.echo(link, err=True)
        show_fallback(direct)
        show(logins, link, secret)
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
