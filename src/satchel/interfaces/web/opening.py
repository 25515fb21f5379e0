"""Opening a browser at a login link, through a private file, so that other users do not see the link."""

from __future__ import annotations

import os
import secrets
import sys
import time
import webbrowser
from collections.abc import Mapping
from html import escape
from pathlib import Path

from satchel.base.private_file import write_private
from satchel.interfaces.web.logins import LINK_MS, Logins

_PREFIX = "open-"
_LOOK_SECONDS = 0.2
_PAGE = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}"><title>Satchel</title>
<p><a href="{link}">Continue</a></p>
"""


def link_of(url: str, secret: str) -> str:
    """Return the link that logs in."""
    return f"{url}/login?key={secret}"


def has_display(environ: Mapping[str, str]) -> bool:
    """Return whether a browser can open a window."""
    if sys.platform in {"darwin", "win32"}:
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
