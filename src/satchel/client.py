"""An open Satchel: its store, its project, the acting agent, and its services."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from satchel.base.clock import Clock, system_clock
from satchel.base.config import FILE_NAME as CONFIG_FILE_NAME
from satchel.base.config import load_config
from satchel.base.config_keys import Config
from satchel.base.errors import InvalidInput, Refused
from satchel.base.folders import config_folder, current_folder, state_folder
from satchel.base.paths import StorePlace, locate_store, named_store
from satchel.base.retention import Retention
from satchel.base.text import check_encodable, check_name, nameable
from satchel.base.vocabulary import ALL_RUNS
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import COMMAND, HOOK, SERVER, Caller
from satchel.store.known_stores import KnownStores
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from satchel.store.trust import Trust

if TYPE_CHECKING:
    from typing import Unpack

    from satchel.brief.briefing.records import Briefing, BriefingRequest
    from satchel.brief.briefing.service import Briefings
    from satchel.brief.learning import Learning
    from satchel.brief.moments import Moments
    from satchel.brief.notices import Notices
    from satchel.brief.room.service import Room
    from satchel.brief.settling import Settling
    from satchel.brief.working.service import Working
    from satchel.consult.service import Consulting
    from satchel.keep.constraints import Constraints
    from satchel.keep.corrections.service import Corrections
    from satchel.keep.decisions.service import Decisions
    from satchel.keep.documents.service import Documents
    from satchel.keep.entries.service import Entries
    from satchel.keep.files.service import Files
    from satchel.keep.finding import Finding
    from satchel.keep.housekeeping.service import Housekeeping
    from satchel.keep.items import Items
    from satchel.keep.messages.service import Messages
    from satchel.keep.moving.service import Moving
    from satchel.keep.packages.service import Packages
    from satchel.keep.patterns.service import Patterns
    from satchel.keep.pins import Pins
    from satchel.keep.runs import Runs
    from satchel.keep.sessions.service import Sessions
    from satchel.keep.sessions.team import AgentState
    from satchel.keep.shared.service import SharedTexts
    from satchel.keep.strategies import Strategies
    from satchel.store.engine import Engine
    from satchel.store.postgres import Address
    from satchel.store.postgres.engine import PostgresEngine


class Remote(Protocol):
    """A connection to a server."""

    def call(self, name: str, *arguments: Any, asks_notice: Mapping[str, Any] | None = None, **keywords: Any) -> Any:
        """Call a service method or an operation."""

    def take_side(self, name: str) -> Any:
        """Return and remove an extra under a name from this thread's last answer, or None."""


def _service(place: str, *, takes_config: bool = False) -> Any:
    """Return a property that imports and creates a service, named as ``module:class``, on first use."""

    def create(satchel: Satchel) -> Any:
        module, _, name = place.partition(":")
        service = getattr(__import__(module, fromlist=[name]), name)
        return service(satchel.workplace, satchel.config) if takes_config else service(satchel.workplace)

    return cached_property(create)


class Satchel:
    """An open store for one project, with a default run and agent.

    Its services: ``entries`` (notes), ``decisions``, ``constraints`` (rules), ``messages``, ``files`` (claims and
    changes), ``packages``, ``strategies``, ``patterns`` (errors and their fixes), ``corrections``, ``pins``,
    ``runs``, ``sessions``, ``agents``, ``finding`` (search), ``items``, ``briefings``, ``moments`` and ``working``
    (hooks), ``notices``, ``learning``, ``consulting``, ``room`` (what persons see), ``settling`` (what waits for
    them), ``housekeeping``, ``moving`` (export, import), ``shared``, ``documents`` (AGENTS.md and the like).

    Services are created on first use. Safe to share between threads. Use it as a context manager, or call
    :meth:`close`.

    Attributes:
        remote: the connection to the server, if the store is on another machine.
    """

    remote: Remote | None = None

    def __init__(
        self, workplace: Workplace, place: StorePlace, config: Config, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.workplace = workplace
        self.place = place
        self.config = config
        self.environ = environ

    constraints: Constraints = _service("satchel.keep.constraints:Constraints")
    packages: Packages = _service("satchel.keep.packages.service:Packages")
    strategies: Strategies = _service("satchel.keep.strategies:Strategies")
    patterns: Patterns = _service("satchel.keep.patterns.service:Patterns")
    corrections: Corrections = _service("satchel.keep.corrections.service:Corrections")
    pins: Pins = _service("satchel.keep.pins:Pins")
    runs: Runs = _service("satchel.keep.runs:Runs")
    finding: Finding = _service("satchel.keep.finding:Finding")
    items: Items = _service("satchel.keep.items:Items")
    documents: Documents = _service("satchel.keep.documents.service:Documents", takes_config=True)
    shared: SharedTexts = _service("satchel.keep.shared.service:SharedTexts", takes_config=True)
    learning: Learning = _service("satchel.brief.learning:Learning")
    notices: Notices = _service("satchel.brief.notices:Notices")
    room: Room = _service("satchel.brief.room.service:Room")
    settling: Settling = _service("satchel.brief.settling:Settling", takes_config=True)
    briefings: Briefings = _service("satchel.brief.briefing.service:Briefings", takes_config=True)
    moments: Moments = _service("satchel.brief.moments:Moments", takes_config=True)
    working: Working = _service("satchel.brief.working.service:Working", takes_config=True)

    @cached_property
    def dry_working(self) -> Working:
        """Hooks at work that record nothing."""
        from satchel.brief.working.service import Working

        return Working(self.workplace, self.config, dry_run=True)

    @cached_property
    def entries(self) -> Entries:
        from satchel.brief.learning import duplicate_finder, follower
        from satchel.keep.entries.service import Entries

        return Entries(self.workplace, follower(self.workplace), duplicate_finder())

    @cached_property
    def files(self) -> Files:
        from satchel.keep.files.service import Files

        return Files(self.workplace, partial(_close_fixed, self.workplace))

    @cached_property
    def messages(self) -> Messages:
        from satchel.keep.messages.service import Messages

        return Messages(self.workplace, _has_news, _last_heard)

    @cached_property
    def decisions(self) -> Decisions:
        from satchel.brief.announcements import announcer
        from satchel.keep.decisions.service import Decisions

        return Decisions(self.workplace, announcer(self.workplace))

    @cached_property
    def moving(self) -> Moving:
        from satchel.brief.announcements import announcer
        from satchel.keep.moving.service import Moving

        return Moving(self.workplace, announcer(self.workplace))

    @cached_property
    def sessions(self) -> Sessions:
        from satchel.keep.sessions.service import Sessions

        return Sessions(self.workplace, _find_states)

    @cached_property
    def housekeeping(self) -> Housekeeping:
        from satchel.consult.conversation_tables import EXAMINATIONS
        from satchel.keep.housekeeping.service import Housekeeping

        return Housekeeping(self.workplace, EXAMINATIONS)

    @cached_property
    def consulting(self) -> Consulting:
        from satchel.consult.question import AnswerKeeper
        from satchel.consult.service import Consulting

        return Consulting(
            self.workplace,
            self.config,
            self.brief,
            lambda: AnswerKeeper(self.entries, self.decisions, self.runs),
            self.environ,
        )

    def brief(self, role: str | None = None, **request: Unpack[BriefingRequest]) -> Briefing:
        """Make a briefing: :meth:`satchel.brief.briefing.service.Briefings.brief`."""
        return self.briefings.brief(role, **request)

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts the calling thread's work in the store."""
        return self.workplace.engine.interrupter()

    def close(self) -> None:
        self.workplace.engine.close()

    def __enter__(self) -> Satchel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _find_states(*arguments: Any) -> Mapping[int, AgentState]:
    from satchel.brief.room import states  # hooks do not need it

    return states.find(*arguments)


def _has_news(*arguments: Any) -> bool:
    from satchel.brief.news import is_waiting  # only a waiting call needs it

    return is_waiting(*arguments)


def _last_heard(*arguments: Any) -> Sequence[str]:
    from satchel.brief.notices import last_heard  # only who waits in vain needs it

    return last_heard(*arguments)


def _close_fixed(*arguments: Any) -> tuple[str, ...]:
    from satchel.brief.announcements import close_fixed  # few changes name one

    return close_fixed(*arguments)


# Callers that always upgrade an older store, and those that never do, for lack of time.
_MIGRATES = {COMMAND: True, HOOK: False}

# Callers that work for an agent, which reach a database only through a server.
_OF_AGENTS = frozenset({SERVER, HOOK})


def open_satchel(
    db: str | os.PathLike[str] | Address | None = None,
    project: str | None = None,
    agent: str | None = None,
    run: str | None = None,
    *,
    read_only: bool = False,
    here: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
    clock: Clock = system_clock,
    caller: str | Caller | None = None,
    migrates: bool | None = None,
) -> Satchel:
    """Open the store of a folder, as git finds its repository.

    Args:
        db: the store's file, or for administration its PostgreSQL database, as in
            ``postgresql://USER@HOST/DATABASE?schema=NAME``; None takes ``SATCHEL_DB``, else the nearest
            ``.satchel/satchel.db`` upwards, else a new one at the root of the git repository (for a linked worktree,
            of its main worktree).
        project: the project's name; None takes ``SATCHEL_PROJECT``, else ``project.name``, else that of the folder.
        agent: the default agent; None takes ``SATCHEL_AGENT``.
        run: the default run; None takes ``SATCHEL_RUN``; without it writes go to the run ``main`` and reads span the
            project.
        read_only: refuse every write.
        here: without a store or repository, take this folder as the project.
        cwd: the folder to start from; None is the current one.
        environ: the environment; None is the process's own.
        settings: configuration values by key, which override every other source.
        clock: the time in milliseconds UTC.
        caller: ``server`` for the server of one client; ``command`` for a command line, which upgrades an older store
            also to read it; a :class:`Caller` for a hook; None for a program, which has a session only if
            ``SATCHEL_SESSION`` names one.
        migrates: whether an older store is upgraded; None depends on the caller.

    Returns:
        The open Satchel; ``config.warnings`` lists problems in the configuration.

    Raises:
        Refused: there is no project here, a file here is not trusted, or an agent's program names a database.
        InvalidInput: a name, path or URL is invalid.
        MissingExtra: the extra ``postgres`` is not installed.
        Unavailable: the URL is that of another database.
    """
    environ = os.environ if environ is None else environ
    known_stores = KnownStores(state_folder())
    address: Address | None = None
    if db is not None and not isinstance(db, str | os.PathLike):
        address, db = db, db.label
    place = locate_store(
        db,
        environ,
        Path(cwd) if cwd is not None else current_folder(),
        here=here,
        is_tree=lambda file: (store := known_stores.at(file)) is not None and store.tree,
        is_listed=lambda file: known_stores.at(file) is not None,
    )
    check_encodable(place.store_file or "", "the store's path")
    check_encodable(place.files_root or "", "the project's folder")
    config = load_config(place.folder, environ, settings, user_file=config_folder() / CONFIG_FILE_NAME, root=place.root)
    acting = as_caller(caller, environ)
    if acting is not None and acting.kind == HOOK:
        config = config.with_changes(store_lock_wait_ms=config.hooks_lock_wait_ms)
    if migrates is None and acting is not None:
        migrates = _MIGRATES.get(acting.kind)
    engine: Engine
    if place.store_file is None:
        if acting is not None and acting.kind in _OF_AGENTS:
            raise through_a_server()
        at = address or named_store(db, environ) or ""
        engine = _database_engine(at, config, clock, read_only=read_only, migrates=migrates)
    else:
        engine = SqliteEngine(
            Access(place.file, config.store_durability, config.store_lock_wait_ms),
            read_only=read_only,
            migrates=migrates,
            clock=clock,
            backups_keep=config.store_backups_keep,
            trust=Trust(
                place.file,
                known_stores,
                clock,
                folders=[Path(folder) for folder in config.trust_folders],
                everywhere=environ.get("SATCHEL_TRUST", "").lower() in {"1", "true"},
            ),
        )
    workplace = Workplace(
        engine=engine,
        clock=clock,
        project_name=name_from(project, environ, "SATCHEL_PROJECT", "project") or config.project_name,
        suggested_name=nameable(place.suggested_name),
        root=str(place.root) if place.root else None,
        files_root=str(place.files_root) if place.files_root else None,
        run_id=check_default_run(name_from(run, environ, "SATCHEL_RUN", "run_id")),
        agent=name_from(agent, environ, "SATCHEL_AGENT", "agent"),
        max_content_bytes=config.context_max_content_kib * 1024,
        max_per_loop=config.context_max_per_loop,
        worktree=str(place.worktree) if place.worktree else None,
        open_layers=config.layers_open,
        claim_minutes=config.claims_minutes,
        retention=Retention(
            config.retention_messages_hours,
            config.retention_unread_messages_hours,
            config.retention_file_changes_hours,
            config.retention_conversations_days,
            config.retention_skip_weekends,
            config.retention_zone,
        ),
        caller=acting,
        meaning="off" if acting is not None and acting.kind == HOOK else config.search_meaning,
        notify_command=config.notify_command,
        person=cache(lambda: _person_here(config, environ)),
    )
    return Satchel(workplace, place, config, environ)


def _person_here(config: Config, environ: Mapping[str, str]) -> str:
    from satchel.keep.names import person_here  # agents never need it

    return person_here(config.person_name, environ)


def through_a_server() -> Refused:
    """Return the error for an agent's program that names a database."""
    return Refused(
        "agents reach a store in a database only through a server, which keeps its password from them",
        "Run `satchel serve` next to the database, and set SATCHEL_URL and SATCHEL_TOKEN here instead",
    )


def _database_engine(
    address: Address | str, config: Config, clock: Clock, *, read_only: bool, migrates: bool | None
) -> PostgresEngine:
    from satchel.store.postgres import parse

    if isinstance(address, str):
        address = parse(address)
    try:
        from satchel.store.postgres.engine import PostgresEngine
    except ImportError as error:
        from satchel.base.installation import missing_extra

        raise missing_extra(f"a store in PostgreSQL needs the extra postgres ({error})", "postgres") from None
    return PostgresEngine(
        address,
        read_only=read_only,
        migrates=migrates,
        clock=clock,
        wait_ms=config.store_lock_wait_ms,
        durability=config.store_durability,
    )


def name_from(value: str | None, environ: Mapping[str, str], variable: str, field: str) -> str | None:
    """Return a checked name: the argument of :func:`open_satchel`, else the environment variable."""
    value = value if value is not None else environ.get(variable) or None
    return None if value is None else check_name(value, field)


def as_caller(caller: str | Caller | None, environ: Mapping[str, str]) -> Caller | None:
    """Return the caller that the argument of :func:`open_satchel` means."""
    if caller is None:
        return Caller.from_environment(environ)
    return Caller(caller, environ) if isinstance(caller, str) else caller


def check_default_run(name: str | None) -> str | None:
    """Return the default run.

    Raises:
        InvalidInput: it means all runs.
    """
    if name == ALL_RUNS:
        raise InvalidInput(
            f"the default run {name!r} means all runs",
            "Omit SATCHEL_RUN and --run: reads then span all runs",
        )
    return name
