"""Satchel, opened: finds the store, settles who acts where, and holds the services."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from satchel.base.clock import Clock, system_clock
from satchel.base.config import FILE_NAME as CONFIG_FILE_NAME
from satchel.base.config import load_config
from satchel.base.config_keys import Config
from satchel.base.errors import InvalidInput, Refused
from satchel.base.folders import config_folder, state_folder
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
    from satchel.brief.briefing import Briefing, Briefings
    from satchel.brief.learning import Learning
    from satchel.brief.moments import Moments
    from satchel.brief.notices import Notices
    from satchel.brief.room.service import Room
    from satchel.brief.working.service import Working
    from satchel.consult.service import Consulting
    from satchel.keep.constraints import Constraints
    from satchel.keep.corrections.service import Corrections
    from satchel.keep.decisions import Decisions
    from satchel.keep.entries import Entries
    from satchel.keep.files.service import Files
    from satchel.keep.finding import Finding
    from satchel.keep.housekeeping import Housekeeping
    from satchel.keep.importing.service import Importing
    from satchel.keep.items import Items
    from satchel.keep.messages.service import Messages
    from satchel.keep.moving.service import Moving
    from satchel.keep.names import Agents
    from satchel.keep.packages import Packages
    from satchel.keep.patterns.service import Patterns
    from satchel.keep.pins import Pins
    from satchel.keep.runs import Runs
    from satchel.keep.sessions.service import Sessions
    from satchel.keep.sessions.team import AgentState
    from satchel.keep.shared.service import SharedTexts
    from satchel.keep.strategies import Strategies
    from satchel.store.engine import Engine
    from satchel.store.postgres.address import Address
    from satchel.store.postgres.engine import PostgresEngine


class Remote(Protocol):
    """Calls a server."""

    @property
    def where(self) -> str:
        """The server, in words."""

    def call(self, name: str, *arguments: Any, asks_notice: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Call a method of a service, or an operation, and return its answer."""

    def take_side(self, name: str) -> Any:
        """Return what came beside the last answer of this thread under a name, once; None where nothing did."""


class Satchel:
    """One opened store, working for one project, with defaults for the run and the agent.

    Its services: ``entries``, ``decisions``, ``constraints``, ``messages``, ``files``, ``packages``, ``strategies``,
    ``patterns``, ``corrections``, ``pins``, ``runs``, ``sessions``, ``agents``, ``finding``, ``briefings``,
    ``moments``, ``working``, ``room``, ``learning``, ``consulting``, ``notices``, ``housekeeping``, ``moving``,
    ``shared``, ``importing``.
    Nothing is opened or made before it is used. Safe to share between threads. Use it as a context manager, or call
    :meth:`close`.

    Attributes:
        remote: calls the server that has the store, where that is on another machine.
    """

    remote: Remote | None = None

    def __init__(
        self, workplace: Workplace, place: StorePlace, config: Config, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.workplace = workplace
        self.place = place
        self.config = config
        self.environ = environ

    @cached_property
    def entries(self) -> Entries:
        """The notes of a run's context."""
        from satchel.brief.learning import duplicate_finder, follower
        from satchel.keep.entries import Entries

        return Entries(self.workplace, follower(self.workplace), duplicate_finder())

    @cached_property
    def decisions(self) -> Decisions:
        """What the project has decided."""
        from satchel.brief.decision_change_notice import announcer
        from satchel.keep.decisions import Decisions

        return Decisions(self.workplace, announcer(self.workplace))

    @cached_property
    def constraints(self) -> Constraints:
        """The rules that the project must respect."""
        from satchel.keep.constraints import Constraints

        return Constraints(self.workplace)

    @cached_property
    def files(self) -> Files:
        """Recorded edits, and claims that announce them."""
        from satchel.keep.files.service import Files

        return Files(self.workplace)

    @cached_property
    def messages(self) -> Messages:
        """What agents tell each other."""
        from satchel.keep.messages.service import Messages

        return Messages(self.workplace)

    @cached_property
    def packages(self) -> Packages:
        """Files and texts that agents hand to each other."""
        from satchel.keep.packages import Packages

        return Packages(self.workplace)

    @cached_property
    def strategies(self) -> Strategies:
        """Approaches that worked."""
        from satchel.keep.strategies import Strategies

        return Strategies(self.workplace)

    @cached_property
    def patterns(self) -> Patterns:
        """The errors that were met, and what fixed them."""
        from satchel.keep.patterns.service import Patterns

        return Patterns(self.workplace)

    @cached_property
    def learning(self) -> Learning:
        """What a run that is over has taught."""
        from satchel.brief.learning import Learning

        return Learning(self.workplace)

    @cached_property
    def runs(self) -> Runs:
        """The project's runs."""
        from satchel.keep.runs import Runs

        return Runs(self.workplace)

    @cached_property
    def sessions(self) -> Sessions:
        """The sessions of clients that work in the project."""
        from satchel.keep.sessions.service import Sessions

        return Sessions(self.workplace, _find_states)

    @cached_property
    def agents(self) -> Agents:
        """The project's agents."""
        from satchel.keep.names import Agents

        return Agents(self.workplace)

    @cached_property
    def notices(self) -> Notices:
        """What an agent should know whatever it asked."""
        from satchel.brief.notices import Notices

        return Notices(self.workplace)

    @cached_property
    def consulting(self) -> Consulting:
        """Conversations with other models."""
        from satchel.consult.keeping import AnswerKeeper
        from satchel.consult.service import Consulting

        return Consulting(
            self.workplace,
            self.config,
            self.brief,
            lambda: AnswerKeeper(self.entries, self.decisions, self.runs),
            self.environ,
        )

    @cached_property
    def briefings(self) -> Briefings:
        """Briefings, within a token budget."""
        from satchel.brief.briefing import Briefings

        return Briefings(self.workplace, self.config)

    def brief(
        self,
        role: str | None = None,
        *,
        task_id: str | None = None,
        loop_id: str | None = None,
        iteration: int = 0,
        query: str | None = None,
        budget: int | None = None,
        window_used: float | None = None,
        again: bool = False,
        dry_run: bool = False,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Briefing:
        """Pack what one agent needs most: :meth:`satchel.brief.briefing.Briefings.brief`."""
        return self.briefings.brief(
            role,
            task_id=task_id,
            loop_id=loop_id,
            iteration=iteration,
            query=query,
            budget=budget,
            window_used=window_used,
            again=again,
            dry_run=dry_run,
            run_id=run_id,
            agent=agent,
        )

    @cached_property
    def working(self) -> Working:
        """What hooks do while an agent works."""
        from satchel.brief.working.service import Working

        return Working(self.workplace, self.config)

    @cached_property
    def dry_working(self) -> Working:
        """What hooks would do while an agent works; nothing is recorded."""
        from satchel.brief.working.service import Working

        return Working(self.workplace, self.config, dry_run=True)

    @cached_property
    def moments(self) -> Moments:
        """What hooks put into a client's session unasked."""
        from satchel.brief.moments import Moments

        return Moments(self.workplace, self.config)

    @cached_property
    def room(self) -> Room:
        """What a person looks at every few minutes."""
        from satchel.brief.room.service import Room

        return Room(self.workplace)

    @cached_property
    def finding(self) -> Finding:
        """One search over everything kept."""
        from satchel.keep.finding import Finding

        return Finding(self.workplace)

    @cached_property
    def corrections(self) -> Corrections:
        """What is said of what is kept: that it is wrong, or right."""
        from satchel.keep.corrections.service import Corrections

        return Corrections(self.workplace)

    @cached_property
    def pins(self) -> Pins:
        """What persons want in every briefing."""
        from satchel.keep.pins import Pins

        return Pins(self.workplace)

    @cached_property
    def items(self) -> Items:
        """Items of any kind, whole, by their short ids."""
        from satchel.keep.items import Items

        return Items(self.workplace)

    @cached_property
    def housekeeping(self) -> Housekeeping:
        """Statistics, backups, checks, and forgetting."""
        from satchel.consult.upkeep import EXAMINATIONS
        from satchel.keep.housekeeping import Housekeeping

        return Housekeeping(self.workplace, EXAMINATIONS)

    @cached_property
    def moving(self) -> Moving:
        """Export and import."""
        from satchel.keep.moving.service import Moving

        return Moving(self.workplace)

    @cached_property
    def shared(self) -> SharedTexts:
        """The shared text in the project's repository."""
        from satchel.keep.shared.service import SharedTexts

        return SharedTexts(self.workplace, self.config)

    @cached_property
    def importing(self) -> Importing:
        """Taking over the stores of other tools."""
        from satchel.keep.importing.service import Importing

        return Importing(self.workplace)

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts what the calling thread is doing in the store when it is called."""
        return self.workplace.engine.interrupter()

    def close(self) -> None:
        """Close every connection to the store."""
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
    from satchel.brief.room import states  # a hook that opens its session lists none

    return states.find(*arguments)


_MIGRATES = {COMMAND: True, HOOK: False}
"""Who brings a store of an older version up to date, also to read it, and who never does, for want of time."""

_OF_AGENTS = frozenset({SERVER, HOOK})
"""Who works for an agent, and reaches a database through a server alone."""


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
    """Open the store that belongs to a folder, as git finds its own.

    Args:
        db: the store's file, or for administration its PostgreSQL database, as in
            ``postgresql://USER@HOST/DATABASE?schema=NAME``; None takes ``SATCHEL_DB``, else the nearest
            ``.satchel/satchel.db`` upwards, else a new one at the root of the git repository (for a linked worktree,
            of its main worktree).
        project: the project's name; None takes ``SATCHEL_PROJECT``, else ``project.name``, else that of the folder.
        agent: who acts where a call names nobody; None takes ``SATCHEL_AGENT``.
        run: the run where a call names none; None takes ``SATCHEL_RUN``, and without it writes go to the run ``main``
            and reads span the project.
        read_only: refuse every write.
        here: where there is no store and no repository, take this very folder as the project.
        cwd: the folder to start from; None is the current one.
        environ: the environment; None is the process's own.
        settings: configuration values by key, before every other source.
        clock: the time in milliseconds UTC.
        caller: what opens it: ``server`` for the server of one client, ``command`` for a command line, which brings a
            store of an older version up to date also to read it; a :class:`Caller` for a hook; None is a program, which
            has a session only where ``SATCHEL_SESSION`` names one.
        migrates: whether a store of an older version is brought up to date; None is as the caller has it.

    Returns:
        The opened Satchel; ``config.warnings`` says what was wrong in the configuration.

    Raises:
        Refused: there is no project here, or something that lies here is not to be trusted, or an agent's program was
            given a database.
        InvalidInput: a name, path or URL is not acceptable.
        MissingExtra: the extra ``postgres`` is not installed.
        Unavailable: the URL is that of another database.
    """
    environ = os.environ if environ is None else environ
    known = KnownStores(state_folder())
    address: Address | None = None
    if db is not None and not isinstance(db, str | os.PathLike):
        address, db = db, db.label
    place = locate_store(
        db,
        environ,
        Path(cwd) if cwd is not None else Path.cwd(),
        here=here,
        is_tree=lambda file: (store := known.at(file)) is not None and store.tree,
        is_listed=lambda file: known.at(file) is not None,
    )
    check_encodable(place.store_file or "", "the store's path")
    check_encodable(place.files_root or "", "the project's folder")
    config = load_config(place.folder, environ, settings, user_file=config_folder() / CONFIG_FILE_NAME, root=place.root)
    acting = as_caller(caller, environ)
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
                known,
                clock,
                folders=[Path(folder) for folder in config.trust_folders],
                everywhere=environ.get("SATCHEL_TRUST", "").lower() in {"1", "true"},
            ),
        )

    def named(value: str | None, variable: str, field: str) -> str | None:
        value = value if value is not None else environ.get(variable) or None
        return None if value is None else check_name(value, field)

    workplace = Workplace(
        engine=engine,
        clock=clock,
        project_name=named(project, "SATCHEL_PROJECT", "project") or config.project_name,
        suggested_name=nameable(place.suggested_name),
        root=str(place.root) if place.root else None,
        files_root=str(place.files_root) if place.files_root else None,
        run_id=check_default_run(named(run, "SATCHEL_RUN", "run_id")),
        agent=named(agent, "SATCHEL_AGENT", "agent"),
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
        person=cache(lambda: _person_here(config, environ)),
    )
    return Satchel(workplace, place, config, environ)


def _person_here(config: Config, environ: Mapping[str, str]) -> str:
    from satchel.keep.persons import person_here  # agents never need it

    return person_here(config.person_name, environ)


def through_a_server() -> Refused:
    """Return the error for an agent's program that was given a database."""
    return Refused(
        "agents reach a store in a database through a server alone, which keeps its password from them",
        "Run `satchel serve` beside the database, and set SATCHEL_URL and SATCHEL_TOKEN here instead",
    )


def _database_engine(
    address: Address | str, config: Config, clock: Clock, *, read_only: bool, migrates: bool | None
) -> PostgresEngine:
    from satchel.store.postgres.address import parse

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


def as_caller(caller: str | Caller | None, environ: Mapping[str, str]) -> Caller | None:
    """Return who calls, as :func:`open_satchel` is told."""
    if caller is None:
        return Caller.from_environment(environ)
    return Caller(caller, environ) if isinstance(caller, str) else caller


def check_default_run(name: str | None) -> str | None:
    """Return the run where a call names none.

    Raises:
        InvalidInput: it means all runs.
    """
    if name == ALL_RUNS:
        raise InvalidInput(
            f"the default run {name!r} means all runs",
            "Leave SATCHEL_RUN and --run out: what reads spans all runs then",
        )
    return name
