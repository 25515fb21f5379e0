"""Progress shown by a command: a commit, or a passing test run."""

from __future__ import annotations

import re

from satchel.brief.working.hook_context import HookContext
from satchel.keep import events
from satchel.keep.sessions import updates

COMMIT, TESTS = "commit", "tests"

# How much is read of the start of a command, and of the end of its output.
_MOST_CHARS = 8_000

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2$", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"&&|\|\||[;|&\n]|(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|\d*>&[\d-]|&>>?|[^\s;|&()'\"\\])+", re.DOTALL)
_SEPARATORS = frozenset(("&&", "||", ";", "|", "&", "\n"))
_SETTING = re.compile(r"[A-Za-z_]\w*=")
_COUNT = re.compile(r"[\d.]+[smhd]?")

_WRAPPERS = frozenset("time nice nohup sudo env command exec timeout stdbuf xvfb-run npx bunx".split())
# Programs that run another one, each with its subcommand for that.
_RUNNERS_OF = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "pdm": "run",
    "hatch": "run",
    "bundle": "exec",
    "pnpm": "exec",
    "npm": "exec",
    "yarn": "exec",
}

_TESTERS = frozenset("pytest py.test unittest jest vitest mocha ava rspec tox nox phpunit ctest".split())
_TASK_RUNNERS = frozenset(
    "npm pnpm yarn bun deno cargo go make gmake just task mvn mvnw gradle gradlew dotnet mix rake rails swift bazel sbt"
    " composer flutter dart".split()
)
_TEST_TASK = re.compile(r"(?:[\w.-]*:)*(?:tests?|nextest|spec)(?:[-:_A-Z].*)?")
_CHECK_MEANS_TESTS = frozenset({"make", "gmake", "gradle", "gradlew"})
_TARGETS_ANYWHERE = frozenset("make gmake just task mvn mvnw gradle gradlew rake bazel sbt".split())
_RUNS_NOTHING = frozenset(
    "--collect-only --co --version --help -h --list --listTests --no-run --dry-run --showconfig".split()
)
_GIT_OPTIONS_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})

_HAS_COMMITTED = re.compile(r"^\[[^\]\n]+ [0-9a-f]{7,40}\] ([^\n]*)", re.MULTILINE)
_HAS_PASSED = re.compile(
    r"\b[1-9]\d* (?:passed|passing)\b|^test result: ok\.|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))|^OK(?: \(|$)"
    r"|\bBUILD SUCCESS|\b[1-9]\d* examples?, 0 failures|^\s*congratulations :\)|\b100% tests passed|^Passed!",
    re.MULTILINE,
)
_HAS_NOT_PASSED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|errors?|failures?)\b|^(?:--- )?FAIL|\bFAILED\b|\bBUILD FAIL|^test result: FAILED"
    r"|^Failed!",
    re.MULTILINE,
)


def progress_of(command: str, output: str, *, has_failed: bool | None) -> str | None:
    """Return the progress that a command shows: :data:`COMMIT`, :data:`TESTS`, or None.

    ``has_failed`` is None if its status is unknown. The output decides if the status is not that of the part in
    question.
    """
    if has_failed:
        return None
    made = None
    is_known = has_failed is False
    for words, separator in reversed(_parts(command[:_MOST_CHARS])):
        is_known = is_known and separator in {"", "&&"}
        what = _what(words)
        if what is not None and (is_known or _shows(what, output[-_MOST_CHARS:])):
            made = COMMIT if COMMIT in {made, what} else what
    return made


def subject_of(output: str) -> str:
    """Return the subject of the last commit that an output of git names, or an empty text."""
    return next(iter(_HAS_COMMITTED.findall(output[-_MOST_CHARS:])[-1:]), "").strip()


def _parts(command: str) -> list[tuple[list[str], str]]:
    parts: list[tuple[list[str], str]] = [([], "")]
    for token in _TOKEN.findall(_HEREDOC.sub(r"\3", command.strip())):
        if token not in _SEPARATORS:
            parts[-1][0].append(token.strip("'\""))
        elif parts[-1][0]:
            parts[-1] = parts[-1][0], token
            parts.append(([], ""))
    if not parts[-1][0]:
        parts.pop()
    if parts and parts[-1][1] in {";", "\n"}:
        parts[-1] = parts[-1][0], ""
    return parts


def _what(words: list[str]) -> str | None:
    words = _unwrapped(words)
    if not words or not _RUNS_NOTHING.isdisjoint(words):
        return None
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        return COMMIT if _git_command(rest) == "commit" else None
    if name.startswith("python") and "-m" in rest[:-1]:
        name = rest[rest.index("-m") + 1]
    if name in _TESTERS or (name.startswith("python") and rest[:1] == ["manage.py"] and rest[1:2] == ["test"]):
        return TESTS
    return TESTS if name in _TASK_RUNNERS and _tests(name, rest) else None


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        name = words[0].rpartition("/")[2]
        if name in _WRAPPERS or _SETTING.match(name):
            words = words[1:]
            while words and (words[0].startswith("-") or _COUNT.fullmatch(words[0])):
                words = words[1:]
        elif len(words) > 1 and _RUNNERS_OF.get(name) == words[1] and words[2:3] != ["test"]:
            words = words[2:]
        else:
            break
    return words


def _git_command(words: list[str]) -> str:
    rest = iter(words)
    for word in rest:
        if word in _GIT_OPTIONS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def _tests(name: str, words: list[str]) -> bool:
    plain = [word for word in words if not word.startswith("-")]
    if plain[:1] == ["run"]:
        plain = plain[1:]
    tasks = plain if name in _TARGETS_ANYWHERE else plain[:1]
    return any(
        _TEST_TASK.fullmatch(task) is not None
        or task in _TESTERS
        or (task == "check" and name in _CHECK_MEANS_TESTS)
        or (task == "verify" and name in {"mvn", "mvnw"})
        for task in tasks
    )


def _shows(what: str, output: str) -> bool:
    if what == COMMIT:
        return _HAS_COMMITTED.search(output) is not None
    return _HAS_PASSED.search(output) is not None and _HAS_NOT_PASSED.search(output) is None


_TEXT = (
    "Satchel: this session changed files and stored nothing yet. If others need what you learned or decided, store it "
    "with write_context or `satchel write`."
)


def record(context: HookContext, command: str, output: str, *, has_failed: bool | None) -> list[str]:
    """Record the progress that a command shows, and return the reminder as a line if the session needs it."""
    what = progress_of(command, output, has_failed=has_failed)
    if what is None:
        return []
    details = {"what": what}
    if what == COMMIT and (subject := subject_of(output)):
        from satchel.brief.working.commands import first_words

        details["subject"] = first_words(subject)
    events.record(
        context.transaction, context.project_id, events.PROGRESS, context.now, by=context.actor, details=details
    )
    return _due_reminder(context)


def _due_reminder(context: HookContext) -> list[str]:
    # recorded, because it comes once
    if not _has_only_changed(context):
        return []
    updates.change(context.transaction, context.actor.session or 0, {"nudged_at": context.now})
    return [_TEXT]


def _has_only_changed(context: HookContext) -> bool:
    row = context.transaction.one(
        """
        SELECT s.created_at FROM sessions s WHERE s.id = :session AND s.nudged_at IS NULL
            AND EXISTS (SELECT 1 FROM file_changes c WHERE c.session_id = s.id)
        """,
        {"session": context.actor.session},
    )
    if row is None:
        return False
    values = {
        "project": context.project_id,
        "since": row[0],
        "agent": context.actor.number,
        "session": context.actor.session,
    }
    # the agents briefed in the session; the second condition allows its index
    agents = "(SELECT agent_id FROM windows WHERE session_id = :session AND session_id <> 0 UNION SELECT :agent)"
    own_item = context.transaction.one(
        f"""
        SELECT 1 FROM context WHERE project_id = :project AND created_at >= :since
            AND (session_id = :session OR agent_id IN {agents}) AND content NOT LIKE '%"approved_plan":%'
        UNION ALL SELECT 1 FROM decisions WHERE project_id = :project AND updated_at >= :since AND agent_id IN {agents}
        UNION ALL SELECT 1 FROM constraints
            WHERE project_id = :project AND created_at >= :since AND created_by IN {agents}
        UNION ALL SELECT 1 FROM agent_messages
            WHERE project_id = :project AND created_at >= :since AND from_agent_id IN {agents}
        UNION ALL SELECT 1 FROM file_changes WHERE session_id = :session AND description IS NOT NULL
        UNION ALL SELECT 1 FROM error_solutions
            WHERE project_id = :project AND created_at >= :since AND agent_id IN {agents}
        LIMIT 1
        """,
        values,
    )
    return own_item is None
