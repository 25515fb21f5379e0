"""``satchel import docs``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from satchel.base.errors import ERROR_KINDS, InvalidInput
from satchel.base.invisible import revealed
from satchel.base.records import replace
from satchel.interfaces.cli.common import is_terminal, json_option, show_json, store_options, warn_notes
from satchel.interfaces.cli.editor import edit_text
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.text.parts import counted

if TYPE_CHECKING:
    from satchel.keep.documents.proposals import Proposal
    from satchel.keep.documents.service import Decided, Documents, Review

_KEYS = {
    "a": "accept",
    "e": "edit, then accept",
    "k": "change between rule and note",
    "r": "reject",
    "s": "skip",
    "all": "accept this and the rest, except what needs a closer look",
    "q": "stop here",
}


@click.command()
@click.argument("refs", nargs=-1, metavar="[REF...]")
@click.option("--accept", is_flag=True, help="Accept REF, or all that need no closer look.")
@click.option("--reject", is_flag=True, help="Reject REF until its text changes.")
@click.option("--list", "only_list", is_flag=True, help="Only list the proposals.")
@store_options
@json_option
def command(
    refs: tuple[str, ...],
    accept: bool,
    reject: bool,
    only_list: bool,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Propose rules, decisions and notes from the documents that the repository has already.

    Read are AGENTS.md, CLAUDE.md with its imports, GEMINI.md, QWEN.md, .cursor/rules/*.mdc,
    .github/copilot-instructions.md, .github/instructions/*.md, CONTRIBUTING.md, NOTES.md and accepted decision records
    (MADR, Nygard), as the default branch has them.

    At a terminal each proposal is shown in full, to accept, edit, reject or skip. REF is a place such as AGENTS.md:12,
    a document, or an item whose text was removed. Without REF, --accept leaves out what hides characters, comments or
    secrets. Run it again when the documents change: changed and removed texts are proposed too.

    \b
    Examples:
      satchel import docs
      satchel import docs --accept
      satchel import docs --reject CONTRIBUTING.md AGENTS.md:12
    """
    if accept + reject + only_list > 1 or (refs and not (accept or reject)):
        raise InvalidInput("REF goes with either --accept or --reject", "Choose one")
    asks = not (accept or reject or only_list or as_json) and is_terminal()
    with opened(db, project, read_only=not (accept or reject or asks)) as satchel:
        documents = satchel.documents
        if accept or reject:
            decided = documents.accept(refs) if accept else documents.reject(refs)
            show_json(decided) if as_json else _show_decided(decided)
            return ERROR_KINDS["incomplete"].exit_status if decided.failed else 0
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
                click.echo("\n`satchel import docs --accept` accepts them, `--reject REF` rejects one")
    return 0


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
    """Return a proposal in full, with the code of each hidden character."""
    item = "" if one.item is None else f" of {one.item}"
    also = f" (also {', '.join(one.also)})" if one.also else ""
    lines = [f"{one.place}{also}: {one.why} {one.kind}{item}"]
    lines += [f"  look at: {', '.join(one.marks)}"] if one.marks else []
    lines += [f"  binds {', '.join(one.paths)}"] if one.paths else []
    lines += [f"  key {one.key}"] if one.key else []
    lines += [f"  - {line}" for line in (one.before or "").split("\n")] if one.item is not None else []
    lines += [f"  {'+' if one.item else '|'} {line}" for line in one.text.split("\n")] if one.source else []
    lines += [f"  because {one.reason}".replace("\n", "\n  ")] if one.reason else []
    return [revealed(line) for line in lines]


def _show_decided(decided: Decided) -> None:
    for one, item in decided.items:
        name = "" if item is None else f"{item} "
        verb = "ended" if decided.accepted and not one.source else "accepted" if decided.accepted else "rejected"
        click.echo(revealed(f"{verb} {name}{one.kind} from {one.place}"))
    for place, reason in decided.failed:
        click.echo(revealed(f"could not be stored: {place}: {reason}"))
    for one in decided.left_out:
        click.echo(revealed(f"left out: {one.ref} has {', '.join(one.marks)}"))
    if decided.left_out:
        click.echo("`satchel import docs` shows what was left out; accept it by its place if it is right")
    warn_notes(decided.notes)
    click.echo(f"{len(decided.items)} {'accepted' if decided.accepted else 'rejected'}", err=True)


def ask(documents: Documents, review: Review) -> None:
    """Ask a person about one proposal after the other; each answer is stored at once."""
    _show_head(review)
    proposals = review.proposals
    keys = ", ".join(f"{key} {meaning}" for key, meaning in _KEYS.items())
    if proposals:
        click.echo(keys)
    for place, proposal in enumerate(proposals):
        one, is_edited = proposal, False
        while True:
            click.echo("\n".join(["", f"{place + 1} of {len(proposals)}", *_lines(one)]))
            key = click.prompt("accept?", type=click.Choice([*_KEYS]), default="s", show_choices=True)
            if key == "e":
                try:
                    text = edit_text(one.text, one.kind)
                except InvalidInput as error:
                    click.echo(f"{error.problem}. {error.remedy}", err=True)
                    continue
                one, is_edited = (one, is_edited) if text is None else (replace(one, text=text.strip()), True)
            if key == "k" and one.item is None and one.kind != "decision":
                one = replace(one, kind="note" if one.kind == "rule" else "rule")
            if key not in {"e", "k"}:
                break
        if key == "q":
            return
        if key == "r":
            _show_decided(documents.reject([one.ref]))
        if key in {"a", "all"}:
            texts = {one.ref: one.text} if is_edited else {}
            rest = [later.ref for later in proposals[place + 1 :] if not later.needs_a_look] if key == "all" else []
            _show_decided(documents.accept([one.ref, *rest], texts=texts, kinds={one.ref: one.kind}))
        if key == "all":
            return
