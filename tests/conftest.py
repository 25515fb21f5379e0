"""Fixtures for every test that works with a store: a clock moved by hand, a project's folder, an opened Satchel."""

from __future__ import annotations

import gc
import os
import ssl
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import cache, wraps
from inspect import unwrap
from pathlib import Path
from typing import Any

import httpcore2
import hypothesis
import pytest

import examples
import postgres_cluster
from copied_stores import CopyStore, copier_of, copy_stores, remember_lookups, sync_nothing
from satchel import Satchel, open_satchel
from satchel.base import processes
from satchel.interfaces.http import logs
from satchel.keep.sessions import standing
from satchel.keep.sessions.caller import Caller
from satchel.keep.sessions.clients import CLIENTS, VARIABLE
from satchel.store import migrations
from satchel.store.migrations import bring_up_to_date
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from satchel.store.trust import peek


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that run tests over a server, or with their stores in PostgreSQL."""
    parser.addoption("--over-server", action="store_true", help="call tools and commands over HTTP")
    parser.addoption("--postgresql", action="store_true", help="open stores in PostgreSQL")


def pytest_configure(config: pytest.Config) -> None:
    """Take in the options, and choose where the processes of this run find PostgreSQL."""
    if config.getoption("--over-server"):
        import over_server  # the server takes 0.7 s to load

        over_server.is_asked_for = True
    if not hasattr(config, "workerinput"):
        _work_in_memory()
        postgres_cluster.begin()


def _work_in_memory() -> None:
    """Have temporary files lie in memory, where Linux has room for them: the tests of the engine wait half as long."""
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not memory.is_mount():
        return
    system = os.statvfs(memory)
    if system.f_bavail * system.f_frsize >= 4 << 30 and not system.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the PostgreSQL of this run."""
    if not hasattr(config, "workerinput"):
        postgres_cluster.end()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the tests out of the search for garbage, now and later: it takes a third of the time of collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


_SECONDS_OF_PROCESSES = 900
"""Only what hangs takes so long, also where each process takes ten times as long as alone; others have 120 s."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not work over a server, or in PostgreSQL, each with its reason; limit hanging ones."""
    for item in items:
        if any(map(item.get_closest_marker, ("referee", "slow"))):
            item.add_marker(pytest.mark.timeout(_SECONDS_OF_PROCESSES))
    if config.getoption("--over-server"):
        import over_server

        _leave_out(items, over_server.left_out)
    if config.getoption("--postgresql"):
        import on_postgresql  # psycopg takes 0.1 s to load

        _leave_out(items, on_postgresql.left_out)
    if hypothesis.settings.get_current_profile_name() == examples.EVERY:
        done = [item for item in items if _has_few_examples(item)]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item not in done]


def _has_few_examples(item: pytest.Item) -> bool:
    """Whether the fast tests try all examples of a property or state machine."""
    test, machine = getattr(item, "obj", None), getattr(item.parent, "obj", None)
    chosen = getattr(test, "_hypothesis_internal_use_settings", None) or getattr(machine, "settings", None)
    is_fast = item.get_closest_marker("slow") is None
    return is_fast and isinstance(chosen, hypothesis.settings) and chosen.max_examples <= examples.MOST_OF_FEW


def _leave_out(items: list[pytest.Item], why: Callable[[str], str | None]) -> None:
    for item in items:
        reason = why(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = 1_795_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> int:
        """Move the clock, and return the new time."""
        self.now += milliseconds
        return self.now


hypothesis.settings.load_profile(examples.FEW)


@pytest.fixture(scope="session", autouse=True)
def _no_log_between_tests() -> Iterator[None]:
    """Drop what a server's thread logs where no test captures it: a request is logged after its answer."""
    write = logs._write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "_write", lambda facts: write(facts) if sys.stderr is not sys.__stderr__ else None)
        yield


@pytest.fixture(scope="session", autouse=True)
def nobodys_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that the developer has told git, or has it ignore, counts in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("nobody")))
        yield


@pytest.fixture(scope="session", autouse=True)
def without_meaning() -> Iterator[None]:
    """Searches rank the same whether the extra ``meaning`` is installed or not, here and in processes of a test."""
    from satchel.find import meaning

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_SEARCH_MEANING", "off")
        patch.setattr(meaning, "is_installed", lambda _: False)
        yield


@pytest.fixture(scope="session", autouse=True)
def outside_any_client() -> Iterator[None]:
    """That a developer's agent, editor or terminal runs the tests changes nothing: a person does, who confirms all.

    A program without a caller counts as that person's here, but not in tests with the fixture ``programs_are_agents``.
    """
    variables = [VARIABLE, *(name for one in CLIENTS for name in (one.id_variable, *one.markers) if name is not None)]
    standing_of = standing.standing_of

    @wraps(standing_of)
    def decide(caller: Caller | None) -> standing.Standing:
        return standing.Standing(True, True) if caller is None else standing_of(caller)

    with pytest.MonkeyPatch.context() as patch:
        for name in (*variables, "TERM_PROGRAM", "TERMINAL_EMULATOR", standing.PERSON_VARIABLE):
            patch.delenv(name, raising=False)
        patch.setattr(processes, "has_terminal", lambda: True)
        patch.setattr(standing, "standing_of", decide)
        yield


@pytest.fixture
def programs_are_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that uses the library counts as it does outside of tests."""
    monkeypatch.setattr(standing, "standing_of", unwrap(standing.standing_of))


@pytest.fixture(scope="module", autouse=True)
def list_of_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each module has a list of stores of its own: every change of the list looks for all that are on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def tls_made_once() -> Iterator[None]:
    """Every client of a test trusts the same authorities: reading them takes 30 ms, which a consultation pays twice."""
    read = httpcore2.default_ssl_context

    @cache
    def made(trust_env: bool, _variables: tuple[str | None, ...]) -> ssl.SSLContext:
        return read(_trust_env=trust_env)

    def context(*, _trust_env: bool = True) -> ssl.SSLContext:
        return made(_trust_env, tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", context)
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> CopyStore:
    """An empty store as it is after its migrations, which take 20 of the 30 ms of making one."""
    file = tmp_path_factory.mktemp("template") / "satchel.db"
    with closing(SqliteEngine(Access(file))) as engine, engine.write():
        pass
    uid = peek(file)
    assert uid is not None
    return copier_of(file.read_bytes(), uid)


@pytest.fixture(scope="session")
def template_in_memory() -> CopyStore:
    """A store in memory as it is after its migrations, which are what the first reading where no store is waits for."""
    with closing(migrations.empty_store()) as connection:
        return copier_of(connection.serialize("main"), connection.execute("SELECT uid FROM store").get)


@contextmanager
def postgresql_where_asked(config: pytest.Config, *, has_store: bool = True) -> Iterator[None]:
    """Let stores that are opened in the block lie in PostgreSQL, where that is asked for.

    Args:
        config: that of the run.
        has_store: whether a store may begin as an empty one.
    """
    if not config.getoption("--postgresql"):
        yield
        return
    import on_postgresql

    with on_postgresql.instead_of_files(has_store=has_store):
        yield


@pytest.fixture(autouse=True)
def in_postgresql(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stores that the test opens lie in PostgreSQL, where that is asked for."""
    with postgresql_where_asked(request.config, has_store=not request.node.get_closest_marker("no_store")):
        yield


@pytest.fixture(scope="module", autouse=True)
def copied_stores(template: CopyStore, template_in_memory: CopyStore, request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing is synced, and stores are copies of a template but in the tests of the engine; not so from end to end."""
    part = request.path.relative_to(Path(__file__).parent).parts[0]
    with pytest.MonkeyPatch.context() as patch:
        if part != "end_to_end":
            sync_nothing(patch)
        if part not in {"store", "end_to_end"}:
            copy_stores(patch, template, template_in_memory)
            remember_lookups(patch)
        yield


@pytest.fixture
def from_template(
    template: CopyStore,
    template_in_memory: CopyStore,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    in_postgresql: None,
) -> None:
    """Stores that the test makes are copies of a template, also in the tests of the engine.

    A test in which processes make one store at once is marked ``migrates``: copying is not safe there.
    """
    if request.node.get_closest_marker("migrates"):
        monkeypatch.setattr(migrations, "bring_up_to_date", bring_up_to_date)
    else:
        copy_stores(monkeypatch, template, template_in_memory)


@pytest.fixture
def clock() -> ManualClock:
    """A clock at a fixed moment of 2026."""
    return ManualClock()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's folder, with a ``.git`` folder and nothing else."""
    folder = tmp_path.resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


SETTINGS = {"store.durability": "relaxed", "brief.deadline_ms": 60_000, "person.name": "human"}
"""Of stores that tests open: briefings have a minute, so that a busy machine cuts none short, and persons are any."""


@contextmanager
def opened_once(request: pytest.FixtureRequest, **options: Any) -> Iterator[Satchel]:
    """Open a Satchel in a project that many tests share, none of which changes what is kept.

    Args:
        request: that of a fixture of a module.
        **options: of open_satchel; without others the environment is empty and the clock stands still.
    """
    folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("project")
    (folder / ".git").mkdir()
    settings = {"environ": {}, "clock": ManualClock(), "settings": SETTINGS, **options}
    with postgresql_where_asked(request.config), open_satchel(cwd=folder, **settings) as satchel:
        yield satchel


@pytest.fixture
def open_in(clock: ManualClock, from_template: None) -> Iterator[Callable[..., Satchel]]:
    """Open a Satchel in a folder with any options of open_satchel; all are closed after the test.

    Without other options the environment is empty and the clock is the one of the test.
    """
    opened: list[Satchel] = []

    def open_one(folder: Path, **options: Any) -> Satchel:
        settings = {**SETTINGS, **options.pop("settings", {})}
        one = open_satchel(cwd=folder, settings=settings, **{"environ": {}, "clock": clock, **options})
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def satchel(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel opened in the project's folder; nothing is written yet."""
    return open_in(project)
