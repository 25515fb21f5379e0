"""The databases that tokens can give access to, read only from the operator's configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from satchel.base.config import FILE_NAME
from satchel.base.errors import InvalidInput, nearest
from satchel.base.file_checks import read_secret, read_toml, refuse_readers
from satchel.base.folders import config_folder
from satchel.store.postgres import Address, parse

TABLE = "databases"
_PREFIX = "postgresql:"
_KEYS = ("url", "schema", "role", "password_file")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


def store_of(name: str) -> str:
    """Return the store name that tokens use for a configured database."""
    return f"{_PREFIX}{name}"


def is_database(store: str) -> bool:
    return store.startswith(_PREFIX) and _NAME.fullmatch(store.removeprefix(_PREFIX)) is not None


def name_of(store: str) -> str:
    return store.removeprefix(_PREFIX)


def configuration_file(named: Path | None) -> Path:
    """Return the configuration file with the databases: the operator's choice, else the user's own file."""
    if named is None:
        return config_folder() / FILE_NAME
    if not named.is_file():
        raise InvalidInput(f"there is no file {named}", "Name the file with the [databases]: --config FILE")
    return named.absolute()


class Databases:
    """The databases of one server."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tables: Mapping[str, object] | None = None

    def every(self) -> dict[str, Address]:
        return {name: self.address(name) for name in self._known()}

    def address(self, name: str) -> Address:
        known = self._known()
        if name not in known:
            close = nearest(name, known)
            raise InvalidInput(
                f"there is no database {name[:80]!r} in {self._file}",
                f"Did you mean {close}?" if close else f"Write a table [{TABLE}.{name[:80]}] with url = ... there",
            )
        table = self._table(name, known[name])
        try:
            address = parse(table["url"], table.get("schema"), table.get("role"), self._password(name, table))
        except InvalidInput as error:
            raise InvalidInput(f"{TABLE}.{name} in {self._file}: {error.problem}", error.remedy) from None
        if urlsplit(address.url).password or "password=" in address.url:
            refuse_readers(self._file, self._file.stat(), "holds a password")
        return address

    def _known(self) -> Mapping[str, object]:
        if self._tables is None:
            try:
                tables = read_toml(self._file, links=True, about=TABLE.encode()).get(TABLE, {})
            except InvalidInput as error:
                raise InvalidInput(f"{self._file} {error.problem}", "Correct it") from None
            if not isinstance(tables, dict):
                raise InvalidInput(f"{TABLE} in {self._file} is no table", f"Write [{TABLE}.NAME] with url = ... below")
            self._tables = tables
        return self._tables

    def _table(self, name: str, table: object) -> dict[str, str]:
        where = f"{TABLE}.{name[:80]} in {self._file}"
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{where} is no name of a database", "Take letters, digits, - and _, at most 63")
        if not isinstance(table, dict) or not isinstance(table.get("url"), str):
            raise InvalidInput(f"{where} has no url", 'Write url = "postgresql://USER@HOST/DATABASE"')
        for key, value in table.items():
            if key not in _KEYS:
                raise InvalidInput(f"{where} has an unknown key {key[:40]!r}", f"Valid: {', '.join(_KEYS)}")
            if not isinstance(value, str):
                raise InvalidInput(f"{where}: {key} is no text", f'Write {key} = "..."')
        return table

    def _password(self, name: str, table: Mapping[str, str]) -> str | None:
        named = table.get("password_file")
        if named is None:
            return None
        path = self._file.parent / Path(named).expanduser()
        what = f"the password of the database {name}"
        text = read_secret(path, what, "Check the path").rstrip("\r\n")
        if not text or "\0" in text or "\n" in text:
            raise InvalidInput(f"{path} does not hold {what} alone, on one line", "Write it there, and nothing else")
        return text
