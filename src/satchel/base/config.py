"""Configuration: one table of keys; a fault in a source is warned about and passed over, never fatal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.base.config_keys import KEYS, VARIABLE_PREFIX, Key, Value
from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.text import check_name

FILE_NAME = "config.toml"
"""The configuration file's name, in the folder of the store."""

RESERVED_VARIABLES = (
    *("SATCHEL_DB", "SATCHEL_RUN", "SATCHEL_AGENT", "SATCHEL_PROJECT", "SATCHEL_DEBUG"),
    "SATCHEL_CONSULT_KEY",
)
"""Environment variables of Satchel that are no configuration keys."""

_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Setting:
    """A key's value in force, and where it came from.

    Attributes:
        key: the row of :data:`KEYS`.
        value: a valid value of the key, or None where it is not set.
        source: ``argument``, ``environment SATCHEL_...``, ``config.toml`` or ``default``.
    """

    key: Key
    value: Value
    source: str


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration in force: a typed attribute for each row of :data:`KEYS`, and how it came about.

    Attributes:
        settings: every key's value with its source, in the table's order.
        warnings: what was wrong in the sources, one sentence each.
    """

    store_durability: str
    store_lock_wait_ms: int
    store_backups_keep: int
    context_max_per_loop: int | None
    context_max_content_kib: int
    layers_open: bool
    claims_minutes: int
    retention_messages_hours: int
    retention_unread_messages_hours: int
    retention_file_changes_hours: int
    retention_conversations_days: int
    retention_skip_weekends: bool
    retention_zone: str
    pack_budget: int
    pack_token_factor: float
    pack_deadline_ms: int
    pack_share_attempts: int | None
    pack_share_reviews: int | None
    pack_share_packages: int | None
    pack_share_rules: int | None
    pack_share_errors: int | None
    pack_share_messages: int | None
    pack_share_entries: int | None
    consult_stable_inline_list: bool
    consult_base_url: str | None
    consult_window_tokens: int | None
    consult_output_tokens: int | None
    consult_idle_seconds: int
    consult_total_seconds: int
    consult_blob_mib: int
    tokens_encoding: str
    project_name: str | None
    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]

    def setting(self, name: str) -> Setting:
        """Return a key's value with its source.

        Args:
            name: the key, as in ``store.durability``.

        Raises:
            InvalidInput: there is no such key.
        """
        for setting in self.settings:
            if setting.key.name == name:
                return setting
        raise unknown_name("configuration key", name, (key.name for key in KEYS))


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that a source gives to a key."""

    value: object
    source: str


def load_config(
    folder: Path | None, environ: Mapping[str, str], arguments: Mapping[str, object] | None = None
) -> Config:
    """Collect the configuration; never fails over what a source says.

    An argument goes before the environment, that before the file, that before the default. A value that is
    not valid is warned about by key and source, and the next source counts.

    Args:
        folder: the folder that may hold a ``config.toml``, that is the store's; None reads no file.
        environ: environment variables; ``store.durability`` is ``SATCHEL_STORE_DURABILITY``. An empty one
            counts as not set.
        arguments: values by key name, as values or as text; None counts as not given.
    """
    warnings: list[str] = []
    names = [key.name for key in KEYS]
    given_arguments = {name: value for name, value in (arguments or {}).items() if value is not None}
    warnings += _unknown("argument", given_arguments, names)
    from_arguments = {
        key.name: _Given(read_text(key, given_arguments[key.name]), "argument")
        for key in KEYS
        if key.name in given_arguments
    }
    from_environ = {
        key.name: _Given(read_text(key, environ[key.variable]), f"environment {key.variable}")
        for key in KEYS
        if environ.get(key.variable)
    }
    variables = [key.variable for key in KEYS] + list(RESERVED_VARIABLES)
    warnings += _unknown("environment", filter(_is_ours, sorted(environ)), variables)
    from_file: dict[str, _Given] = {}
    if folder is not None:
        try:
            from_file = {name: _Given(value, FILE_NAME) for name, value in _read_file(folder / FILE_NAME)}
        except InvalidInput as error:
            warnings.append(f"{FILE_NAME}: {error}")
    warnings += _unknown(FILE_NAME, from_file, names)

    settings: list[Setting] = []
    for key in KEYS:
        setting, problems = _resolve(key, [from_arguments, from_environ, from_file])
        settings.append(setting)
        warnings += problems
    values: dict[str, Any] = {setting.key.attribute: setting.value for setting in settings}
    return Config(**values, settings=tuple(settings), warnings=tuple(warnings))


def read_text(key: Key, given: object) -> object:
    """Return the value that a text spells for a key, unchecked.

    Args:
        key: a row of the table.
        given: the text; ``true``, ``false``, ``1`` and ``0`` spell a switch. What is no text, or spells no
            value of the key's type, is returned as it is.
    """
    if not isinstance(given, str) or key.type is str:
        return given
    if key.type is bool:
        return {"true": True, "false": False, "1": True, "0": False}.get(given.strip().lower(), given)
    try:
        return key.type(given)
    except ValueError:
        return given


def parse_value(key: Key, given: object) -> Value:
    """Return a key's value, checked.

    Args:
        key: a row of the table.
        given: a value of the key's type; a whole number will do for a number.

    Raises:
        InvalidInput: it is of another type, out of range or not a choice.
    """
    if isinstance(given, str) and key.type is str:
        if key.is_zone:
            from satchel.base.weekdays import check_zone

            return check_zone(check_name(given, key.name), key.name)
        if not key.choices:
            return check_name(given, key.name)
        if given in key.choices:
            return given
    elif isinstance(given, int | float):
        # NaN is in no range, and the greatest float keeps infinities and what would overflow out.
        widest = sys.float_info.max if key.type is float else math.inf
        least = -widest if key.minimum is None else key.minimum
        most = widest if key.maximum is None else key.maximum
        fits = type(given) is key.type or (key.type is float and type(given) is int)
        if fits and least <= given <= most:
            return key.type(given)
    raise _bad(key, given)


def documented_toml() -> str:
    """Return the text of a ``config.toml`` that explains every key and sets none.

    A line that would set a key begins with ``#`` and no space.
    """
    lines = [
        "# Satchel's configuration. Remove the # before a key to set it.",
        f"# An environment variable goes before this file: {KEYS[0].variable} sets {KEYS[0].name}.",
    ]
    table = ""
    for key in KEYS:
        head, name = key.name.split(".")
        if head != table:
            lines += ["", f"[{head}]"]
            table = head
        default = "not set" if key.default is None else _toml(key.default)
        shown = key.example if key.default is None else key.default
        lines += [f"# {key.help}", f"# {key.allowed}; default: {default}", f"#{name} = {_toml(shown)}"]
    return "\n".join(lines) + "\n"


def _is_ours(variable: str) -> bool:
    return variable.startswith(VARIABLE_PREFIX)


def _unknown(source: str, names: Iterable[str], valid: Iterable[str]) -> list[str]:
    known = list(valid)
    warnings = []
    for name in names:
        if name not in known:
            close = nearest(name[:_SHOWN_CHARS], known)
            hint = f"did you mean {close!r}?" if close else f"valid: {', '.join(known)}"
            warnings.append(f"{source}: {_shown(name)} is no key of Satchel; {hint}")
    return warnings


def _resolve(key: Key, sources: Iterable[Mapping[str, _Given]]) -> tuple[Setting, list[str]]:
    setting: Setting | None = None
    problems: list[InvalidInput] = []
    places: list[str] = []
    for given in (source[key.name] for source in sources if key.name in source):
        try:
            value = parse_value(key, given.value)
        except InvalidInput as error:
            problems.append(error)
            places.append(given.source)
        else:
            setting = setting or Setting(key, value, given.source)
    setting = setting or Setting(key, key.default, "default")
    used = "not set" if setting.value is None else _toml(setting.value)
    return setting, [
        f"{place}: {problem.problem}; {key.name} is {used} ({setting.source})"
        for place, problem in zip(places, problems, strict=True)
    ]


def _read_file(path: Path) -> list[tuple[str, object]]:
    """Return the file's keys, each with its table's name before it, or nothing where there is no file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InvalidInput(f"cannot be read ({error.strerror})", "None of its keys count") from error
    import tomllib

    try:
        tables = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
        raise InvalidInput(f"is not valid TOML ({error})", "None of its keys count") from error
    keys: list[tuple[str, object]] = []
    for table, content in tables.items():
        if isinstance(content, dict):
            keys += [(f"{table}.{name}", value) for name, value in content.items()]
        else:
            keys.append((table, content))
    return keys


def _bad(key: Key, given: object) -> InvalidInput:
    return InvalidInput(f"{key.name} {_shown(given)} is not {key.allowed}", "Change it or leave it out")


def _shown(value: object) -> str:
    """Return a value as a warning shows it: short, and never rendering what could be deep or huge."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN_CHARS else repr(value[:_SHOWN_CHARS]) + "..."
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**18):
        return _toml(value)
    if isinstance(value, int):
        return "(a very large number)"
    return f"({type(value).__name__})"


def _toml(value: Value) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
