"""The server options of ``satchel setup``: address, token, and projects."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from satchel.base.errors import InvalidInput, Refused, Unreachable
from satchel.base.folders import current_folder
from satchel.base.paths import StorePlace
from satchel.base.records import dataclass
from satchel.interfaces.setup.address import Address, plan_address, reach
from satchel.interfaces.setup.planning import Plan
from satchel.remote.where import TOKEN, checked_token, checked_url, configured_for, read_token

_MOST_CHARS = 4_096
_FROM_INPUT = "-"
_NOTHING = Plan((), ())


@dataclass(frozen=True, slots=True)
class Remote:
    """The server options of ``satchel setup``.

    Attributes:
        url: the address as typed, or None.
        token: ``-`` reads the token from standard input.
        token_file: the file with the token.
        everywhere: for all projects.
        offline: skip the check with the server.
    """

    url: str | None
    token: str | None
    token_file: str | None
    everywhere: bool
    offline: bool

    @property
    def writes_address(self) -> bool:
        """Return whether to write the address to the user's configuration."""
        return self.url is not None

    def check_options(self, *, is_removal: bool, mode: str | None) -> None:
        """Refuse options that exclude each other."""
        of_token = [name for name, value in (("--token", self.token), ("--token-file", self.token_file)) if value]
        others = [*of_token, *("--" + name for name in ("everywhere", "offline") if getattr(self, name))]
        if self.url is None:
            if others:
                raise InvalidInput(f"{others[0]} goes with --url", "Add --url URL, the server's address")
            return
        if self.token not in {None, _FROM_INPUT}:
            raise InvalidInput(
                "a token on the command line stays in the shell's history and is seen by others",
                f"Write --token -, which asks for it, --token-file FILE, or set {TOKEN}",
            )
        if len(of_token) > 1:
            raise InvalidInput("--token and --token-file exclude each other", "Choose one")
        if is_removal and (unfit := [name for name in others if name != "--everywhere"]):
            raise InvalidInput(f"{unfit[0]} does not go with --remove", "Leave it out")
        if mode == "--check":
            raise InvalidInput("--url does not go with --check", "Leave one of the two out")
        if mode == "--print" and others:
            raise InvalidInput(f"{others[0]} does not go with --print", "Leave it out")

    def checked_url(self) -> str | None:
        """Return the validated address, or None."""
        return None if self.url is None else checked_url(self.url, insecure=configured_for(current_folder()).insecure)

    def project_of(self, store: StorePlace | None) -> Path | None:
        """Return the root of the project to configure; None for all."""
        if self.everywhere:
            return None
        if store is None or store.root is None:
            raise Refused(f"{current_folder()} lies in no project", "Go into one, or add --everywhere for all projects")
        return store.root

    def plan(self, store: StorePlace | None, *, asks: bool, is_dry: bool) -> Plan:
        """Check the server, and plan the changes to the user's configuration."""
        url = self.checked_url()
        if url is None:
            return _NOTHING
        project = self.project_of(store)
        token = self._token(url, asks=asks)
        reply = None
        if not (self.offline or is_dry):
            try:
                reply = reach(url, token)
            except Unreachable as error:
                if not (asks and click.confirm(f"{error.problem}. Write it all the same?", default=False)):
                    raise
        return plan_address(Address(url, token, project), reply)

    def _token(self, url: str, *, asks: bool) -> str:
        if self.token_file is not None:
            try:
                with Path(self.token_file).expanduser().open(encoding="ascii", errors="replace") as stream:
                    return checked_token(stream.read(_MOST_CHARS), self.token_file)
            except OSError as error:
                raise InvalidInput(
                    f"{self.token_file} cannot be read ({error.strerror})", "Name another file"
                ) from error
        if self.token == _FROM_INPUT:
            value = _prompted() if sys.stdin.isatty() else sys.stdin.readline(_MOST_CHARS)
            return checked_token(value, "the input")
        if os.environ.get(TOKEN):
            return checked_token(os.environ[TOKEN], f"environment {TOKEN}")
        before = configured_for(current_folder())
        if before.token_file is not None and before.url is not None and checked_url(before.url, insecure=True) == url:
            return read_token(before.token_file)
        if asks:
            return checked_token(_prompted(), "the input")
        raise InvalidInput(
            f"there is no token for {url}",
            f"Add --token -, which reads it from the input, --token-file FILE, or set {TOKEN}; "
            "`satchel token new NAME` makes one where the server runs",
        )


def _prompted() -> str:
    return str(click.prompt("Token", hide_input=True, err=True))
