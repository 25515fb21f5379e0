"""A Satchel over a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Never

from satchel.base.clock import system_clock
from satchel.base.config import FILE_NAME, load_config
from satchel.base.errors import NoProject, Unavailable
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FILE_NAME as STORE_NAME
from satchel.base.paths import FOLDER_NAME, StorePlace, locate_store
from satchel.base.records import replace
from satchel.client import Satchel, as_caller, check_default_run, name_from, open_satchel
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import HOOK, Caller
from satchel.remote.calls import NOTHING, RECORD, SERVED, TIMED, Calls
from satchel.remote.connection import Connection

if TYPE_CHECKING:
    from satchel.brief.briefing.records import Briefing
    from satchel.consult.service import Consulting
    from satchel.remote.where import Server
    from satchel.store.engine import Engine

_SERVICES = (
    *("entries", "decisions", "constraints", "files", "messages", "packages", "strategies", "patterns", "learning"),
    *("runs", "sessions", "agents", "finding", "corrections", "items", "settling", "housekeeping"),
    *("moving", "shared"),
)


# how long a hook waits for its server; one of an edit ends itself sooner
_HOOK_MS = 3_000

# what the keys begin with that say what this user wants put into sessions here, whatever the server's own say
_SENT = ("hooks.", "guard.")


class _Service:
    def __init__(self, calls: Calls, name: str) -> None:
        self._calls = calls
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        name = f"{self._name}.{method}"
        if name not in SERVED:
            raise Unavailable(
                f"{name} works only where the store is",
                "Run the command on the server's machine, or name a store by --db",
            )
        return partial(self._calls.call, name)


class _Notices:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def line(self, **named: Any) -> str | None:
        line: str | None = self._calls.take_side("notice")
        return self._calls.call("notices.line", **named) if line is NOTHING else line


class _Putting(_Service):
    _receipt: Any = NOTHING

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._make, f"{self._name}.{method}")

    def _make(self, name: str, *arguments: Any, **named: Any) -> Any:
        if name in TIMED:
            arguments = (*arguments[:1], *arguments[2:])
        made = self._calls.call(name, *arguments, **named)
        self._receipt = self._calls.take_side("receipt")
        return made

    def record(self, *_made: object) -> None:
        receipt, self._receipt = self._receipt, NOTHING
        if receipt is not NOTHING:
            self._calls.call(RECORD, receipt)


class _Engine:
    # The server records the caller.
    read_only = True

    clock = staticmethod(system_clock)
    has_automatic_backups = False
    faults: type[Exception] = Unavailable

    folder = None

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.location = f"that of the server {connection.url}"
        self.interrupter = connection.interrupter
        self.close = connection.close

    @property
    def commits(self) -> int:
        return self._connection.kept

    @property
    def upkeep(self) -> Never:
        self.read()

    def read(self, *_given: object, **_named: object) -> Never:
        raise Unavailable(
            "this works only where the store is", "Run the command on the server's machine, or name a store by --db"
        )

    exists = state = probe = of_project = look = write = watch = without_deadline = check_files = check_again = read


def engine_of(connection: Connection) -> Engine:
    """Return a stand-in for the engine of a server's store."""
    return _Engine(connection)


def _keepers(calls: Calls) -> tuple[Any, Any, Any]:
    def write(kind: str, content: str, **more: Any) -> Any:
        return calls.call("write_context", type=kind, content=content, **more)[0]

    def decide(key: str, value: str, **more: Any) -> Any:
        return calls.call("set_decision", key=key, value=value, **more)[0]

    def check_run(run_id: str | None) -> None:
        calls.call("read_context", run_id=run_id, limit=1)

    return SimpleNamespace(write=write), SimpleNamespace(set=decide), SimpleNamespace(get=check_run)


class RemoteSatchel(Satchel):
    """A Satchel over a server."""

    def __init__(self, calls: Calls, workplace: Workplace, place: StorePlace, config: Any, environ: Any) -> None:
        super().__init__(workplace, place, config, environ)
        self.remote = self._calls = calls
        vars(self).update({name: _Service(calls, name) for name in _SERVICES})
        vars(self).update({name: _Putting(calls, name) for name in ("moments", "working", "dry_working")})
        vars(self).update(notices=_Notices(calls))
        self._local: Satchel | None = None

    @cached_property
    def consulting(self) -> Consulting:
        """Consult from this machine, which has the files and the keys: its conversations stay in a store here."""
        from satchel.consult.question import AnswerKeeper
        from satchel.consult.service import Consulting

        work = self.workplace
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._local = open_satchel(
            folder / "consultations.db", "consultations", work.agent, cwd=work.files_root, environ=self.environ
        )
        workplace = replace(self._local.workplace, owner=f"token:{self._calls.connection.token_id}", caller=None)
        return Consulting(
            workplace, self.config, self.brief, lambda: AnswerKeeper(*_keepers(self._calls)), self.environ
        )

    def close(self) -> None:
        super().close()
        if self._local is not None:
            self._local.close()

    def brief(self, *arguments: Any, **named: Any) -> Briefing:
        """Ask the server for a briefing."""
        made: Briefing = self._calls.call("brief", *arguments, cites=True, **named)
        return made


def open_server(
    server: Server,
    folder: Path,
    environ: Mapping[str, str],
    project: str | None,
    agent: str | None,
    run: str | None,
    read_only: bool,
    settings: Mapping[str, object] | None,
    caller: str | Caller | None,
) -> RemoteSatchel:
    """Open a folder's store on a server, which is first contacted by the first call."""
    place = _place_of(folder, environ)
    config = load_config(place.folder, environ, settings, user_file=config_folder() / FILE_NAME, root=place.root)

    acting = as_caller(caller, environ)
    connection = Connection(server.url, server.token)
    workplace = Workplace(
        engine=engine_of(connection),
        clock=system_clock,
        project_name=name_from(project, environ, "SATCHEL_PROJECT", "project") or config.project_name,
        suggested_name=place.suggested_name,
        root=_text(place.root),
        files_root=_text(place.files_root),
        run_id=check_default_run(name_from(run, environ, "SATCHEL_RUN", "run_id")),
        agent=name_from(agent, environ, "SATCHEL_AGENT", "agent"),
        max_content_bytes=config.context_max_content_kib * 1024,
        max_per_loop=None,
        worktree=_text(place.worktree),
        caller=acting,
    )
    calls = Calls(
        connection,
        workplace,
        read_only=read_only,
        settings={
            one.key.name: one.value
            for one in config.settings
            if one.key.name.startswith(_SENT) and one.value is not None
        },
        seconds=(config.hooks_deadline_ms or _HOOK_MS) / 1_000 if acting is not None and acting.kind == HOOK else None,
    )
    return RemoteSatchel(calls, workplace, place, config, environ)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _place_of(folder: Path, environ: Mapping[str, str]) -> StorePlace:
    try:
        return locate_store(None, environ, folder)
    except NoProject:
        file = folder / FOLDER_NAME / STORE_NAME
        return StorePlace(file, exists=False, root=None, worktree=None, suggested_name=folder.name)
