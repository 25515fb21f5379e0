"""Reader for bazinga databases of any version.

Tables and columns are taken from the schemas of github.com/mehdic/bazinga, versions 6 to 19, and from its data model,
whose names differ (``package_id`` and ``content_path`` for ``id`` and ``file_path``). Sessions and packages belong to
no project there; error patterns and strategies name theirs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from pathlib import Path, PurePosixPath

from satchel.base.clock import iso
from satchel.base.errors import NotFound, SatchelError
from satchel.base.text import fold
from satchel.base.vocabulary import MAIN_RUN, PRIORITIES
from satchel.keep.importing.tables import (
    Fields,
    ForeignTables,
    Row,
    Unreadable,
    among,
    column,
    columns,
    count_of,
    described,
    identity,
    key_of,
    moment_of,
    moment_or_none,
    number_of,
    optional,
    optional_text,
    replaced,
    text_of,
    whole,
)
from satchel.keep.kind import Line
from satchel.keep.moving.marks import line_of_window
from satchel.keep.moving.records import Arriving
from satchel.keep.packages.records import DEFAULT_PRIORITY, DEFAULT_TYPE, TYPES
from satchel.keep.patterns.records import ACTIVE, CONFIRMED, DEFAULT_TTL_DAYS, DEMOTED, FIRST, LEAST, MOST, STATES
from satchel.keep.patterns.reports import MAX_TTL_DAYS, prepare
from satchel.keep.texts import parse_json
from satchel.store.foreign import ForeignDatabase, Value, open_foreign

# columns that no other tool has, Satchel included
_OWN_COLUMNS = (
    *(("context_packages", "session_id"), ("error_patterns", "signature_json")),
    *(("strategies", "strategy_id"), ("consumption_scope", "session_id")),
)

_OWNED = {"error_patterns": "pattern_hash", "strategies": "strategy_id"}
_TABLES_READ = frozenset(
    "sessions context_packages context_package_consumers error_patterns strategies consumption_scope "
    "orchestration_logs success_criteria schema_version".split()
)
_DATABASES = ("bazinga/bazinga.db", "bazinga.db")
_WHOLE_SESSION = "global"


def find_database(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in _DATABASES:
        if (path / name).is_file():
            return path / name
    raise NotFound(f"there is no {' and no '.join(_DATABASES)} in {path}", "Name the database file, or its project")


class BazingaTables(ForeignTables):
    def __init__(self, database: ForeignDatabase, where: str) -> None:
        super().__init__(database)
        self.others = self.passed_over = 0
        if not any(self.has(table, name) for table, name in _OWN_COLUMNS):
            raise self.not_of("bazinga", where, "context_packages, error_patterns or strategies as bazinga makes them")

    def projects(self) -> tuple[Mapping[str, str], Collection[Value]]:
        # if any row names a project, rows that name none are reported; otherwise all belong to the importing one
        rows = [
            (table, self.row_name(key, number), project)
            for table, key in _OWNED.items()
            for number, project in self.all_rows(table, key, "project_id")
        ]
        projects = {project for _, _, project in rows if isinstance(project, str) and project.strip()}
        self.others = max(0, len(projects) - 1)
        for table, row, project in rows if projects else ():
            if project not in projects:
                self.trouble(table, row, "it belongs to no project")
        return {name: name for name in sorted(projects)}, projects

    @property
    def format(self) -> str:
        versions = [number_of(version) for (version,) in self.all_rows("schema_version", "version")]
        recorded = [version for version in versions if version is not None]
        return f"bazinga, schema {max(recorded)}" if recorded else "bazinga"

    def not_taken(self) -> tuple[tuple[str, int], ...]:
        logs = (("orchestration_logs of interactions and events", self.passed_over),) if self.passed_over else ()
        unread = set() if self.has("orchestration_logs", "reasoning_phase") else {"orchestration_logs"}
        return (*self.not_among(_TABLES_READ - unread), *logs)


def group_of(_: Row, group: Value, scope: Value = None) -> str | None:
    """Return the task group, or None for the whole session."""
    name = optional_text(group, "group_id") if scope != _WHOLE_SESSION else None
    return None if name is None or fold(name) == _WHOLE_SESSION else name.strip()


def tenths_of(value: Value, _: str = "") -> tuple[int, str | None]:
    """Return a confidence of 0.0 to 1.0 in tenths, rounded half up and limited to 1 to 10."""
    if not isinstance(value, (int, float)):
        return FIRST, f"its confidence is {described(value)}; {FIRST} tenths here"
    # repr gives the shortest text of a float, so .15 rounds as a half
    bounded = max(Decimal(LEAST), min(Decimal(MOST), Decimal(repr(value)) * 10))
    tenths = int(bounded.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return tenths, None if 0 <= value <= 1 else f"its confidence is {described(value)}; {tenths} tenths here"


_STATUSES = _ACTIVE, _COMPLETED, _ = ("active", "completed", "failed")
_LIMIT = 64 << 20
_Lines = Iterator[tuple[str, str, Line]]

# the entry type for a phase of reasoning, if it is not a discovery
_PHASES = {"decisions": "decision", "pivot": "decision"}

# the field of a scratchpad for a phase of reasoning
_SCRATCHPAD_PHASES = {"approach": "attempted", "blockers": "blockers", "completion": "summary"}


def read_bazinga(path: Path, source_project: str | None = None) -> Arriving:
    """Read one project of a bazinga database, given as a file or folder; None takes the only project."""
    file = find_database(path)
    with open_foreign(file) as database:
        tables = BazingaTables(database, str(file))
        tables.choose_project(source_project)
        packages = sorted(tables.read(_PACKAGE, "context_packages", "id|package_id"), key=_by_time)
        runs = list(_runs(tables))
        patterns = list(_patterns(tables))
        marks = _marks(tables, {package["id"] for package in packages})
        lines = [*runs, *_packages(tables, packages, marks), *patterns, *_strategies(tables), *_entries(tables)]
        lines += _deliveries(tables, packages, marks)
        silent = sum(package["summary"] is None for package in packages)
        active = sum(line["status"] == _ACTIVE for _, _, line in runs)
        names_no_project = "bazinga's sessions and packages name no project, so those of all projects were imported"
        masking_note = "bazinga drops quoted names: errors without any are recognized again, the others are found"
        noted = (
            (active, f"sessions that are active there, and stay active: {active}"),
            (silent, f"packages without a summary, which are called by their files: {silent}"),
            (tables.others and (runs or packages), names_no_project),
            (patterns, f"{masking_note} by search alone"),
        )
        return tables.arriving(file, f"bazinga, project {tables.project or ''}", lines, noted)


def _over(row: Row, ended: Value) -> int | None:
    over = None if ended is None else moment_or_none(row, ended, "end_time", "left out")
    return None if over is None else max(row.fields["at"], over)


def _uid(kind: str, *parts: object) -> str:
    return identity("bazinga", kind, *parts).hex()


def _line(source: Fields, table: str, kind: str, uid: str, fields: Line) -> tuple[str, str, Line]:
    run = {"run": source["session"]} if "session" in source else {}
    return table, source["row"], {"kind": kind, "uid": uid, **run, "created_at": iso(source["at"]), **fields}


_SESSION = {
    "at": columns("start_time", "created_at", read=lambda _, *times: moment_of(times[times[0] is None], "start_time")),
    "ended": columns("end_time", read=_over),
    "status": replaced("status", partial(among, choices=_STATUSES, missing=_ACTIVE, other=_COMPLETED)),
    "session": column("session_id", key_of),
    "title": column("original_requirements", optional_text),
}


def _runs(tables: BazingaTables) -> _Lines:
    for one in sorted(tables.read(_SESSION, "sessions", "session_id"), key=_by_time):
        is_over = one["status"] != _ACTIVE and one["session"] != MAIN_RUN
        ended = {"ended_at": iso(one["ended"])} if is_over and one["ended"] is not None else {}
        status = {"status": one["status"] if is_over else _ACTIVE}
        yield _line(one, "sessions", "run", _uid("run", one["session"]), {"title": one["title"], **status, **ended})


_PACKAGE = {
    "id": column("id|package_id", key_of),
    "session": column("session_id", key_of),
    "task_id": columns("group_id", "scope", read=group_of),
    "path": column("content_path|file_path", text_of),
    "type": replaced("package_type", partial(among, choices=TYPES, missing=DEFAULT_TYPE)),
    "priority": replaced("priority", partial(among, choices=PRIORITIES, missing=DEFAULT_PRIORITY)),
    "summary": column("summary", optional_text),
    "agent": column("producer_agent", optional_text),
    "supersedes": column("supersedes_id", optional(key_of)),
    "at": column("created_at", moment_of),
}


def _package_uid(package: Fields) -> str:
    return _uid("package", package["session"], package["id"], package["path"])


def _packages(tables: BazingaTables, packages: list[Fields], marks: list[Fields]) -> _Lines:
    earlier: dict[str, Fields] = {}
    heirs: dict[str, Fields] = {}
    for package in packages:
        old = earlier.get(package["supersedes"])
        earlier[package["id"]] = package
        if old is not None and old["session"] == package["session"]:
            heirs.setdefault(old["id"], package)
        elif package["supersedes"] is not None:
            reason = f"it supersedes {package['supersedes']}, which is not an earlier package of its session"
            tables.trouble("context_packages", package["row"], reason, left_out=False)
    consumers: dict[str, list[str]] = defaultdict(list)
    for mark in marks:
        consumers[mark["package"]].append(fold(mark["role"]))
    for one in packages:
        heir = heirs.get(one["id"])
        fields = {
            "summary": one["summary"] or f"no summary stored for {PurePosixPath(one['path']).name}",
            "superseded_by": None if heir is None else _package_uid(heir),
            "updated_at": iso((heir or one)["at"]),
            "consumers": sorted(set(consumers[one["id"]])),
            **{name: one[name] for name in ("type", "priority", "path", "task_id", "agent")},
        }
        yield _line(one, "context_packages", "package", _package_uid(one), fields)


_MARK = {
    "package": column("package_id", key_of),
    "role": column("agent_type", text_of),
    "at": column("consumed_at", optional(moment_of)),
    "iteration": columns("iteration", read=lambda _, value: number_of(value) or 0),
}


def _marks(tables: BazingaTables, packages: Collection[str]) -> list[Fields]:
    marks = tables.read(_MARK, "context_package_consumers", "package_id")
    for mark in marks:
        if mark["package"] not in packages:
            tables.trouble("context_package_consumers", mark["row"], "it belongs to no package")
    return [one for one in marks if one["package"] in packages]


def _times(row: Row, created: Value, last_seen: Value) -> tuple[int, int]:
    last = moment_or_none(row, last_seen, "last_seen", "using its creation time")
    if last is None:
        last = moment_of(created, "created_at")
        return last, last
    first = moment_or_none(row, created, "created_at", "using the time it was last seen")
    return last if first is None else min(first, last), last


def _signature(value: Value, field: str) -> Mapping[str, object]:
    text = text_of(value, field)
    try:
        signature = parse_json(text)
    except (ValueError, RecursionError):
        raise Unreadable(f"its {field} is no JSON") from None
    if not isinstance(signature, dict):
        raise Unreadable(f"its {field} is not a JSON object")
    for name in ("error_type", "message_pattern"):
        if not isinstance(signature.get(name), str) or not signature[name].strip():
            raise Unreadable(f"its {field} has no {name}")
    return signature


def _texts(value: object) -> list[str]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [one for one in listed if isinstance(one, str) and one.strip()]


_PATTERN = {
    "signature": column("signature_json", _signature),
    "seen": columns("created_at", "last_seen", read=_times),
    "hash": column("pattern_hash", text_of),
    "solution": column("solution", optional_text),
    "lang": column("lang", optional_text),
    "tenths": replaced("confidence", tenths_of),
    "ttl_days": replaced("ttl_days", partial(count_of, least=1, default=DEFAULT_TTL_DAYS, most=MAX_TTL_DAYS)),
    "occurrences": replaced("occurrences", partial(count_of, least=1)),
}


def _patterns(tables: BazingaTables) -> _Lines:
    # several of their errors may become one here, since more of a message is masked
    lines: dict[str, tuple[str, Line]] = {}
    for pattern in sorted(tables.read(_PATTERN, "error_patterns", "pattern_hash"), key=lambda pattern: pattern["seen"]):
        signature = pattern["signature"]
        stack = "\n".join(_texts(signature.get("stack_pattern"))) or None
        hints = ", ".join(_texts(signature.get("context_hints")))
        try:
            message = signature["message_pattern"]
            prepared = prepare(signature["error_type"], message, stack, None, None, None, None, _LIMIT)
        except SatchelError as error:
            tables.trouble("error_patterns", pattern["row"], error.problem)
            continue
        first, last = pattern["seen"]
        row, line = lines.setdefault(prepared.hash, (pattern["row"], {}))
        if not line:
            line |= {
                "kind": "error_pattern",
                "uid": _uid("error_pattern", tables.project, prepared.hash),
                "hash": prepared.hash,
                "error_type": prepared.error_type,
                "message": prepared.message,
                "example": f"{prepared.example}\nhints: {hints}" if hints else prepared.example,
                "lang": pattern["lang"],
                "occurrences": 0,
                "created_at": iso(first),
                "solutions": [],
            }
        line["occurrences"] += pattern["occurrences"]
        line |= {"ttl_days": pattern["ttl_days"], "last_seen": max(iso(last), line.get("last_seen", ""))}
        solutions = {fold(fix["solution"]) for fix in line["solutions"]}
        if pattern["solution"] is not None and fold(pattern["solution"]) not in solutions:
            state = ACTIVE if pattern["tenths"] == FIRST else CONFIRMED if pattern["tenths"] > FIRST else DEMOTED
            line["solutions"].append(
                {
                    "uid": _uid("solution", tables.project, pattern["hash"]),
                    "solution": pattern["solution"],
                    "confidence": pattern["tenths"],
                    "state": STATES[state - 1],
                    "created_at": iso(first),
                    "updated_at": iso(last),
                }
            )
    for row, line in lines.values():
        yield "error_patterns", row, line


_STRATEGY = {
    "seen": columns("created_at", "last_seen", read=_times),
    "id": column("strategy_id", key_of),
    "topic": column("topic", text_of),
    "insight": column("insight", text_of),
    "lang": column("lang", optional_text),
    "framework": column("framework", optional_text),
    "helped": replaced("helpfulness", partial(count_of, least=0)),
}


def _strategies(tables: BazingaTables) -> _Lines:
    for one in sorted(tables.read(_STRATEGY, "strategies", "strategy_id"), key=lambda one: (one["seen"], one["id"])):
        fields = {name: one[name] for name in ("topic", "insight", "lang", "framework", "helped")}
        one["at"], last = one["seen"]
        uid = _uid("strategy", tables.project, one["id"])
        yield _line(one, "strategies", "strategy", uid, fields | {"last_seen": iso(last)})


def _references(row: Row, value: Value) -> list[str]:
    text = optional_text(value, "references_json")
    try:
        return [] if text is None else _texts(json.loads(text))
    except ValueError:
        row.problems.append("its references_json is not JSON; left out")
        return []


_LOG = {
    "id": column("id", key_of),
    "session": column("session_id", key_of),
    "phase": column("reasoning_phase", optional_text),
    "content": column("content", text_of),
    "agent": columns("agent_id", "agent_type", read=lambda _, one, kind: optional_text(one, "agent_id") or kind),
    "iteration": columns("iteration", read=lambda _, value: number_of(value) or 0),
    "confidence": column("confidence_level", optional_text),
    "references": columns("references_json", read=_references),
    "task_id": columns("group_id", read=group_of),
    "at": column("timestamp", moment_of),
}
_CRITERION = {
    "id": column("id", key_of),
    "session": column("session_id", key_of),
    "criterion": column("criterion", text_of),
    "status": column("status", optional_text),
    "actual": column("actual", optional_text),
    "evidence": column("evidence", optional_text),
    "at": column("created_at", moment_of),
}


def _entries(tables: BazingaTables) -> _Lines:
    if tables.has("orchestration_logs", "reasoning_phase"):
        for one in sorted(tables.read(_LOG, "orchestration_logs", "id"), key=_by_time):
            if one["phase"] is None:
                tables.passed_over += 1
                continue
            parts = [one["content"]]
            parts += [f"References: {', '.join(one['references'])}"] if one["references"] else []
            parts += [f"Confidence: {one['confidence']}"] if one["confidence"] else []
            content: object = "\n".join(parts)
            kind, field = _PHASES.get(one["phase"], "discovery"), _SCRATCHPAD_PHASES.get(one["phase"])
            if field is not None:
                kind = "scratchpad"
                content = {"iteration": one["iteration"], field: content if field == "summary" else [content]}
            fields = {"type": kind, "content": content, "task_id": one["task_id"], "agent": one["agent"]}
            yield _line(
                one, "orchestration_logs", "entry", _uid("entry", "reasoning", one["session"], one["id"]), fields
            )
    for one in sorted(tables.read(_CRITERION, "success_criteria", "id"), key=_by_time):
        paragraphs = [f"Success criterion, {one['status'] or 'pending'}: {one['criterion']}"]
        paragraphs += [f"{name}: {one[name.lower()]}" for name in ("Actual", "Evidence") if one[name.lower()]]
        fields = {"type": "decision", "content": "\n".join(paragraphs)}
        yield _line(one, "success_criteria", "entry", _uid("entry", "criterion", one["session"], one["id"]), fields)


_SCOPE = {
    "iteration": column("iteration", whole),
    "session": column("session_id", key_of),
    "task_id": columns("group_id", read=group_of),
    "role": column("agent_type", text_of),
    "package": column("package_id", key_of),
    "at": column("consumed_at", moment_of),
}


def _deliveries(tables: BazingaTables, packages: list[Fields], marks: list[Fields]) -> _Lines:
    by_id = {one["id"]: one for one in packages}
    consumed = tables.read(_SCOPE, "consumption_scope", "scope_id")
    for mark in marks:
        if mark["at"] is not None:
            package = by_id[mark["package"]]
            consumed.append({**mark, "session": package["session"], "task_id": package["task_id"]})
    windows: dict[str, tuple[str, Line]] = {}
    for one in sorted(consumed, key=lambda one: one["at"]):
        match = by_id.get(one["package"])
        if match is None or match["session"] != one["session"]:
            reason = f"its package {one['package']} is not an imported package of its session"
            tables.trouble("consumption_scope", one["row"], reason)
            continue
        window = {name: one[name] for name in ("task_id", "iteration") if one[name]}
        line = line_of_window({"run": one["session"], "role": fold(one["role"]), **window})
        row, line = windows.setdefault(line["uid"], (one["row"], line))
        item = {"kind": "package", "item": _package_uid(match), "delivered_at": iso(one["at"])}
        if item["item"] not in (listed["item"] for listed in line["items"]):
            line["items"].append(item)
    for row, line in windows.values():
        yield "consumption_scope", row, line


def _by_time(source: Fields) -> tuple[object, ...]:
    return source["at"], len(str(source.get("id", ""))), str(source.get("id", ""))
