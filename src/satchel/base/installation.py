"""The way this copy of Satchel was installed, and the command that adds an extra to it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from satchel.base.errors import MissingExtra

_NAME = "satchel"
_CACHE_FOLDER = re.compile(r"(?:archive|environments|builds)-v\d+")
_CACHE_MARK = "CACHEDIR.TAG"
_EXTRAS = re.compile(r"\[([^\]]*)\]")


def missing_extra(problem: str, extra: str) -> MissingExtra:
    return MissingExtra(problem, f"Run `{command_adding(extra)}`")


def command_adding(
    extra: str, *, prefix: str | None = None, environ: Mapping[str, str] = os.environ, path: Iterable[str] | None = None
) -> str:
    """Return the shell command that adds an extra to this copy and keeps its other extras.

    ``prefix`` is the Python environment, by default this process's; ``path`` the import path, by default ``sys.path``.
    """
    root = Path(sys.prefix if prefix is None else prefix).absolute()
    copies = metadata.distributions(name=_NAME, path=list(sys.path if path is None else path))
    distribution = next(iter(copies), None)
    source, options = _source(distribution)
    packages = [] if distribution is None else _packages(distribution, extra)
    if (root / "pipx_metadata.json").is_file():
        return _by_pipx(root, source, options, extra, packages)
    if (root / "uv-receipt.toml").is_file():
        installed = _read_toml(root / "uv-receipt.toml").get("tool", {}).get("requirements", [])
        if source is not None and len(installed) == 1:
            extras = {extra, *installed[0].get("extras", ())}
            return shlex.join(["uv", "tool", "install", "--force", *options, _with(source, extras)])
        return shlex.join([*_uv_pip(root), *packages])
    if source is not None and is_cached(root, environ):
        return shlex.join(["uvx", "--from", _with(source, {extra}), _NAME])
    wanted = packages if source is None else [*options, _with(source, {extra})]
    if distribution is not None and (distribution.read_text("INSTALLER") or "").strip() == "uv":
        return shlex.join([*_uv_pip(root), *wanted])
    python = str(_python(root))
    pip = [python, "-m", "pip"] if importlib.util.find_spec("pip") else ["pip", "--python", python]
    return shlex.join([*pip, "install", *wanted])


def source_of_this() -> str:
    """Return the argument that makes an installer install this copy again: a path, or a requirement with a URL."""
    source, _ = _source(next(iter(metadata.distributions(name=_NAME)), None))
    return shlex.quote("/path/to/satchel" if source is None else _with(source, ()))


def is_cached(root: Path, environ: Mapping[str, str]) -> bool:
    """Return whether an environment is in a cache: of ``uvx``, of ``pipx run``, or any marked as a cache."""
    caches = [environ.get("UV_CACHE_DIR"), environ.get("XDG_CACHE_HOME")]
    if (home := environ.get("HOME")) is not None:
        caches += [f"{home}/.cache", f"{home}/Library/Caches"]
    real = root.resolve()
    return (
        any(_CACHE_FOLDER.fullmatch(part) for part in real.parts)
        or any(real.is_relative_to(Path(folder).resolve()) for folder in caches if folder)
        or any((folder / _CACHE_MARK).is_file() for folder in real.parents)
    )


def _by_pipx(root: Path, source: str | None, options: list[str], extra: str, packages: list[str]) -> str:
    try:
        main = json.loads((root / "pipx_metadata.json").read_bytes())["main_package"]
        before, suffix = _EXTRAS.search(main["package_or_url"]), main.get("suffix") or ""
    except (OSError, ValueError, KeyError, TypeError):
        before, suffix = None, ""
    if source is None:
        return shlex.join(["pipx", "inject", _NAME + suffix, *packages])
    extras = {extra} | {one.strip() for one in before[1].split(",") if one.strip()} if before else {extra}
    if suffix:
        options = [*options, f"--suffix={suffix}"]
    # without --force, pipx leaves an existing installation as it is
    return shlex.join(["pipx", "install", "--force", *options, _with(source, extras)])


def _source(distribution: metadata.Distribution | None) -> tuple[str | None, list[str]]:
    # the path or URL of this copy for an installer, None if it is gone or unknown, and the options it needs
    if distribution is None:
        clone = Path(__file__).parents[3]
        return (str(clone), ["--editable"]) if (clone / "pyproject.toml").is_file() else (None, [])
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "")
        url = direct["url"]
        if not url.startswith("file:"):
            vcs = direct.get("vcs_info")
            return (f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url), []
        path = Path(url2pathname(urlsplit(url).path))
        is_editable = direct.get("dir_info", {}).get("editable") is True
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, []
    return (str(path), ["--editable"] if is_editable else []) if path.exists() else (None, [])


def _with(source: str, extras: Iterable[str]) -> str:
    marked = f"[{','.join(sorted(extras))}]" if extras else ""
    return f"{_NAME}{marked} @ {source}" if "://" in source else f"{source}{marked}"


def _packages(distribution: metadata.Distribution, extra: str) -> list[str]:
    # the requirements of an extra, for a copy whose source is gone
    lines = (line.partition(";") for line in distribution.requires or ())
    return [wanted.strip() for wanted, _, marker in lines if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", marker)]


def _read_toml(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _python(root: Path) -> Path:
    return root / "bin/python"


def _uv_pip(root: Path) -> list[str]:
    return ["uv", "pip", "install", "--python", str(_python(root))]
