"""The control room of a project with a hundred thousand items of each kind and ten agents at work."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import room_pages
from benchmarks.content import open_store
from benchmarks.harness import Bench, Section, interleave, timed
from benchmarks.search_speed import fill_one_run
from satchel.base.clock import DAY_MS, system_clock
from satchel.client import Satchel
from satchel.keep.names import ensure_agent

_SIZE, _QUICK_SIZE = 100_000, 2_000
_AGENTS, _AT_WORK = 40, 10
_MOST_MS = 20
_PERSON = "human:ann"

_ROW = f"""
    WITH RECURSIVE rows (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM rows WHERE i + 1 < :size),
    r AS (SELECT i, :now - {DAY_MS} + i * {DAY_MS} / :size AS at, :first + i % {_AGENTS} AS agent,
        :session + i % {_AGENTS} AS session FROM rows)
"""
_COMMON = "uid, seq, project_id"
_VALUES = "randomblob(16), :seq + r.i, 1"
_PAD = """
    json_object('done', json('false'), 'test_status', 'failed',
        'attempted', json_array(hex(randomblob(6)) || ' ' || hex(randomblob(6))), 'blockers', json_array('no way in'))
"""
_VERDICT = "json_object('passed', json('false'), 'summary', 'no tests')"
_KIND = f"(r.i / {_AGENTS}) % 10"

_FILLS: Mapping[str, str] = {
    "decisions": f"""
        INSERT INTO decisions ({_COMMON}, key, value_text, agent_id, version, revision, status, created_at, updated_at)
        {_ROW} SELECT {_VALUES}, 'key ' || i, 'a value of a few words', agent, '1', 2, iif(i % 10, 1, 3), at, at FROM r
    """,
    "what decisions were": """
        INSERT INTO decision_history (uid, seq, project_id, decision_id, revision, value_text, version, status,
            agent_id, tags, scopes, set_at, created_at)
        SELECT randomblob(16), seq - 1, project_id, id, 1, 'another value', '1', 1, :first, '[]', '[]', updated_at,
            updated_at FROM decisions WHERE revision = 2
    """,
    "rules": f"""
        INSERT INTO constraints ({_COMMON}, category_id, text, priority, created_by, active, created_at)
        {_ROW} SELECT {_VALUES}, 1, 'a rule of a few words', 2, agent, i % 5 > 0, at FROM r
    """,
    "messages": f"""
        INSERT INTO agent_messages
            ({_COMMON}, from_agent_id, to_agent_id, type, priority, message, expires_at, read_expires_at, created_at)
        {_ROW} SELECT {_VALUES}, agent, CASE i % 4 WHEN 0 THEN :human WHEN 1 THEN :person WHEN 2 THEN :first END, 4, 2,
            'please look at this', :now + {DAY_MS}, :now + {DAY_MS}, at FROM r
    """,
    "files": f"""
        INSERT INTO files ({_COMMON}, path, created_at)
        {_ROW} SELECT {_VALUES}, 'src/d' || (i % 50) || '/f' || i || '.py', at FROM r WHERE i < 5000
    """,
    "edits": f"""
        INSERT INTO file_changes ({_COMMON}, file_id, agent_id, session_id, change, expires_at, created_at)
        {_ROW} SELECT {_VALUES}, f.id, agent, session, 2, :now + {DAY_MS}, at FROM r
        JOIN files f ON f.id = 1 + i * 31 % (SELECT max(id) FROM files)
    """,
    "notes": f"""
        INSERT INTO context ({_COMMON}, run_id, type, content, task_id, agent_id, session_id, created_at)
        {_ROW} SELECT {_VALUES}, :run, CASE {_KIND} WHEN 0 THEN 6 WHEN 1 THEN 5 ELSE 1 END,
            CASE {_KIND} WHEN 0 THEN {_PAD} WHEN 1 THEN {_VERDICT} ELSE 'a note' END, 'T' || (i * 25 / :size),
            agent, session, at FROM r
    """,
    "corrections": f"""
        INSERT INTO corrections ({_COMMON}, action, item_kind, item_id, agent_id, reason, created_at)
        {_ROW} SELECT {_VALUES}, 2, 1, 1 + i * 7 % :size, agent, 'it is wrong', at FROM r
    """,
    "errors": f"""
        INSERT INTO error_patterns ({_COMMON}, pattern_hash, error_type, message, example, occurrences, ttl_days,
            last_seen, expires_at, created_at)
        {_ROW} SELECT {_VALUES}, 'h' || i, 'KeyError', 'no such key', 'no', 3, 90, at, :now + {DAY_MS}, at FROM r
    """,
    "reports of errors": f"""
        INSERT INTO error_reports (project_id, pattern_id, run_id, agent_id, created_at)
        {_ROW} SELECT 1, iif(i % 2, 1 + i, :size), :run, iif(i % 2, agent, :first), at FROM r
    """,
    "solutions": f"""
        INSERT INTO error_solutions
            ({_COMMON}, pattern_id, solution, confidence, agent_id, created_at, updated_at)
        {_ROW} SELECT {_VALUES}, 1 + i, 'do this instead', 5, agent, at, at FROM r WHERE i % 2
    """,
    "events": f"""
        INSERT INTO events (project_id, session_id, agent_id, kind, created_at)
        {_ROW} SELECT 1, session, agent, iif(i % 1000, 1 + i % 9, 10), at FROM r
    """,
    "notes that several wrote": "UPDATE context SET seen = 2 + id % 9 WHERE id % 50 = 0",
    "confirmations": f"""
        INSERT INTO corrections ({_COMMON}, action, item_kind, item_id, agent_id, created_at)
        {_ROW} SELECT {_VALUES}, 3, 1 + i % 3, 1 + i * 7 % :size, agent, at FROM r WHERE i % 4 = 0
    """,
    "solutions that helped": "UPDATE error_solutions SET confirmed = id % 5",
    "windows": f"""
        INSERT INTO windows (project_id, session_id, number, task_id, role, agent_id, iteration, seen_at, tokens)
        {_ROW} SELECT 1, session, 2 + i, '', '', agent, 0, at, 500 FROM r WHERE i < :size / 20
    """,
    "deliveries": """
        INSERT INTO deliveries (window_id, kind, item_id, seq, created_at)
        SELECT w.id, 1 + n.value % 3, 1 + (n.value * 31 + iif(n.value < 10, 0, w.id * 7919)) % :size, 1, w.seen_at
        FROM windows w JOIN json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]') n WHERE true
        ON CONFLICT DO NOTHING
    """,
    "what was put into windows by day": f"""
        INSERT INTO delivery_days (day, project_id, moment, agent_id, deliveries, items, tokens)
        SELECT :now / {DAY_MS} - d.value, 1, m.value, a.id, 9, 90, 900 FROM agents a
        JOIN json_each('[1,2,3,4,5,6,7,8,9,10]') m JOIN (WITH RECURSIVE days (value) AS (
            SELECT 0 UNION ALL SELECT value + 1 FROM days WHERE value < 89) SELECT value FROM days) d
    """,
    "claims": f"""
        INSERT INTO file_claims
            ({_COMMON}, path, agent_id, session_id, worktree, exclusive, expires_at, created_at)
        {_ROW} SELECT {_VALUES}, iif(i < 50, 'src/d' || i || '/**', 'src/d' || (i % 50) || '/f' || i || '.py'), agent,
            session, iif(i % 2, '', '/elsewhere'), 1, :now + 600000, at FROM r WHERE i < 2000
    """,
    "refusals": f"""
        INSERT INTO claim_refusals
            (project_id, session_id, agent, folded, path, worktree, is_key, exclusive, created_at)
        {_ROW} SELECT 1, session, 'agent', 'agent', 'src/d' || (i % 50) || '/g' || i || '.py', '', 0, 1, :now - i
        FROM r WHERE i < 1000
    """,
}


def run(bench: Bench) -> Section:
    """Measure each look, then the pages."""
    size = bench.choose(_SIZE, _QUICK_SIZE)
    now, file = system_clock(), bench.folder / "store.db"
    with open_store(file) as satchel:
        bench.progress.say(f"building a store of {size:,} items of each kind")
        fill_one_run(satchel, size, lambda _: None)
        satchel.messages.send("please look at this", to="human", agent="agent-0")  # with a document, as real ones
        fill(satchel, size, now)
    with open_store(file, clock=lambda: now) as satchel:
        room = satchel.room
        looks = {
            "what needs a person": lambda _: room.needs(_PERSON),
            "what changed since they looked": lambda _: room.since(_PERSON),
            "who is where, with a timeline": lambda _: room.where(),
            "conflicts": lambda _: room.conflicts(),
            "tokens added to context, of 90 days": lambda _: room.spending(90),
        }
        bench.progress.say("looking")
        taken = interleave(looks, bench.choose(100, 10), warm_up=3)
    figures = [timed(f"{what}, {size:,} items of each kind", taken[what], at_most=_MOST_MS) for what in looks]
    pages, notes = room_pages.measure(bench, file)
    return Section(
        "The control room",
        (*figures, *pages),
        (
            f"The project has as many decisions, rules, messages, edits, notes, corrections, errors and events of one "
            f"day, 2,000 claims and {_AGENTS} sessions with edits in every quarter of an hour, {_AT_WORK} of them at "
            "work; the person has seen nothing. A tenth of the notes are scratchpads of attempts that failed, ten of "
            "each agent at each task; as many notes of made-up words can be searched. A twentieth as many windows got "
            "20 items each, and each agent something at each moment of 90 days.",
            *notes,
        ),
    )


def fill(satchel: Satchel, size: int, now: int) -> None:
    """Write so many items of each kind of the last day as rows: through the services it would take an hour."""
    with satchel.workplace.engine.without_deadline(), satchel.workplace.engine.write() as transaction:
        names = ("human", _PERSON, *(f"agent-{number}" for number in range(_AGENTS)))
        numbers = {name: ensure_agent(transaction, 1, name, now)[0] for name in names}
        place = transaction.one("SELECT p.seq, r.id FROM projects p JOIN runs r ON r.project_id = p.id")
        assert place is not None
        values: dict[str, object] = {
            "size": size,
            "now": now,
            "run": place[1],
            "first": numbers["agent-0"],
            "human": numbers["human"],
            "person": numbers[_PERSON],
            "session": 1,
        }
        transaction.many(
            "INSERT INTO sessions (uid, project_id, client, agent_id, branch, task_id, seen_at, created_at) "
            "VALUES (randomblob(16), 1, 'claude', :agent, 'main', 'T1', :seen, :began)",
            [
                {
                    "agent": numbers[f"agent-{number}"],
                    "seen": now - (1 if number < _AT_WORK else 60) * 60_000,
                    "began": now - DAY_MS,
                }
                for number in range(_AGENTS)
            ],
        )
        seq = place[0] + 1
        for statement in _FILLS.values():
            transaction.execute(statement, {**values, "seq": seq})
            seq += size
        transaction.execute("UPDATE projects SET seq = :seq", {"seq": seq})
