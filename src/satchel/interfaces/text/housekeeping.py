"""What a project holds and how it is configured, as compact text for agents and as plain JSON."""

from __future__ import annotations

from satchel.base.clock import iso, moment_text, year_of
from satchel.base.config_keys import Config, Value
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.parts import NONE, counted, json_line, quoted, value_text
from satchel.keep.housekeeping import Cleared, Forgotten, ItemUse, LayerSummary, MemoryUse, Statistics
from satchel.redaction import redact


def summary_text(summary: LayerSummary) -> str:
    """Render what each layer holds: a head line, then a line for each layer, and one for what has none."""
    since = f"file changes since {moment_text(summary.changes_since, year_of(summary.changes_since))} UTC"
    lines = [f"{counted(len(summary.rows), 'layer')}: what is active in each, and {since}"]
    for row in summary.rows:
        decisions, constraints = (
            counted(row.active_decisions, "decision"),
            counted(row.active_constraints, "constraint"),
        )
        layer = "no layer" if row.layer is None else value_text(row.layer)
        lines.append(f"{layer}: {decisions}, {constraints}, {counted(row.recent_file_changes, 'file change')}")
    return "\n".join(lines)


def summary_fields(summary: LayerSummary) -> dict[str, object]:
    """Return what each layer holds as JSON fields; layer null is for what has none."""
    return {"layers": fields_of(summary.rows), "changes_since": iso(summary.changes_since), "seq": summary.seq}


def statistics_text(statistics: Statistics) -> str:
    """Render what a project holds, a line for each field; counts of several names on one."""
    return "\n".join(f"{name}: {_shown(value)}" for name, value in fields_of(statistics).items())


def memory_text(use: MemoryUse) -> str:
    """Render what became of what was briefed: what was most useful, and what nobody has confirmed."""
    head = (
        f"{counted(use.items, 'item')} briefed, {counted(use.deliveries, 'time')} in all: {use.confirmed} confirmed, "
        f"{use.succeeded} followed by success, {use.corrected} corrected after"
    )
    lines = [head]
    lines += ["most useful:", *map(_use_line, use.useful)] if use.useful else []
    if use.unused:
        lines.append(f"not confirmed yet: {use.unused_total}, each briefed 3 times or more, first over a week ago")
        lines += map(_use_line, use.unused)
    return "\n".join(lines)


def _use_line(one: ItemUse) -> str:
    said = [f"briefed {counted(one.delivered, 'time')}"]
    said += [f"confirmed {counted(one.confirmed, 'time')}"] if one.confirmed else []
    said += [f"success after {one.succeeded}"] if one.succeeded else []
    said += ["corrected"] if one.corrected else []
    return f" {one.ref} {', '.join(said)}: {quoted(one.text)}"


def cleared_text(cleared: Cleared) -> str:
    """Say what was removed, or would be and how to have it removed."""
    removed = (
        (cleared.messages, "message"),
        (cleared.file_changes, "file change"),
        (cleared.conversations, "conversation"),
        (cleared.claims, "expired claim"),
        (cleared.error_patterns, "expired error pattern"),
    )
    counts = ", ".join(counted(number, noun) for number, noun in removed)
    return f"removed {counts}" if cleared.done else f"would remove {counts}; nothing was removed: give confirm=true"


def forgotten_fields(item: Forgotten) -> dict[str, object]:
    """Return what forgetting did as JSON fields; what was removed may be a secret, and is not told."""
    fields: dict[str, object] = fields_of(item)
    return fields | ({"text": ""} if item.done else {})


def config_text(config: Config) -> str:
    """Render the configuration in force: for each key value, source and meaning, then what is wrong in the sources."""
    lines = [
        f"{setting.key.name} = {json_line(told(setting.value))} ({setting.source}): {setting.key.help}"
        for setting in config.settings
    ]
    return "\n".join([*lines, *(f"warning: {redact(warning).text}" for warning in config.warnings)])


def config_fields(config: Config) -> dict[str, object]:
    """Return the configuration in force as JSON fields; a value that is null is not set."""
    return {
        "settings": {
            setting.key.name: {
                "value": told(setting.value),
                "source": setting.source,
                "read_from": setting.key.read_from,
                "help": setting.key.help,
            }
            for setting in config.settings
        },
        "warnings": [redact(warning).text for warning in config.warnings],
    }


def told(value: Value) -> Value:
    """Return a value of the configuration as it may be shown."""
    # no key is for a secret, but one may have been put into any text
    return redact(value).text if isinstance(value, str) else value


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if value == [] or value is None:
        return NONE
    return str(value)
