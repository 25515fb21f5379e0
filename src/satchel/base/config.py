"""Configuration from arguments, environment and files; invalid values are ignored with a warning."""

# The user's file may set every key. A project's file may have come with a clone, so each key declares whether it
# counts.

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from satchel.base.config_keys import KEYS, VARIABLE_PREFIX, Config, Key, Setting, Value, key_named
from satchel.base.errors import InvalidInput, Refused, nearest
from satchel.base.file_checks import flat, read_toml
from satchel.base.text import check_name

# The configuration file's name, in the store's folder and in the user's configuration folder.
FILE_NAME = "config.toml"

# Environment variables that are not configuration keys, with descriptions.
RESERVED_VARIABLES = {
    "SATCHEL_DB": "the store's file",
    "SATCHEL_PROJECT": "the project's name",
    "SATCHEL_RUN": "the default run",
    "SATCHEL_AGENT": "the default agent",
    "SATCHEL_SESSION": "the uid of the session; it precedes every other way to find the session",
    "SATCHEL_PERSON": "your name, for scripts and CI that you run outside of any client: they act as you, unasked",
    "SATCHEL_TRUST": "1 trusts every store, whatever its origin and owner: for containers and CI",
    "SATCHEL_TOKEN": "the token for the server at SATCHEL_URL, or at server.url",
    "SATCHEL_CONSULT_KEY": "the key for the address in consult.base_url",
    "SATCHEL_DEBUG": "show tracebacks of errors",
}

YOUR_FILE = "your config.toml"
_PROJECTS = "projects"
# Tables for ``satchel serve``, which reads them separately.
_DATABASES = "databases"

_SHOWN_CHARS = 60

# A value and its source.
_SourcedValue = tuple[object, str]


def load_config(
    folder: Path | None,
    environ: Mapping[str, str],
    arguments: Mapping[str, object] | None = None,
    *,
    user_file: Path | None = None,
    root: Path | None = None,
) -> Config:
    """Return the configuration; an invalid value gives a warning, and the next source counts.

    Arguments precede the environment, the user's file, the project's file and the defaults, in this order. In the
    user's file, tables of ``[projects."PATH"]`` precede others. Refuses a project's file that is a link, not a regular
    file or larger than 1 MiB.
    """
    warnings: list[str] = []
    names = [key.name for key in KEYS]
    given_arguments = {name: value for name, value in (arguments or {}).items() if value is not None}
    warnings += _unknown("argument", given_arguments, names)
    from_arguments = {
        key.name: (read_text(key, given_arguments[key.name]), "argument") for key in KEYS if key.name in given_arguments
    }
    variables = {variable: key for key in KEYS if (variable := key.variable) is not None}
    from_environ = {
        key.name: (read_text(key, environ[variable]), f"environment {variable}")
        for variable, key in variables.items()
        if environ.get(variable)
    }
    own_variables = (name for name in sorted(environ) if name.startswith(VARIABLE_PREFIX))
    warnings += _unknown("environment", own_variables, [*variables, *RESERVED_VARIABLES])
    from_user, from_project, problems = _from_files(folder, user_file, root)
    warnings += problems
    for source, values in ((YOUR_FILE, from_user), (FILE_NAME, from_project)):
        warnings += _unknown(source, values, names)
    warnings += _drop_user_keys(from_project, user_file)

    settings: list[Setting] = []
    for key in KEYS:
        setting, problems = _resolve(key, [from_arguments, from_environ, from_user, from_project])
        settings.append(setting)
        warnings += problems
    return Config(settings, warnings)


def _from_files(
    folder: Path | None, user_file: Path | None, root: Path | None
) -> tuple[dict[str, _SourcedValue], dict[str, _SourcedValue], list[str]]:
    # the values of the user's and of the project's file, and warnings
    warnings = []
    user: dict[str, object] = {}
    project: dict[str, object] = {}
    if user_file is not None:
        try:
            tables = read_toml(user_file, links=True)
            tables.pop(_DATABASES, None)
            of_projects = tables.pop(_PROJECTS, {})
            user = flat(tables)
            if isinstance(of_projects, dict):
                for path, own in of_projects.items():
                    if root is not None and isinstance(own, dict) and Path(path).expanduser() == root:
                        user |= flat(own)
            else:
                warnings.append(
                    f'{YOUR_FILE}: {_PROJECTS} is not a table; write [{_PROJECTS}."/path/of/project".store]'
                )
        except (InvalidInput, Refused) as error:
            warnings.append(f"{YOUR_FILE}: {error}")
    if folder is not None:
        if folder.is_symlink():
            raise Refused(f"{folder} is a link, not a folder", "Remove it, or name a store with --db PATH")
        try:
            project = flat(read_toml(folder / FILE_NAME, links=False))
        except InvalidInput as error:
            warnings.append(f"{FILE_NAME}: {error}")
    return (
        {name: (value, YOUR_FILE) for name, value in user.items()},
        {name: (value, FILE_NAME) for name, value in project.items()},
        warnings,
    )


def _drop_user_keys(settings: dict[str, _SourcedValue], user_file: Path | None) -> list[str]:
    # removes the keys that a project's file may not set, with a warning for each
    warnings = []
    for key in KEYS:
        if key.name not in settings or key.project == "yes":
            continue
        value = settings[key.name][0]
        own = f"your own file{'' if user_file is None else f' ({user_file})'}"
        own += f", {key.variable}" if key.variable is not None else ""
        if key.project == "no":
            warnings.append(
                f"{FILE_NAME}: {key.name} counts only in {own} or as an argument, since a project's file may come with "
                "a clone; it was ignored"
            )
            del settings[key.name]
        elif key.project == "stricter":
            if key.is_laxer(value):
                warnings.append(
                    f"{FILE_NAME}: a project's file may only set {key.name} to {key.strict_enough}, not to "
                    f"{_quote_value(value)}; set it in {own}"
                )
                del settings[key.name]
        elif isinstance(value, int) and isinstance(key.default, int) and value > key.default:
            warnings.append(
                f"{FILE_NAME}: a project's file may only lower {key.name} below {key.default}, not raise it to "
                f"{_quote_value(value)}; set it in {own}"
            )
            del settings[key.name]
    return warnings


def read_text(key: Key, value: object) -> object:
    """Convert text to the key's type, unchecked; return anything else unchanged."""
    if not isinstance(value, str) or key.type is str:
        return value
    if key.type is tuple:
        return tuple(part for part in value.split(os.pathsep) if part)
    if key.type is bool:
        return {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower(), value)
    try:
        return int(value) if key.type is int else float(value)
    except ValueError:
        return value


def parse_value(key: Key, value: object) -> Value:
    """Return a key's value, or refuse one of another type, out of range or not among the choices."""
    if key.type is tuple:
        if isinstance(value, list | tuple) and all(isinstance(part, str) and "\0" not in part for part in value):
            folders = tuple(str(Path(part).expanduser()) for part in value)
            if all(map(os.path.isabs, folders)):
                return folders
    elif isinstance(value, str) and key.type is str:
        if key.is_zone:
            from satchel.base.retention import zone_named

            name = check_name(value, key.name)
            zone_named(name, key.name)
            return name
        if not key.choices:
            return check_name(value, key.name)
        if value in key.choices:
            return value
    elif isinstance(value, int | float):
        # NaN is in no range, and the largest float excludes infinities and integers that would overflow
        widest = sys.float_info.max if key.type is float else math.inf
        least = -widest if key.minimum is None else key.minimum
        most = widest if key.maximum is None else key.maximum
        fits = type(value) is key.type or (key.type is float and type(value) is int)
        if fits and least <= value <= most:
            return value if key.type is bool else int(value) if key.type is int else float(value)
    raise InvalidInput(f"{key.name} {_quote_value(value)} is not {key.allowed}", "Change it or leave it out")


def check_setting(name: str, text: str, *, of_project: bool = False) -> tuple[Key, Value]:
    key = key_named(name)
    value = parse_value(key, read_text(key, text))
    problems = _drop_user_keys({name: (value, FILE_NAME)}, None) if of_project else []
    if problems:
        raise Refused(
            f"the project's file may not set {name} to {_quote_value(value)}", "Set it in your own, without --shared"
        )
    return key, value


def documented_toml(*, of_user: bool = False) -> str:
    """Return a commented ``config.toml`` that explains the keys of a project's or, if ``of_user``, the user's file."""
    lines = [
        f"# Satchel's configuration{' of this user' if of_user else ' for this project'}. "
        "Remove the # before a key to set it.",
        f"# Environment variables override this file: {KEYS[0].variable} sets {KEYS[0].name}.",
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
        example = key.default if key.example is None else key.example
        limits = {"lower": "; here it can only be lowered", "stricter": f"; here it can only be {key.strict_enough}"}
        only = "" if of_user else limits.get(key.project, "")
        lines += [f"# {key.help}", f"# {key.allowed}; default: {default}{only}", f"#{name} = {_toml(example)}"]
    return "\n".join(lines) + "\n"


def _unknown(source: str, names: Iterable[str], valid: Iterable[str]) -> list[str]:
    valid_names = list(valid)
    warnings = []
    for name in names:
        if name not in valid_names:
            close = nearest(name[:_SHOWN_CHARS], valid_names)
            hint = f"did you mean {close!r}?" if close else f"valid: {', '.join(valid_names)}"
            warnings.append(f"{source}: {_quote_value(name)} is not a key of Satchel; {hint}")
    return warnings


def _resolve(key: Key, sources: Iterable[Mapping[str, _SourcedValue]]) -> tuple[Setting, list[str]]:
    setting: Setting | None = None
    problems: list[InvalidInput] = []
    places: list[str] = []
    for raw, place in (source[key.name] for source in sources if key.name in source):
        try:
            value = parse_value(key, raw)
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


def _quote_value(value: object) -> str:
    # short, and never renders values that could be deep or huge
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
