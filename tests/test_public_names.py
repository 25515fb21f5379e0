from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import satchel
from satchel import open_satchel


def test_every_public_name_has_one_home() -> None:
    homes = [name for names in satchel._HOMES.values() for name in names]
    assert sorted([*homes, "__version__"]) == sorted(satchel.__all__)
    assert len(set(satchel.__all__)) == len(satchel.__all__)


def test_every_public_name_can_be_imported() -> None:
    for name in satchel.__all__:
        value = getattr(satchel, name)
        if name in satchel._HOME_OF:
            assert value is getattr(importlib.import_module(satchel._HOME_OF[name]), name), name


def test_every_error_of_the_table_is_public() -> None:
    from satchel.base.errors import SatchelError

    names = {error.__name__ for error in SatchelError.__subclasses__() if error.__module__ == SatchelError.__module__}
    assert names <= set(satchel.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'satchel' has no attribute 'nothing'"):
        _ = satchel.nothing


def test_the_listing_of_names_is_the_public_face() -> None:
    assert dir(satchel) == sorted(satchel.__all__)


def loaded_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after some code."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_importing_satchel_loads_nothing_else() -> None:
    others = {name for name in loaded_after("import satchel") if name.partition(".")[0] == "satchel"}
    assert others == {"satchel"}


HEAVY = {"click", "rich", "mcp", "pydantic", "asyncio", "difflib", "subprocess", "tomllib", "starlette", "psycopg"}


def test_importing_satchel_loads_no_heavy_module() -> None:
    assert not loaded_after("import satchel") & (HEAVY | {"apsw", "typing_extensions", "sqlite3"})


def test_writing_and_reading_loads_no_heavy_module(tmp_path: object) -> None:
    code = f"""
from satchel import open_satchel
from pathlib import Path
(Path({str(tmp_path)!r}) / ".git").mkdir()
with open_satchel(cwd={str(tmp_path)!r}, environ={{}}) as satchel:
    satchel.entries.write("discovery", "x")
    satchel.entries.read(query="x")
"""
    loaded = loaded_after(code)
    assert "apsw" in loaded
    assert not loaded & HEAVY


RARE = {
    *("json", "mmap", "platformdirs", "tomllib", "zoneinfo", "heapq"),
    *("satchel.store.backups", "satchel.store.upkeep"),
    *("satchel.redaction.assignments", "satchel.redaction.formats", "satchel.redaction.places"),
    *("satchel.base.git_commands", "satchel.base.project_paths"),
    *("satchel.keep.entries.structured", "satchel.keep.deliveries", "satchel.interfaces.text.json"),
}


@pytest.mark.parametrize(
    "arguments", [["read"], ["write", "discovery", "short", "--agent", "ann"]], ids=["read", "write"]
)
def test_a_command_loads_nothing_that_only_a_rare_case_needs(tmp_path: Path, arguments: list[str]) -> None:
    file = str(tmp_path / "s.db")
    with open_satchel(file, environ={}) as one:
        one.entries.write("discovery", "kept")
    loaded = loaded_after(f"""
import os
from contextlib import redirect_stdout
from satchel.interfaces.cli import run
with redirect_stdout(open(os.devnull, "w")):
    assert run({[*arguments, "--db", file]!r}) == 0
""")
    assert "satchel.keep.entries.service" in loaded
    assert not loaded & RARE
