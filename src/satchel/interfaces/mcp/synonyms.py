"""Synonyms from other tools for names used here, for suggestions in errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_NAMES = (
    {"content", "text", "message", "note", "body", "insight", "instructions", "question", "prompt"},
    {"query", "q", "search", "words", "terms", "keywords"},
    {"author", "agent", "by", "from", "sender"},
    {"agent", "agent_id", "agent_name", "name", "me"},
    {"to", "to_agent", "recipient", "recipients"},
    {"paths", "path", "file", "files", "file_path", "file_paths", "filename", "filenames"},
    {"ids", "id", "ref", "refs", "item", "items", "item_id", "item_ids", "message_ids"},
    {"limit", "n", "k", "top_k", "count", "max", "max_results", "page_size"},
    {"offset", "skip", "start"},
    {"types", "type", "kind", "kinds", "category", "entry_type"},
    {"tags", "tag", "labels"},
    {"reason", "why", "rationale", "comment"},
    {"description", "summary", "details"},
    {"solution", "fix", "resolution"},
    {"error_type", "exception", "error", "type"},
    {"stack", "stack_trace", "stacktrace", "traceback", "trace"},
    {"minutes", "ttl", "duration", "timeout"},
    {"wait_seconds", "wait", "timeout"},
    {"role", "persona"},
    {"task_id", "task"},
    {"loop_id", "loop"},
    {"run_id", "run"},
    {"budget", "max_tokens", "tokens", "token_budget"},
    {"key", "name", "title", "id", "decision"},
    {"assistant", "model"},
    {"context", "files"},
    {"reply_to", "in_reply_to", "parent"},
    {"priority", "severity", "importance"},
)
"""Names that mean one thing to the tools of this field; an unknown one is answered with the one that is taken here."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("note", "learning", "insight", "fact", "finding", "memory"), ("discovery", "entry")),
    **dict.fromkeys(("progress", "status", "checkpoint"), ("scratchpad",)),
    **dict.fromkeys(("urgent", "blocker", "highest"), ("critical",)),
    **dict.fromkeys(("normal", "default"), ("medium",)),
    **dict.fromkeys(("notes", "context"), ("entry",)),
    **dict.fromkeys(("rule", "rules"), ("constraint",)),
    **dict.fromkeys(("file", "files", "change", "changes"), ("file_change",)),
    **dict.fromkeys(("error", "errors"), ("error_pattern",)),
    **dict.fromkeys(("question", "task"), ("request",)),
    **dict.fromkeys(("edited", "updated", "changed"), ("modified",)),
}
"""What agents say for a choice that is called otherwise here."""


def meant_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the parameter for a synonym; None if none or several match."""
    folded = name.lower().replace("-", "_")
    matches = {one for names in _NAMES if folded in names for one in names if one in parameters}
    return matches.pop() if len(matches) == 1 else None


def meant_choice(value: str, choices: Collection[str]) -> str | None:
    """Return the choice for a synonym, or None."""
    return next((one for one in _CHOICES.get(value.strip().lower(), ()) if one in choices), None)
