"""Build tools that would publish the store, as these tools were seen to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from satchel.keep.housekeeping.publishing import find_publishers

HATCH = '[build-system]\nbuild-backend = "hatchling.build"\n'
FLIT = '[build-system]\nbuild-backend = "flit_core.buildapi"\n[tool.flit.sdist]\n'
PDM = '[build-system]\nbuild-backend = "pdm.backend"\n[tool.pdm.build]\n'
POETRY = '[build-system]\nbuild-backend = "poetry.core.masonry.api"\n[tool.poetry]\n'
SETUPTOOLS = '[build-system]\nbuild-backend = "setuptools.build_meta"\n'

PUBLISHED: dict[str, tuple[Mapping[str, str], str]] = {
    "hatch": ({"pyproject.toml": HATCH}, 'set `exclude = ["/.satchel"]` in [tool.hatch.build] of pyproject.toml'),
    "hatch, an exclusion that does not count": (
        {
            "pyproject.toml": f'{HATCH}[tool.hatch.build]\nexclude = ["/.satchel"]\n'
            '[tool.hatch.build.targets.sdist]\nexclude = ["/x"]\n'
        },
        'set `exclude = ["/x", "/.satchel"]` in [tool.hatch.build.targets.sdist] of pyproject.toml',
    ),
    "hatch, everything included": (
        {"pyproject.toml": f'{HATCH}[tool.hatch.build.targets.sdist]\ninclude = ["*"]\n'},
        'set `exclude = ["/.satchel"]`',
    ),
    "hatch, no ignore files": (
        {"pyproject.toml": f"{HATCH}[tool.hatch.build]\nignore-vcs = true\n", ".gitignore": ".satchel\n"},
        'set `exclude = ["/.satchel"]`',
    ),
    "setuptools, graft": (
        {"MANIFEST.in": "graft .\n", "setup.py": ""},
        "add `prune .satchel` at the end of MANIFEST.in",
    ),
    "setuptools, recursive": ({"MANIFEST.in": "recursive-include * *\n"}, "prune .satchel"),
    "setuptools, global": ({"MANIFEST.in": "global-include *\n", "pyproject.toml": SETUPTOOLS}, "prune .satchel"),
    "flit": ({"pyproject.toml": f'{FLIT}include = ["."]\n'}, 'set `exclude = [".satchel"]` in [tool.flit.sdist]'),
    "pdm": ({"pyproject.toml": f'{PDM}includes = ["."]\n'}, 'set `excludes = [".satchel"]` in [tool.pdm.build]'),
    "pdm, sources": ({"pyproject.toml": f'{PDM}source-includes = ["."]\n'}, 'set `excludes = [".satchel"]`'),
    "poetry": (
        {"pyproject.toml": f'{POETRY}include = [{{path = "**/*", format = "sdist"}}]\nexclude = [".satchel"]\n'},
        "name the folders that tool.poetry.include means",
    ),
    "docker": ({"Dockerfile": "FROM x\nCOPY --chown=a . /app\n"}, "add `.satchel` to .dockerignore"),
    "docker, as a list": ({"Containerfile": 'FROM x\nADD [".", "/app"]\n', ".dockerignore": "x\n"}, "add `.satchel`"),
}

KEPT: dict[str, Mapping[str, str]] = {
    "nothing": {},
    "hatch, ignored at the top": {"pyproject.toml": HATCH, ".gitignore": "dist\n/.satchel/\n"},
    "hatch, excluded": {"pyproject.toml": f'{HATCH}[tool.hatch.build]\nexclude = ["/.satchel"]\n'},
    "hatch, only": {"pyproject.toml": f'{HATCH}[tool.hatch.build.targets.sdist]\nonly-include = ["src"]\n'},
    "hatch, packages": {"pyproject.toml": f'{HATCH}[tool.hatch.build.targets.sdist]\npackages = ["src/a"]\n'},
    "hatch, included": {"pyproject.toml": f'{HATCH}[tool.hatch.build.targets.sdist]\ninclude = ["/src"]\n'},
    "setuptools": {"pyproject.toml": SETUPTOOLS, "MANIFEST.in": "include LICENSE\nrecursive-include docs *\n"},
    "setuptools, pruned": {"MANIFEST.in": "graft .\nprune .satchel\n"},
    "flit": {"pyproject.toml": f'{FLIT}include = ["**/*"]\n'},
    "flit, excluded": {"pyproject.toml": f'{FLIT}include = ["."]\nexclude = [".satchel"]\n'},
    "pdm": {"pyproject.toml": f'{PDM}source-includes = ["**/*"]\n'},
    "poetry": {"pyproject.toml": f'{POETRY}include = ["docs/**/*"]\n'},
    "a manifest that hatch does not read": {
        "pyproject.toml": f'{HATCH}[tool.hatch.build]\nexclude = [".satchel"]\n',
        "MANIFEST.in": "graft .\n",
    },
    "docker, ignored": {"Dockerfile": "FROM x\nCOPY . .\n", ".dockerignore": "*\n!src\n"},
    "docker, a folder": {"Dockerfile": "FROM x\nCOPY ./src /app\nCOPY .env /app\n"},
    "what is no configuration": {"pyproject.toml": "[", "MANIFEST.in": "\0graft", "Dockerfile": "COPY"},
    "tables of another form": {"pyproject.toml": f"{HATCH}[tool]\nhatch = 3\n", ".gitignore": ".*\n"},
}


def place(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_what_would_publish_the_store_is_named_with_the_line_to_add(tmp_path: Path) -> None:
    wrong = {}
    for number, (name, (files, remedy)) in enumerate(PUBLISHED.items()):
        (tmp_path / str(number)).mkdir()
        publishers = find_publishers(place(tmp_path / str(number), files))
        if [remedy in one.remedy for one in publishers] != [True]:
            wrong[name] = publishers
    assert wrong == {}


def test_nothing_else_is(tmp_path: Path) -> None:
    wrong = {}
    for number, (name, files) in enumerate(KEPT.items()):
        (tmp_path / str(number)).mkdir()
        publishers = find_publishers(place(tmp_path / str(number), files))
        if publishers:
            wrong[name] = publishers
    assert wrong == {}
