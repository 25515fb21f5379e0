"""Words that people try as commands, with the commands that do what they mean."""

from __future__ import annotations

_WORDS = {
    ("write",): "add note notes remember memo save store todo put new create bug",
    ("read", "rule list", "decisions"): "list ls",
    ("search",): "find grep query recall lookup",
    ("show",): "get view cat print",
    ("forget", "retract"): "remove rm delete del drop erase",
    ("retract",): "wrong obsolete invalidate",
    ("undo",): "revert rollback unretract",
    ("decide",): "set decision update edit change",
    ("rule add",): "constraint constraints must",
    ("rule list",): "rules",
    ("error list",): "errors fixes",
    ("error report",): "learn report fix",
    ("strategy list",): "strategies lessons",
    ("proposals",): "proposal accept reject review shared",
    ("message send",): "send msg tell notify reply",
    ("message list",): "messages inbox mail",
    ("consult",): "ask chat",
    ("file claim",): "claim lock reserve",
    ("file release",): "release unlock",
    ("file claims",): "claims locks",
    ("file list",): "changes files edits",
    ("who",): "team agents sessions ps",
    ("brief",): "briefing context prompt",
    ("clear",): "prune clean cleanup gc vacuum compact purge",
    ("pin --remove",): "unpin",
    ("pin --list",): "pins pinned",
    ("share --remove",): "unshare",
    ("doctor --rebuild",): "rebuild reindex",
    ("doctor",): "check health test verify diagnose",
    ("setup",): "install connect configure hooks clients",
    ("setup --remove",): "uninstall disconnect",
    ("serve", "open"): "server web ui dashboard gui room",
    ("open",): "login browse",
    ("tour",): "demo example",
    ("run list",): "runs",
    ("--version",): "version",
}

GUESSES: dict[str, tuple[str, ...]] = {word: commands for commands, words in _WORDS.items() for word in words.split()}
"""The commands that each word stands for; none of the words is a command itself."""
