"""``satchel serve``."""

from __future__ import annotations

import json
import os
import re
import sys

import click

from satchel.base.clock import system_clock
from satchel.base.errors import InvalidInput, Refused, Unavailable
from satchel.base.folders import state_folder
from satchel.interfaces.cli.common import json_option
from satchel.interfaces.http.tokens import ACTIVE, Tokens

DEFAULT_PORT = 7347
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 -- compared with, not bound
_HOST_NAME = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_NO_ENTRY = "there is no token yet, and every request needs one; make one with `satchel token new NAME`"


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
@json_option
def command(host: str, port: int, host_names: tuple[str, ...], behind_tls: bool, insecure: bool, as_json: bool) -> int:
    """Serve Satchel over HTTP, to clients, hooks and people on other machines.

    MCP is under /mcp, the JSON API under /api; every request needs a token. It serves this machine alone unless told
    otherwise. SIGTERM or Ctrl-C ends it.

    \b
    Examples:
      satchel serve
      satchel serve --behind-tls --host-name satchel.example.org
    """
    for name in host_names:
        if not _HOST_NAME.fullmatch(name):
            raise InvalidInput(
                f"--host-name {name!r} is no name of a host",
                "Give a name or an address, with a port or without, and no scheme: --host-name satchel.example.org",
            )
    _check_exposure(host, host_names, behind_tls=behind_tls, insecure=insecure)
    try:
        from satchel.interfaces.http import serving as http
        from satchel.interfaces.http.app import Serving
        from satchel.interfaces.http.preloading import preload, warm
        from satchel.interfaces.http.settings import Settings
        from satchel.interfaces.http.stores import Stores
    except ImportError as error:
        raise Unavailable(f"serving needs more packages ({error})", "Run pip install 'satchel[serve]'") from None
    tokens = Tokens(state_folder(), system_clock)
    active = [token for token in tokens.every() if token.state == ACTIVE]
    listener = http.bind(host, port)
    connections = http.prepare_process(Settings().connections)
    url = http.address_of(listener)
    if host not in _WILDCARDS:
        host_names = (*host_names, url.removeprefix("http://"))
    settings = Settings(host_names=host_names, behind_tls=behind_tls, connections=connections)

    def say_ready() -> None:
        if as_json:
            click.echo(json.dumps({"url": url, "pid": os.getpid()}))
            sys.stdout.flush()
        click.echo(f"satchel serves at {url}; Ctrl-C ends it", err=True)
        if not active:
            click.echo(_NO_ENTRY, err=True)

    stores = Stores(os.environ)
    preload()
    warm(stores, [(token.store, token.project) for token in active])
    is_done = http.run(Serving(tokens, stores, settings), listener, say_ready)
    if not is_done:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # a thread is still at work, and leaving would wait for it
    return 0


def _check_exposure(host: str, host_names: tuple[str, ...], *, behind_tls: bool, insecure: bool) -> None:
    """Refuse to be reached from other machines unless that is wanted, and how.

    Raises:
        Refused: neither flag says what becomes of the encryption.
        InvalidInput: nothing says under which name it is reached.
    """
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
        found = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InvalidInput(f"there is no address {host!r}", "Give one of this machine: --host 127.0.0.1") from None
    return bool(host) and all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
