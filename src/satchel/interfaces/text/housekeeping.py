"""Housekeeping as text: statistics, and the confirmations of clearing, compacting and forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.base.clock import iso
from satchel.base.config_keys import Config, Value
from satchel.base.errors import SatchelError
from satchel.find.kind import KIND_NAMED
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import When, in_sentence
from satchel.interfaces.text.parts import NONE, content_lines, counted, json_line, plural, quoted, value_text
from satchel.keep.housekeeping.clearing import Cleared, Forgotten
from satchel.keep.housekeeping.statistics import LayerSummary, Statistics
from satchel.keep.housekeeping.usage import Activity, AgentDay, ItemUse, MemoryUse, NamesInUse, NameUse
from satchel.redaction import redact
from satchel.remote.where import public_id, server_for

if TYPE_CHECKING:
    from satchel.client import Satchel
    from satchel.store.upkeep import Shrunk

_MAX_SHOWN = 400


def summary_text(summary: LayerSummary, when: When | None = None) -> str:
    """Render the counts of each layer, and of items without one."""
    since = f"file changes since {(when or in_sentence(summary.changes_since))(summary.changes_since)}"
    lines = [f"{counted(len(summary.rows), 'layer')}: what is active in each, and {since}"]
    for row in summary.rows:
        decisions, constraints = (
            counted(row.active_decisions, "decision"),
            counted(row.active_constraints, "rule"),
        )
        layer = "no layer" if row.layer is None else value_text(row.layer)
        lines.append(f"{layer}: {decisions}, {constraints}, {counted(row.recent_file_changes, 'file change')}")
    return "\n".join(lines)


def summary_fields(summary: LayerSummary) -> dict[str, object]:
    """Return the counts of each layer; items without a layer count as null."""
    return {"layers": fields_of(summary.rows), "changes_since": iso(summary.changes_since), "seq": summary.seq}


def statistics_text(statistics: Statistics) -> str:
    return "\n".join(f"{name}: {_value_text(value)}" for name, value in fields_of(statistics).items())


def memory_text(use: MemoryUse) -> str:
    """Render the use of briefed items: the most useful ones, and those that nobody confirmed."""
    head = (
        f"{counted(use.items, 'item')} briefed, {counted(use.deliveries, 'time')} in all: {use.confirmed} confirmed, "
        f"{use.succeeded} followed by success, {use.corrected} corrected after"
    )
    lines = [head]
    if use.deliveries:
        lines.append(
            f"briefings: {counted(use.tokens, 'token')}; the whole texts of the same items: "
            f"{counted(use.whole_tokens, 'token')}"
        )
    lines += ["most useful:", *map(_use_line, use.useful)] if use.useful else []
    if use.unused:
        lines.append(f"not confirmed yet: {use.unused_total}, each briefed 3 times or more, first over a week ago")
        lines += map(_use_line, use.unused)
    return "\n".join(lines)


def _use_line(one: ItemUse) -> str:
    counts = [f"briefed {counted(one.delivered, 'time')}"]
    counts += [f"confirmed {counted(one.confirmed, 'time')}"] if one.confirmed else []
    counts += [f"success after {one.succeeded}"] if one.succeeded else []
    counts += ["corrected"] if one.corrected else []
    return f" {one.ref} {', '.join(counts)}: {quoted(one.text)}"


def usage_text(usage: NamesInUse | Activity) -> str:
    """Render the names in use, a line for each kind, or what each agent did, a heading for each day."""
    if isinstance(usage, Activity):
        lines = [] if usage.days else ["nobody has written anything in the last 7 days"]
        for began_at, day in groupby(usage.days, lambda one: one.began_at):
            lines += [f"{iso(began_at)[:10]}:", *map(_agent_line, day)]
        return "\n".join(lines)
    lines = [] if usage.names else ["no decision or rule has a tag, scope, layer or category"]
    for kind, names in groupby(usage.names, lambda one: one.kind):
        lines.append(f"{plural(kind, 2)}: {', '.join(map(_name_use, names))}")
    left_out = usage.total - len(usage.names)
    return "\n".join([*lines, *([f"{counted(left_out, 'name')} more"] if left_out else [])])


def _agent_line(one: AgentDay) -> str:
    counts = (
        (one.writes, "write"),
        (one.changes, "file change"),
        (one.messages, "message"),
        (one.claims, "claim"),
        (one.solutions, "solution"),
    )
    done = ", ".join(counted(number, noun) for number, noun in counts if number)
    return f" {'no name' if one.agent is None else value_text(one.agent)}: {done}"


def _name_use(one: NameUse) -> str:
    counts = (one.decisions, "decision"), (one.rules, "rule")
    return f"{value_text(one.name)} ({', '.join(counted(number, noun) for number, noun in counts if number)})"


def cleared_text(cleared: Cleared) -> str:
    counts = _cleared_counts(cleared)
    if not counts:
        return "nothing is old enough to be removed"
    return f"removed {counts}" if cleared.done else f"would remove {counts}; nothing was removed: give confirm=true"


def people_cleared_text(cleared: Cleared) -> str:
    return cleared_text(cleared).removesuffix(": give confirm=true")


def clear_question(would: Cleared) -> str | None:
    counts = _cleared_counts(would)
    return f"Remove {counts}?" if counts else None


def _cleared_counts(cleared: Cleared) -> str:
    removed = (
        (cleared.messages, "message"),
        (cleared.file_changes, "file change"),
        (cleared.conversations, "conversation"),
        (cleared.claims, "expired claim"),
        (cleared.error_patterns, "expired error pattern"),
    )
    return ", ".join(counted(number, noun) for number, noun in removed if number)


def forgotten_fields(item: Forgotten) -> dict[str, object]:
    """Return a forgotten item without its text, which may be a secret."""
    fields: dict[str, object] = fields_of(item)
    return fields | ({"text": ""} if item.done else {})


def _value_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if value == [] or value is None:
        return NONE
    return str(value)


def people_statistics_text(statistics: Statistics) -> str:
    import click

    from satchel.interfaces.cli.common import size_text

    if statistics.project is None:
        place = "" if statistics.location is None else f"; the store will be {statistics.location}"
        return f"nothing was written yet{place}"
    widest = max((count for _, count in statistics.entries), default=1)
    bars = [
        f"  {name:<18}{count:>9,}  {click.style('━' * max(1, round(24 * count / widest)), fg='cyan')}"
        for name, count in statistics.entries
    ]
    of_states = (
        ("decision", statistics.decisions),
        ("rule", statistics.constraints),
        ("package", statistics.packages),
    )
    listed = {"note", *(noun for noun, _ in of_states)}
    nouns = [(KIND_NAMED[name].noun, count) for name, count in statistics.kinds]
    others = [counted(count, noun) for noun, count in nouns if noun not in listed]
    texts = f"{size_text(statistics.turn_bytes)}, contents {size_text(statistics.content_bytes)}"
    each = f", {statistics.bytes_per_item:,} bytes per item" if statistics.bytes_per_item else ""
    neighbours = f"{statistics.other_projects} other projects share this store"
    size = "" if statistics.size_bytes is None else size_text(statistics.size_bytes)
    return "\n".join(
        [
            f"project {statistics.project}",
            f"{counted(statistics.runs, 'run')} ({statistics.active_runs} active), "
            f"{counted(statistics.agents, 'agent')}, {counted(statistics.persons, 'person')}",
            *bars,
            f"{counted(statistics.total_entries, 'note')}, {statistics.superseded:,} of them superseded",
            *(f"{counted(sum(count for _, count in counts), noun)} ({_listed(counts)})" for noun, counts in of_states),
            ", ".join(others),
            f"{counted(statistics.claims, 'claim')}, {counted(statistics.solutions, 'solution')}, "
            f"{counted(statistics.deliveries, 'delivery')}",
            f"{counted(statistics.conversations, 'conversation')} of {counted(statistics.turns, 'turn')} ({texts}), "
            f"{statistics.sent_tokens:,} tokens sent, {statistics.saved_tokens:,} saved, "
            f"{counted(statistics.vector_stores, 'vector store')} recorded",
            *(
                [f"{counted(statistics.tags, 'own tag')}, {counted(statistics.scopes, 'scope')}"]
                if statistics.tags or statistics.scopes
                else []
            ),
            *([] if statistics.location is None else [f"{statistics.location}: {size}{each}"]),
            *([neighbours] if statistics.other_projects else []),
        ]
    )


def compact(satchel: Satchel, *, quiet: bool) -> Shrunk:
    from satchel.interfaces.cli.common import progress

    with progress("compacting", quiet=quiet):
        return satchel.housekeeping.compact()


def compacted_text(done: Shrunk) -> str:
    import click

    from satchel.interfaces.cli.common import size_text

    if not done.wal_emptied:
        click.echo("another process is still reading deleted data; compact again when it has finished", err=True)
    if done.out_of_reach is not None:
        click.echo(done.out_of_reach, err=True)
    return f"{size_text(done.before)} before, {size_text(done.after)} after"


def forget_question(would: Forgotten) -> str:
    return f"{_item(would)}\nRemove it permanently?"


def forgotten_text(item: Forgotten) -> str:
    """Confirm that an item was forgotten, and list where it still is; its text may be a secret and is left out."""
    import click

    backups = [str(file) for file in item.still_in]
    if item.done:
        lines = [f"{item.ref} {item.kind} removed"]
        lines += [f"It is still in {counted(len(backups), 'backup')}; delete them too:", *backups] if backups else []
    else:
        lines = [_item(item), "Nothing was removed; this would be removed permanently."]
        lines += [f"It would remain in {counted(len(backups), 'backup')}:", *backups] if backups else []
    lines += [f"could not look into {file}" for file in item.unreadable]
    if item.done and not item.wal_emptied:
        click.echo(
            "its bytes may still lie in the store: run `satchel clear --compact` when no other process reads it",
            err=True,
        )
    if item.out_of_reach is not None:
        click.echo(item.out_of_reach, err=True)
    return "\n".join(lines)


def _item(item: Forgotten) -> str:
    return "\n".join([f"{item.ref} {item.kind}:", *content_lines(item.text[:_MAX_SHOWN])])


def _listed(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts)


def config_text(config: Config) -> str:
    """Render the effective configuration: value, source and meaning of each key, then the warnings."""
    lines = [
        f"{setting.key.name} = {json_line(safe_value(setting.value))} ({setting.source}): {setting.key.help}"
        for setting in config.settings
    ]
    return "\n".join([*lines, *(f"warning: {redact(warning).text}" for warning in config.warnings)])


def config_fields(config: Config) -> dict[str, object]:
    """Return the effective configuration; null means that a key is not set."""
    return {
        "settings": {
            setting.key.name: {
                "value": safe_value(setting.value),
                "source": setting.source,
                "read_from": setting.key.read_from,
                "help": setting.key.help,
            }
            for setting in config.settings
        },
        "warnings": [redact(warning).text for warning in config.warnings],
    }


def safe_value(value: Value) -> Value:
    """Return a value of the configuration without secrets."""
    # no key is for a secret, but any text may hold one
    return redact(value).text if isinstance(value, str) else value


def server_fields(environ: Mapping[str, str], folder: Path) -> dict[str, str] | None:
    """Return the server of a folder as JSON fields; None for a local store."""
    try:
        server = server_for(environ, folder)
    except SatchelError as error:
        return {"fault": str(error)}
    if server is None:
        return None
    return {"url": server.url, "token": public_id(server.token), "source": server.source}


def server_line(fields: Mapping[str, str]) -> str:
    if "fault" in fields:
        return fields["fault"]
    return f"{fields['url']} with token {fields['token']} ({fields['source']})"
