"""``satchel import``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.base.errors import ERROR_KINDS, Incomplete, InvalidInput
from satchel.base.invisible import revealed
from satchel.base.records import replace
from satchel.interfaces.cli.commands.edit import edit_text
from satchel.interfaces.cli.common import is_terminal, json_option, progress, show_json, store_options, warn_notes
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.text.parts import counted, plural

if TYPE_CHECKING:
    from satchel.keep.documents.proposals import Proposal
    from satchel.keep.documents.service import Decided, Documents, Review
    from satchel.keep.moving.records import Imported, ImportedAsWritten, KindImported, KindLines

_MAX_SHOWN = 20
_STAYS = (
    "not moved: conversations with other models, live sessions (they come as ended), deliveries, claims, events and "
    "cursors"
)
_TOOLS = ("sqlew", "bazinga", "server-memory", "claude", "claude-mem", "basic-memory")


class _Import(click.Group):
    allow_interspersed_args = True

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] != ["docs"]:
            return super().make_context(info_name, args, parent, **extra)
        outer = click.Context(self, parent=parent, info_name=info_name)
        docs = self.get_command(outer, "docs")
        assert docs is not None
        return docs.make_context("docs", args[1:], outer)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return ["docs"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature

        return docs_command if cmd_name == "docs" else None


@click.command(cls=_Import, invoke_without_command=True, subcommand_metavar="| docs")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--from", "tool", type=click.Choice(_TOOLS), help="The tool that PATH is a store of.")
@click.option("--source-project", metavar="NAME", help="The project to take, where PATH holds several.")
@click.option("--dry-run", is_flag=True, help="Only say what would be taken.")
@click.option("--as-written", is_flag=True, help="Take an export whole into an empty project, and compare both sides.")
@store_options
@json_option
@click.pass_context
def import_command(
    context: click.Context,
    path: Path | None,
    tool: str | None,
    source_project: str | None,
    dry_run: bool,
    as_written: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Take over what `satchel export` wrote, or the store of another tool, at PATH; without PATH, standard input.

    An export is known by its first line, and may come from any project. Doing it again adds what is missing here and
    brings what has changed there. Where an item was changed on both sides since, the later state holds, and the other
    is kept. PATH is only read.

    With --as-written the export of a store of your own goes into an empty project, as between SQLite and PostgreSQL:
    pins, what persons have seen and which shared texts they accepted come too. It is all or nothing. At the end both
    sides are compared by kind; the exit status is 1 where they differ.

    Of sqlew come decisions with history, constraints, messages, file changes. Of bazinga, whose PATH may be a folder
    that holds bazinga/bazinga.db: sessions as runs, packages and who was given them, error patterns with what solved
    them, strategies, reasoning and success criteria as notes. Of the memory server of MCP its JSON Lines, and of Claude
    Code a project's memory folder or a CLAUDE.md, as notes. Of claude-mem come observations and summaries, of
    basic-memory the notes of a project's folder, as notes.

    `satchel import docs` proposes rules and decisions from this repository's own documents.

    The exit status is 15 where something was left out, which is named, the important first.

    \b
    Examples:
      satchel import project.jsonl
      satchel export | satchel import --as-written --db new.db
      satchel import --from sqlew .sqlew/sqlew.db --dry-run
      satchel import --from bazinga .
      satchel import --from claude ~/.claude/projects/-home-me-shop/memory
      satchel import --from claude-mem ~/.claude-mem --source-project shop
    """
    from satchel.keep.moving.files import STANDARD_INPUT

    if tool is None and source_project is not None:
        raise InvalidInput("--source-project goes with --from", "An export holds one project")
    if as_written and (tool is not None or dry_run):
        raise InvalidInput("--as-written goes with neither --from nor --dry-run", "Leave one of them out")
    stream = None
    if path is None:
        if tool is not None or sys.stdin.isatty():
            raise click.UsageError("Missing argument 'PATH'.", context)
        stream = sys.stdin.buffer
    with opened(db, project, read_only=dry_run) as satchel, progress("importing", quiet=as_json) as report:
        file = STANDARD_INPUT if path is None else path.absolute()
        if as_written:
            moved = satchel.moving.import_as_written(file, stream=stream, progress=report)
        elif tool is None:
            result = satchel.moving.import_file(file, stream=stream, dry_run=dry_run, progress=report)
        else:
            result = satchel.moving.import_from(
                tool, file, source_project=source_project, dry_run=dry_run, progress=report
            )
    if as_written:
        show_json(moved) if as_json else _show_moved(moved)
        context.exit(1 if moved.differing else 0)
    if as_json:
        show_json(result)
    else:
        _show(result)
    if result.is_incomplete:
        context.exit(ERROR_KINDS[Incomplete.code].exit_status)


def _show(result: Imported) -> None:
    whose = f", project {result.source_project}" if result.source_project is not None else ""
    click.echo(f"{'imported from' if result.done else 'would import from'} {result.source} ({result.format}{whose})")
    for kind in result.kinds:
        click.echo(f"  {plural(kind.kind.replace('_', ' '), 2)}: {_counts(kind)}")
    for note in result.notes:
        click.echo(f"note: {note}")
    for conflict in result.conflicts[:_MAX_SHOWN]:
        click.echo(f"conflict: {conflict.ref} {conflict.item}: {conflict.reason}")
    _more(len(result.conflicts))
    _show_troubles(result)
    if result.not_taken:
        listed = ", ".join(f"{name} ({rows})" for name, rows in result.not_taken)
        click.echo(f"not taken, because nothing here corresponds to it: {listed}")


def _show_moved(moved: ImportedAsWritten) -> None:
    whose = f" (project {moved.source_project})" if moved.source_project is not None else ""
    click.echo(f"imported as written from {moved.source}{whose}")
    here, there = ({one.kind: one for one in side} for side in (moved.kinds, moved.exported))
    for kind in dict.fromkeys([*there, *here]):
        ours, theirs = here.get(kind), there.get(kind)
        result = "same" if ours == theirs else f"differs; exported: {_lines_text(theirs)}"
        click.echo(f"  {kind:<14}{_lines_text(ours)}  {result}")
    _show_troubles(moved)
    click.echo(_STAYS)
    differing = ", ".join(moved.differing)
    click.echo(f"differs: {differing}" if differing else "same: every line was stored as it was exported")


def _lines_text(kind: KindLines | None) -> str:
    return "0 lines" if kind is None else f"{kind.lines:>7,}  {kind.digest}"


def _show_troubles(result: Imported | ImportedAsWritten) -> None:
    for trouble in result.troubles[:_MAX_SHOWN]:
        word = "left out" if trouble.left_out else "changed"
        click.echo(f"{word}: {trouble.table} {trouble.row}: {trouble.reason}")
    _more(len(result.troubles) + result.more_troubles)


def _counts(kind: KindImported) -> str:
    counted = (
        ("new", kind.added),
        ("updated", kind.updated),
        ("here already", kind.present),
        ("changed on both sides", kind.conflicts),
        ("left out", kind.left_out),
    )
    return f"{kind.rows}: " + ", ".join(f"{count} {word}" for word, count in counted if count)


def _more(total: int) -> None:
    if total > _MAX_SHOWN:
        click.echo(f"... and {total - _MAX_SHOWN} more; --json lists them")


_KEYS = {
    "y": "accept",
    "e": "edit, then accept",
    "k": "change between rule and note",
    "r": "reject",
    "n": "not now",
    "all": "accept this and the rest, except what needs a closer look",
    "q": "stop here",
}


@click.command()
@click.option("--list", "only_list", is_flag=True, help="Only list the proposals.")
@store_options
@json_option
def docs_command(
    only_list: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Propose rules, decisions and notes from the documents that the repository has already.

    Read are AGENTS.md, CLAUDE.md with its imports, GEMINI.md, QWEN.md, .cursor/rules/*.mdc,
    .github/copilot-instructions.md, .github/instructions/*.md, CONTRIBUTING.md, NOTES.md and accepted decision records
    (MADR, Nygard), as the default branch has them.

    At a terminal each proposal is shown in full, to accept, edit, reject or skip. `satchel accept` and `satchel reject`
    take places such as AGENTS.md:12, or whole documents. Run it again when the documents change: changed and removed
    texts are proposed too.

    \b
    Examples:
      satchel import docs
      satchel import docs --list
    """
    asks = not (only_list or as_json) and is_terminal()
    with opened(db, project, read_only=not asks) as satchel:
        documents = satchel.documents
        review = documents.review()
        if as_json:
            show_json(review)
        elif asks:
            ask(documents, review)
        else:
            _show_head(review)
            for one in review.proposals:
                click.echo("\n".join(["", *_lines(one)]))
            if review.proposals:
                click.echo("\n`satchel accept` and `satchel reject` take places, such as AGENTS.md:12, or documents")


def _show_head(review: Review) -> None:
    branch = "" if review.branch is None else f" on {revealed(review.branch)}"
    click.echo(
        f"{counted(len(review.documents), 'document')}{branch}: {counted(len(review.proposals), 'proposal')}, "
        f"{review.in_step} known, {review.rejected} rejected"
    )
    reasons = Counter(reason for _, reason in review.skipped)
    for reason, count in reasons.items():
        paths = [path for path, one in review.skipped if one == reason]
        more = f" and {count - 3} more" if count > 3 else ""
        click.echo(f"not read: {revealed(', '.join(paths[:3]))}{more}: {revealed(reason)}", err=True)


def _lines(one: Proposal) -> list[str]:
    item = "" if one.item is None else f" of {one.item}"
    also = f" (also {', '.join(one.also)})" if one.also else ""
    lines = [f"{one.place}{also}: {one.why} {one.kind}{item}"]
    marked = "needs a closer look" if one.needs_a_look else "mentions"
    lines += [f"  {marked}: {', '.join(one.marks)}"] if one.marks else []
    lines += [f"  binds {', '.join(one.paths)}"] if one.paths else []
    lines += [f"  key {one.key}"] if one.key else []
    lines += [f"  - {line}" for line in (one.before or "").split("\n")] if one.item is not None else []
    lines += [f"  {'+' if one.item else '|'} {line}" for line in one.text.split("\n")] if one.source else []
    lines += [f"  because {one.reason}".replace("\n", "\n  ")] if one.reason else []
    return [revealed(line) for line in lines]


def _show_decided(decided: Decided) -> int:
    for one, item in decided.items:
        name = "" if item is None else f"{item} "
        verb = "ended" if decided.accepted and not one.source else "accepted" if decided.accepted else "rejected"
        click.echo(revealed(f"{verb} {name}{one.kind} from {one.place}"))
    for place, reason in decided.failed:
        click.echo(revealed(f"could not be stored: {place}: {reason}"))
    warn_notes(decided.notes)
    return len(decided.items)


def ask(documents: Documents, review: Review) -> None:
    """Ask a person about one proposal after the other; each answer is stored at once."""
    _show_head(review)
    proposals = review.proposals
    keys = ", ".join(f"{key} {meaning}" for key, meaning in _KEYS.items())
    if proposals:
        click.echo(keys)
    left = len(proposals)
    for place, proposal in enumerate(proposals):
        one, is_edited = proposal, False
        while True:
            click.echo("\n".join(["", f"{place + 1} of {len(proposals)}", *_lines(one)]))
            key = click.prompt("accept?", type=click.Choice([*_KEYS]), default="n", show_choices=True)
            if key == "e":
                try:
                    text = edit_text(one.text, one.kind)
                except InvalidInput as error:
                    click.echo(f"{error.problem}. {error.remedy}", err=True)
                    continue
                one, is_edited = (one, is_edited) if text is None else (replace(one, text=text.strip()), True)
            if key == "k" and one.item is None and one.kind != "decision":
                one = replace(one, kind="note" if one.kind == "rule" else "rule")
            rest = [later for later in proposals[place + 1 :] if not later.needs_a_look] if key == "all" else []
            if rest:
                click.echo("\n".join(["", *(line for later in rest for line in _lines(later))]))
                if not click.confirm(f"Accept {counted(len(rest), 'other proposal')} too?", default=True):
                    continue
            if key not in {"e", "k"}:
                break
        if key == "q":
            break
        if key == "r":
            left -= _show_decided(documents.reject([one.ref]))
        if key in {"y", "all"}:
            texts = {one.ref: one.text} if is_edited else {}
            refs = [one.ref, *(later.ref for later in rest)]
            left -= _show_decided(documents.accept(refs, texts=texts, kinds={one.ref: one.kind}))
        if key == "all":
            break
    if left:
        click.echo(f"{left} left: `satchel import docs` proposes {'it' if left == 1 else 'them'} again", err=True)
