"""What a hook does at each moment of a session at work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.base.config_keys import Config
from satchel.base.errors import Busy, Interrupted, ReadOnly, StoreFull
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.brief.working import scene as scenes
from satchel.brief.working.scene import NOTHING, Said, Scene, Shown, counted, fitting, tokens_of
from satchel.find.kind import Kind
from satchel.keep import deliveries, events
from satchel.keep.projects import Workplace
from satchel.keep.sessions import updates
from satchel.keep.sessions.caller import HOOK_WAIT_MS

if TYPE_CHECKING:
    from satchel.brief.working.edits import Touched
    from satchel.brief.working.prompts import Item, Looked

_TOLD_MS = 60_000
"""Messages are put in at most once in so long."""

_MOST_MESSAGES = 5
_MESSAGE_CHARS = 220

_SHORT, _SLOW = "it was short of time", "the store was slow"
_UNHEARD = "the client gives no text to the model at this moment"
_REMINDER = (
    "Satchel: this session changed files and stored nothing yet. If others need what you learned or decided, store it "
    "with write_context or `satchel write`."
)


class _Undone(Exception):
    """What was done is taken back."""


class Working:
    """What hooks record of a session at work, and put into it.

    Args:
        dry_run: record nothing, and say what would be said in a new window.
    """

    def __init__(self, workplace: Workplace, config: Config, *, dry_run: bool = False) -> None:
        self._workplace = workplace
        self._config = config
        self._dry_run = dry_run

    def before_edit(
        self,
        cwd: str,
        edits: Sequence[tuple[str, str]],
        *,
        agent_id: str | None = None,
        text: str = "",
        tells: bool = True,
        can_ask: bool = False,
    ) -> Said:
        """Claim the files of an edit for the session, unless others hold them, and say what is known of them.

        Where the store is too busy for that, an edit that explicit claims stand against is stopped all the same.

        Args:
            cwd: the folder that relative paths start from.
            edits: each file with its change: created, modified, deleted, or empty where the client does not say.
            agent_id: what the client calls the subagent that edits, or None.
            text: what is written and replaced, which chooses among many notes.
            tells: whether the client gives a text to the model at this moment; a denial reaches it in any case.
            can_ask: whether the client asks its user about an edit where it is told to.
        """
        from satchel.brief.working import edits as moment

        mode = self._config.hooks_claims

        def act(scene: Scene) -> Said:
            touched = moment.settle(scene, cwd, edits)
            if not touched:
                return replace(NOTHING, why="no file of the project")
            lines: list[str] = []
            against = moment.Against([], [])
            if mode != "off":
                against = moment.standing_against(scene, touched)
                if against.explicit and mode == "ask" and can_ask:
                    return Said(question=moment.warning(scene, against.explicit))
                if against.explicit and mode in {"deny", "ask"}:
                    return Said(denial=moment.refuse(scene, touched, against.explicit))
                lines += moment.claim(scene, touched, tells=tells)
            if not tells:
                return replace(NOTHING, why=_UNHEARD)
            more, shown = moment.hints(scene, against)
            return self._with_notes(scene, touched, [*lines, *more], shown, text)

        def look(scene: Scene) -> Said:
            touched = moment.settle(scene, cwd, edits)
            held = moment.standing_against(scene, touched).explicit if touched else []
            return Said(denial=moment.denial(scene, moment.held_of(touched, held), held)) if held else NOTHING

        return self._act(agent_id, "edit", act, look if mode in {"deny", "ask"} else None)

    def after_edit(
        self,
        cwd: str,
        edits: Sequence[tuple[str, str]],
        *,
        agent_id: str | None = None,
        text: str = "",
        owes_fixes: bool = False,
    ) -> Said:
        """Record what was changed, renew the claims on it, and put in unread messages.

        What is known of the files, and who claims them, is said unless it was said before the edit: then the client
        may give its model no text, or the hook ran out of time.

        Args:
            owes_fixes: whether the client says nothing when a tool fails, so that a known fix is said now.
        """
        from satchel.brief.working import edits as moment

        def act(scene: Scene) -> Said:
            touched = moment.settle(scene, cwd, edits)
            said = NOTHING
            if touched:
                lines: list[str] = []
                shown: list[Shown] = []
                if self._config.hooks_claims != "off":
                    against = moment.standing_against(scene, touched)
                    lines = moment.claim(scene, touched, tells=True)
                    more, shown = moment.hints(scene, against, is_made=True)
                    lines += more
                moment.record(scene, touched)
                said = self._with_notes(scene, touched, lines, shown, text)
            return self._with_messages(scene, self._with_owed(scene, said) if owes_fixes else said)

        def look(scene: Scene) -> Said:
            held = moment.standing_against(scene, moment.settle(scene, cwd, edits)).explicit
            return Said(moment.warning(scene, held, is_made=True)) if held else NOTHING

        return self._act(agent_id, "edit", act, look if self._config.hooks_claims != "off" else None)

    def unchecked_edit(self, edits: Sequence[tuple[str, str]], *, agent_id: str | None = None) -> Said:
        """Say who has claimed files that were edited though the hook before it could not check that.

        Args:
            edits: each file by its absolute path, with its change.
        """
        from satchel.brief.working import edits as moment

        def act(scene: Scene) -> Said:
            touched = moment.settle(scene, "", edits)
            if self._config.hooks_claims == "off" or not touched:
                return NOTHING
            held = moment.standing_against(scene, touched).explicit
            shown = tuple((scenes.CLAIM, one.claim.id, one.claim.seq) for one in held)
            text = moment.warning(scene, held, is_made=True) if held else ""
            return Said(text, shown=shown, window=scene.window)

        return self._act(agent_id, "edit", act)

    def prompt(self, text: str, is_over: Callable[[], bool], *, agent_id: str | None = None) -> Said:
        """Say what is kept of what a prompt is about, where that is well met and this window has not got it.

        Args:
            text: the prompt; it is not kept.
            is_over: whether the time is over: then nothing is said.

        Raises:
            StoreDamaged: the store cannot be read.
        """
        from satchel.brief.working import prompts

        items, why = self._about(text, is_over)
        if not items:  # mostly, and then no lock was taken
            problem = f"{_SHORT}: notes on a prompt were not looked up" if why == _SLOW else ""
            return replace(NOTHING, why=why, problem=problem)

        def act(scene: Scene) -> Said:
            known = prompts.known(scene)
            lines, shown = prompts.told(items, known, self._config.hooks_prompt)
            return Said("\n".join(lines), shown=tuple(shown), window=scene.window)

        return self._act(agent_id, "prompt", act)

    def look(self, text: str, is_over: Callable[[], bool], *, in_session: bool = False) -> Looked:
        """Return what would be put in at a prompt, and why; nothing is recorded.

        Args:
            in_session: in the window of the caller's session; otherwise in a new one.

        Raises:
            StoreDamaged: the store cannot be read.
        """
        from satchel.brief.working import prompts
        from satchel.brief.working.prompts import Looked

        items, why = self._about(text, is_over)
        known: dict[int, dict[int, int]] = {}
        if in_session:
            with self._workplace.engine.read() as transaction:
                scene = scenes.look(transaction, self._workplace)
                known = {} if scene is None else prompts.known(scene)
        lines, shown = prompts.told(items, known, self._config.hooks_prompt)
        said = "\n".join(lines)
        why = "" if said else why or "nothing fits the budget"
        return Looked(said, tokens_of(said), tuple(item.met for item in items), why, tuple(shown))

    def _about(self, text: str, is_over: Callable[[], bool]) -> tuple[list[Item], str]:
        """Return what a prompt is about, also what was delivered before, and why there is nothing."""
        from satchel.brief.working import prompts
        from satchel.keep import projects

        if not self._config.hooks_prompt:
            return [], "hooks.prompt is 0"
        work = self._workplace
        try:
            with work.engine.read() as transaction:
                transaction.is_out_of_time = is_over
                project = projects.find(transaction, work)
                items = prompts.find(transaction, work, project.id, text, is_over)
        except Interrupted:
            if not is_over():
                raise
            return [], _SLOW
        return items, "" if items else "nothing that is kept is well met"

    def command_failed(
        self,
        cwd: str,
        command: str,
        status: int | None,
        output: str,
        *,
        agent_id: str | None = None,
        tells: bool = True,
    ) -> Said:
        """Report the error of a command that failed, and say what fixed it before.

        Args:
            cwd: the folder that it was run in.
            status: its exit status, or None where the client does not say it.
            output: what it printed; its end counts.
            tells: whether the client gives a text to the model at this moment.
        """
        from satchel.brief.working import commands

        def act(scene: Scene) -> Said:
            budget = self._config.hooks_error if tells else 0
            lines, shown = commands.fail(scene, cwd, command, status, output, budget)
            if not tells:
                return replace(NOTHING, why=_UNHEARD)
            return self._with_messages(scene, Said("\n".join(lines), shown=tuple(shown), window=scene.window))

        return self._act(agent_id, "command", act)

    def last_error(self, *, agent_id: str | None = None) -> Said:
        """Say what is known of the error that the agent reported last."""
        from satchel.brief.working import commands

        def act(scene: Scene) -> Said:
            lines, shown = commands.last(scene, self._config.hooks_error)
            return self._with_messages(scene, Said("\n".join(lines), shown=tuple(shown), window=scene.window))

        return self._act(agent_id, "command", act)

    def command_succeeded(
        self, cwd: str, command: str, output: str = "", *, agent_id: str | None = None, owes_fixes: bool = False
    ) -> Said:
        """Learn from a command that failed before, record progress, and put in unread messages.

        Args:
            cwd: the folder that it was run in.
            output: what it printed, which may show a commit or a passing test run.
            owes_fixes: whether the client says nothing when a tool fails, so that a known fix is said now.
        """
        from satchel.brief.working import commands

        def act(scene: Scene) -> Said:
            commands.succeed(scene, cwd, command)
            said = self._with_owed(scene, NOTHING) if owes_fixes else NOTHING
            return self._with_progress(scene, said, command, output, has_failed=False)

        return self._act(agent_id, "command", act)

    def plan_approved(self, plan: str, *, agent_id: str | None = None) -> Said:
        """Keep a plan that a person has approved as one note of the session; a later one replaces it."""
        from satchel.brief.working import plans

        def act(scene: Scene) -> Said:
            plans.keep(scene, plan)
            return self._with_messages(scene, NOTHING)

        return self._act(agent_id, "plan", act)

    def command_ended(self, command: str = "", output: str = "", *, agent_id: str | None = None) -> Said:
        """Record progress and put in unread messages after a command of which it is not known how it ended."""

        def act(scene: Scene) -> Said:
            return self._with_progress(scene, NOTHING, command, output, has_failed=None)

        return self._act(agent_id, "command", act)

    def record(self, said: Said) -> None:
        """Record that what was said has reached the client; where that cannot be done soon, it may be repeated."""
        window = said.window
        if not said.shown or window is None:
            return
        tokens = math.ceil(counted(said.text) * self._config.brief_token_factor)
        with suppress(Busy, ReadOnly, StoreFull), self._workplace.engine.write(HOOK_WAIT_MS) as transaction:
            now = self._workplace.clock()
            deliveries.deliver(transaction, window, said.shown, now, moment=said.moment, tokens=tokens)

    def _act(
        self,
        agent_id: str | None,
        moment: str,
        act: Callable[[Scene], Said],
        look: Callable[[Scene], Said] | None = None,
    ) -> Said:
        """Do something in the session of the hook, in one transaction.

        Args:
            moment: one of :data:`satchel.keep.deliveries.MOMENTS`; empty where nothing is delivered.
            look: what is done where others keep the store locked, in a transaction that only reads; None does nothing.
        """
        work = self._workplace
        if work.engine.read_only:
            return replace(NOTHING, why="the store is only read")
        said = replace(NOTHING, why="there is no session")
        try:
            with suppress(_Undone), work.engine.write(HOOK_WAIT_MS) as transaction:
                scene = scenes.enter(transaction, work, agent_id)
                if scene is not None:
                    said = act(scene.in_new_window() if self._dry_run else scene)
                    said = _with_notice(said, work)
                if self._dry_run:
                    raise _Undone
            return replace(said, moment=moment)
        except (Busy, ReadOnly, StoreFull) as error:
            problem = f"{_SHORT}: {error.problem}" if isinstance(error, Busy) else ""
            nothing = replace(NOTHING, why=error.problem, problem=problem)
        if look is None:
            return nothing
        with work.engine.read() as transaction:
            scene = scenes.look(transaction, work)
            return nothing if scene is None else replace(look(scene), problem=problem)

    def _with_notes(
        self, scene: Scene, touched: Sequence[Touched], lines: Sequence[str], told: Sequence[Shown], text: str
    ) -> Said:
        from satchel.brief.working import edits as moment

        budget = self._config.hooks_edit
        notes, shown = moment.cited(scene, touched, text, budget) if budget else ([], [])
        return Said("\n".join([*lines, *notes]), shown=(*told, *shown), window=scene.window)

    def _with_owed(self, scene: Scene, said: Said) -> Said:
        """Add the fix of a command that failed while the client carried no text."""
        from satchel.brief.working import commands

        lines, shown = commands.owed(scene, self._config.hooks_error)
        text = "\n".join(filter(None, [said.text, *lines]))
        return Said(text, shown=(*said.shown, *shown), window=scene.window)

    def _with_progress(self, scene: Scene, said: Said, command: str, output: str, *, has_failed: bool | None) -> Said:
        """Record a commit or a passing test run; add messages, and a reminder to store what was learned."""
        from satchel.brief.working.progress import progress_of

        what = progress_of(command, output, has_failed=has_failed)
        if what is not None:
            events.record(
                scene.transaction, scene.project_id, events.PROGRESS, scene.now, by=scene.actor, details={"what": what}
            )
            if _has_only_changed(scene):
                updates.change(scene.transaction, scene.actor.session or 0, {"nudged_at": scene.now})
                said = replace(said, text="\n".join(filter(None, [said.text, _REMINDER])))
        return self._with_messages(scene, said)

    def _with_messages(self, scene: Scene, said: Said) -> Said:
        """Add the messages that the agent has neither read nor seen, unless some were put in a minute ago."""
        budget = self._config.hooks_messages
        lines, shown = _messages(scene, budget) if budget else ([], [])
        if not lines:
            return said
        text = "\n".join(filter(None, [said.text, *lines]))
        return Said(text, shown=(*said.shown, *shown), window=scene.window)


def _with_notice(said: Said, work: Workplace) -> Said:
    notice = None if work.caller is None or said.why == _UNHEARD else work.caller.pop_warning()
    return said if notice is None else replace(said, text="\n".join(filter(None, [notice, said.text])))


def _messages(scene: Scene, budget: int) -> tuple[list[str], list[Shown]]:
    from satchel.keep.messages.presence import is_any_alive

    if not is_any_alive(scene.transaction, scene.project_id, scene.now):
        return [], []
    told = scene.transaction.one("SELECT told_at FROM sessions WHERE id = :id", {"id": scene.actor.session})
    if told is not None and told[0] is not None and 0 <= scene.now - told[0] < _TOLD_MS:
        return [], []
    from satchel.keep.messages.visibility import Reader, newest_unseen

    assert scene.actor.number is not None
    seen, values = deliveries.was_delivered(scene.project_id, scene.actor, Kind.MESSAGE, "m.id")
    reader = Reader(scene.project_id, scene.actor.number, scene.now)
    rows = newest_unseen(scene.transaction, reader, seen, values, _MOST_MESSAGES)
    if not rows:
        return [], []
    made = {_message(row): row for row in rows}
    kept = fitting(list(made), budget)
    if not kept:  # one that is too long is shortened
        made = {_message(rows[0], _MESSAGE_CHARS // 3): rows[0]}
        kept = fitting(list(made), budget)
    if not kept:
        return [], []
    updates.change(scene.transaction, scene.actor.session or 0, {"told_at": scene.now})
    return kept, [(Kind.MESSAGE.number, made[line][0], made[line][1]) for line in kept]


def _message(row: tuple[int, int, str | None, str], chars: int = _MESSAGE_CHARS) -> str:
    number, _seq, sender, text = row
    ref, said = Kind.MESSAGE.ref(number), shortened(text, chars)
    whole = f' (in full: get_items(["{ref}"]))' if said.endswith("…") and not text.rstrip().endswith("…") else ""
    return f"Message {ref} from {sender or 'Satchel'}: {said}{whole}"


def _has_only_changed(scene: Scene) -> bool:
    """Whether a session has changed files, stored nothing that others can find, and was not reminded before.

    A plan that a hook has stored is nothing that the agent has learned.
    """
    row = scene.transaction.one(
        """
        SELECT s.created_at FROM sessions s WHERE s.id = :session AND s.nudged_at IS NULL
            AND EXISTS (SELECT 1 FROM file_changes c WHERE c.session_id = s.id)
        """,
        {"session": scene.actor.session},
    )
    if row is None:
        return False
    values = {"project": scene.project_id, "since": row[0], "agent": scene.actor.number, "session": scene.actor.session}
    # who was briefed in it: the second condition is the one of the index
    agents = "(SELECT agent_id FROM windows WHERE session_id = :session AND session_id <> 0 UNION SELECT :agent)"
    kept = scene.transaction.one(
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
    return kept is None
