"""Opening a browser at a login link, through a private file, so that other users do not see the link."""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
import webbrowser
from collections.abc import Mapping
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from satchel.base.private_file import PrivateFile, write_private
from satchel.interfaces.web.logins import LINK_MS, Logins

_LOCAL = "localhost"
_HOST = re.compile(rf"[0-9a-f]{{32}}\.{_LOCAL}")
_LOOPBACK = frozenset({"127.0.0.1", "::1", _LOCAL})
_PREFIX = "open-"
_LOOK_SECONDS = 0.2
_PAGE = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}"><title>Satchel</title>
<p><a href="{link}">Continue</a></p>
"""


def room_host(folder: Path) -> str:
    """Return the host name of this user's control room, which is created once, so that addresses stay the same.

    Browsers send a cookie to every port of its host, so at 127.0.0.1 any other program there would receive it. Nobody
    can guess this name, and browsers take every name below ``localhost`` for this machine.

    Args:
        folder: the user's state folder.

    Raises:
        Refused: the file of the name is not trusted, or cannot be written.
    """
    file = PrivateFile(
        folder / "control-room.json",
        "the host name of the control room",
        schema=1,
        parse=lambda fields: _checked(fields["host"]),
        empty=str,
        remedy="Remove the file, then start the server again: the control room gets a new address",
    )
    host = file.current()
    if host:
        return host
    with file.changing() as other:
        host = other or f"{secrets.token_hex(16)}.{_LOCAL}"
        if not other:
            file.save({"host": host})
    return host


def links_of(folder: Path, url: str, secret: str) -> tuple[str, str | None]:
    """Return the link that logs in, and another for a browser that cannot resolve its host name.

    Args:
        folder: the user's state folder.
        url: the address of the server.
        secret: the secret of the link.
    """
    direct, where = f"{url}/login?key={secret}", urlsplit(url)
    if where.hostname not in _LOOPBACK:
        return direct, None
    return f"http://{room_host(folder)}:{where.port}/login?key={secret}", direct


def _checked(host: str) -> str:
    if not _HOST.fullmatch(host):
        raise ValueError("it is no such name")
    return host


def has_display(environ: Mapping[str, str]) -> bool:
    if sys.platform == "darwin":
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def open_browser(folder: Path, link: str) -> Path | None:
    """Open the user's browser at a link. The link is in a file, since other users see the arguments of a process.

    Args:
        folder: the user's state folder.

    Returns:
        The file, to be removed after the login; None where no browser could be started.
    """
    sweep(folder)
    file = folder / f"{_PREFIX}{secrets.token_hex(8)}.html"
    write_private(file, _PAGE.format(link=escape(link)).encode())
    try:
        if webbrowser.open(file.as_uri()):
            return file
    except (webbrowser.Error, OSError):
        pass
    file.unlink(missing_ok=True)
    return None


def await_use(logins: Logins, secret: str, file: Path) -> bool:
    """Wait until a link is used or expires, then remove its file; return whether it was used."""
    deadline = time.monotonic() + LINK_MS / 1_000
    try:
        while logins.is_waiting(secret):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        return time.monotonic() < deadline
    finally:
        file.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove files of expired links."""
    for file in folder.glob(f"{_PREFIX}*.html"):
        try:
            if time.time() - os.lstat(file).st_mtime > LINK_MS / 1_000:
                file.unlink()
        except OSError:
            continue
