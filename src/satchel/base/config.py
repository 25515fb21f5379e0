"""Configuration: one table of keys; a fault in a source is warned about and passed over.

The user's own file may set every key. What a project's file may set is said key by key: it may have come with a clone.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from satchel.base.config_files import flat, read_file
from satchel.base.config_keys import KEYS, VARIABLE_PREFIX, Key, Value
from satchel.base.errors import InvalidInput, Refused, nearest, unknown_name
from satchel.base.records import dataclass
from satchel.base.text import check_name

FILE_NAME = "config.toml"
"""The configuration file's name, in the folder of the store and in the user's own."""

RESERVED_VARIABLES = {
    "SATCHEL_DB": "the store's file",
    "SATCHEL_PROJECT": "the project's name",
    "SATCHEL_RUN": "the run where a call names none",
    "SATCHEL_AGENT": "who acts where a call names nobody",
    "SATCHEL_SESSION": "the session that calls belong to, by its uid: every other way of finding it comes after",
    "SATCHEL_TRUST": "1 trusts every store, whatever its origin and owner: for containers and CI",
    "SATCHEL_TOKEN": "the token for the server at SATCHEL_URL, or at server.url",
    "SATCHEL_CONSULT_KEY": "the key for the address in consult.base_url",
    "SATCHEL_DEBUG": "show tracebacks of faults",
}
"""Environment variables of Satchel that are no configuration keys, and what they say."""

_YOUR_FILE = "your config.toml"
_PROJECTS = "projects"
_DATABASES = "databases"
"""Tables for ``satchel serve``, which reads them itself."""

_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Setting:
    """A key's value in force, and where it came from.

    Attributes:
        key: the row of :data:`KEYS`.
        value: a valid value of the key, or None where it is not set.
        source: ``argument``, ``environment SATCHEL_...``, ``your config.toml``, ``config.toml`` or ``default``.
    """

    key: Key
    value: Value
    source: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # 35 fields: comparing and showing them took 1 ms to make
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
    brief_budget: int
    brief_token_factor: float
    brief_deadline_ms: int
    brief_share_attempts: int | None
    brief_share_reviews: int | None
    brief_share_packages: int | None
    brief_share_rules: int | None
    brief_share_errors: int | None
    brief_share_messages: int | None
    brief_share_entries: int | None
    hooks_start: int
    hooks_resume: int
    hooks_compaction: int
    hooks_subagent: int
    hooks_prompt: int
    hooks_edit: int
    hooks_error: int
    hooks_messages: int
    hooks_claims: str
    hooks_end: bool
    hooks_visible: bool
    hooks_deadline_ms: int | None
    share_accept: bool
    share_branch: str | None
    guard_claims: str
    consult_stable_inline_list: bool
    consult_base_url: str | None
    consult_window_tokens: int | None
    consult_output_tokens: int | None
    consult_idle_seconds: int
    consult_total_seconds: int
    consult_blob_mib: int
    tokens_encoding: str
    trust_folders: tuple[str, ...]
    server_url: str | None
    server_token_file: str | None
    server_insecure: bool
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


_Given = tuple[object, str]
"""A value that a source gives to a key, and the source."""


def load_config(
    folder: Path | None,
    environ: Mapping[str, str],
    arguments: Mapping[str, object] | None = None,
    *,
    user_file: Path | None = None,
    root: Path | None = None,
) -> Config:
    """Collect the configuration; what a source says wrong is warned about by key and source, and the next one counts.

    An argument goes before the environment, that before the user's file, that before the project's, that before the
    default. In the user's file the tables of ``[projects."PATH"]`` go before the others.

    Args:
        folder: the folder that may hold the project's ``config.toml``, that is the store's; None reads no file.
        environ: environment variables; ``store.durability`` is ``SATCHEL_STORE_DURABILITY``. An empty one
            counts as not set.
        arguments: values by key name, as values or as text; None counts as not given.
        user_file: the user's file, which need not exist; None reads none.
        root: the project's root folder, whose tables in the user's file count.

    Raises:
        Refused: the project's file is a link, no regular file or larger than 1 MiB.
    """
    warnings: list[str] = []
    names = [key.name for key in KEYS]
    given_arguments = {name: value for name, value in (arguments or {}).items() if value is not None}
    warnings += _unknown("argument", given_arguments, names)
    from_arguments = {
        key.name: (read_text(key, given_arguments[key.name]), "argument") for key in KEYS if key.name in given_arguments
    }
    from_environ = {
        key.name: (read_text(key, environ[key.variable]), f"environment {key.variable}")
        for key in KEYS
        if environ.get(key.variable)
    }
    variables = [key.variable for key in KEYS] + list(RESERVED_VARIABLES)
    warnings += _unknown("environment", filter(_is_ours, sorted(environ)), variables)
    from_user, from_project, problems = _from_files(folder, user_file, root)
    warnings += problems
    for source, given in ((_YOUR_FILE, from_user), (FILE_NAME, from_project)):
        warnings += _unknown(source, given, names)
    warnings += _not_for_projects(from_project, user_file)

    settings: list[Setting] = []
    for key in KEYS:
        setting, problems = _resolve(key, [from_arguments, from_environ, from_user, from_project])
        settings.append(setting)
        warnings += problems
    values: dict[str, Any] = {setting.key.attribute: setting.value for setting in settings}
    return Config(**values, settings=tuple(settings), warnings=tuple(warnings))


def _from_files(
    folder: Path | None, user_file: Path | None, root: Path | None
) -> tuple[dict[str, _Given], dict[str, _Given], list[str]]:
    """Return what the user's and the project's file say, and what is wrong with them."""
    warnings = []
    user: dict[str, object] = {}
    project: dict[str, object] = {}
    if user_file is not None:
        try:
            tables = read_file(user_file, links=True)
            tables.pop(_DATABASES, None)
            of_projects = tables.pop(_PROJECTS, {})
            user = flat(tables)
            if isinstance(of_projects, dict):
                for path, own in of_projects.items():
                    if root is not None and isinstance(own, dict) and Path(path).expanduser() == root:
                        user |= flat(own)
            else:
                warnings.append(f'{_YOUR_FILE}: {_PROJECTS} is no table; write [{_PROJECTS}."/path/of/project".store]')
        except (InvalidInput, Refused) as error:
            warnings.append(f"{_YOUR_FILE}: {error}")
    if folder is not None:
        if folder.is_symlink():
            raise Refused(f"{folder} is a link, not a folder", "Remove it, or name a store with --db PATH")
        try:
            project = flat(read_file(folder / FILE_NAME, links=False))
        except InvalidInput as error:
            warnings.append(f"{FILE_NAME}: {error}")
    return (
        {name: (value, _YOUR_FILE) for name, value in user.items()},
        {name: (value, FILE_NAME) for name, value in project.items()},
        warnings,
    )


def _not_for_projects(given: dict[str, _Given], user_file: Path | None) -> list[str]:
    """Take out of a project's file what it may not set; return a warning for each key."""
    warnings = []
    for key in KEYS:
        if key.name not in given or key.project == "yes":
            continue
        value = given[key.name][0]
        own = f"your own file{'' if user_file is None else f' ({user_file})'}, {key.variable}"
        if key.project == "no":
            warnings.append(
                f"{FILE_NAME}: {key.name} counts only in {own} or as an argument, since a project's file may come with "
                "a clone; it was passed over"
            )
            del given[key.name]
        elif key.project == "stricter":
            if key.is_laxer(value):
                warnings.append(
                    f"{FILE_NAME}: a project's file may only set {key.name} to {key.strict_enough}, not to "
                    f"{_shown(value)}; set it in {own}"
                )
                del given[key.name]
        elif isinstance(value, int) and isinstance(key.default, int) and value > key.default:
            warnings.append(
                f"{FILE_NAME}: a project's file may only lower {key.name} below {key.default}, not raise it to "
                f"{_shown(value)}; set it in {own}"
            )
            del given[key.name]
    return warnings


def read_text(key: Key, given: object) -> object:
    """Return the value that a text spells for a key, unchecked.

    Args:
        key: a row of the table.
        given: the text; ``true``, ``false``, ``1`` and ``0`` spell a switch. What is no text, or spells no
            value of the key's type, is returned as it is.
    """
    if not isinstance(given, str) or key.type is str:
        return given
    if key.type is tuple:
        return tuple(part for part in given.split(os.pathsep) if part)
    if key.type is bool:
        return {"true": True, "false": False, "1": True, "0": False}.get(given.strip().lower(), given)
    try:
        return int(given) if key.type is int else float(given)
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
    if key.type is tuple:
        if isinstance(given, list | tuple) and all(isinstance(part, str) and "\0" not in part for part in given):
            folders = tuple(str(Path(part).expanduser()) for part in given)
            if all(map(os.path.isabs, folders)):
                return folders
    elif isinstance(given, str) and key.type is str:
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
            return given if key.type is bool else int(given) if key.type is int else float(given)
    raise _bad(key, given)


def documented_toml(*, of_user: bool = False) -> str:
    """Return the text of a ``config.toml`` that explains every key that counts there, and sets none.

    A line that would set a key begins with ``#`` and no space.

    Args:
        of_user: for the user's file, which may set every key, instead of a project's.
    """
    lines = [
        f"# Satchel's configuration{' of this user' if of_user else ' for this project'}. "
        "Remove the # before a key to set it.",
        f"# An environment variable goes before this file: {KEYS[0].variable} sets {KEYS[0].name}.",
    ]
    if of_user:
        lines.append(f'# For one project alone, name the table so: [{_PROJECTS}."/path/of/project".store]')
    else:
        lines.append("# Other keys count only in your own file: `satchel config --template --user` explains them.")
    table = ""
    for key in KEYS:
        if not of_user and key.project == "no":
            continue
        head, name = key.name.split(".")
        if head != table:
            lines += ["", f"[{head}]"]
            table = head
        default = "not set" if key.default is None else _toml(key.default)
        shown = key.default if key.example is None else key.example
        limits = {"lower": "; here it can only be lowered", "stricter": f"; here it can only be {key.strict_enough}"}
        only = "" if of_user else limits.get(key.project, "")
        lines += [f"# {key.help}", f"# {key.allowed}; default: {default}{only}", f"#{name} = {_toml(shown)}"]
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
    for given, place in (source[key.name] for source in sources if key.name in source):
        try:
            value = parse_value(key, given)
        except InvalidInput as error:
            problems.append(error)
            places.append(place)
        else:
            setting = setting or Setting(key, value, place)
    setting = setting or Setting(key, key.default, "default")
    if not problems:
        return setting, []
    used = "not set" if setting.value is None else _toml(setting.value)
    return setting, [
        f"{place}: {problem.problem}; {key.name} is {used} ({setting.source})"
        for place, problem in zip(places, problems, strict=True)
    ]


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
