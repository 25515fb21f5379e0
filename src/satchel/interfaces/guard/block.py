"""The lines that the guard puts into a pre-commit hook, and the hook without them: all that is needed to undo it.

The lines stand at the head of the hook and run it once more, as a process of its own, before the guard: what stands
below them keeps its arguments, standard input and exit status, whatever it does at its end. So nothing has to be kept
elsewhere, and a manager of hooks that writes its own hook again only takes the guard out.
"""

from __future__ import annotations

import re
import shlex

from satchel.interfaces.guard.command import STOPPED

BEFORE = "pre-commit.before-satchel"
"""What a hook is called that was moved aside, since no lines of a shell can stand in it."""

MADE = "#!/bin/sh\n# This hook was made by `satchel guard install`.\n"
"""A hook of our own, but for the lines."""

MOVED = f'{MADE}before="${{0%/*}}/{BEFORE}"\n[ ! -x "$before" ] || exec "$before" "$@"\n'
"""A hook of our own that runs the one that was moved aside, but for the lines."""

_BLOCK = re.compile(r"^# >>> satchel guard >>>.*?^# <<< satchel guard <<<(?P<end>\n|\Z)", re.MULTILINE | re.DOTALL)
_LINES = """\
# >>> satchel guard >>> written by `satchel guard install`; `satchel guard remove` takes it out
if [ -z "${{SATCHEL_GUARDED-}}" ]; then
    SATCHEL_GUARDED=1 "$0" "$@" || exit # what stands below goes first
    {find} || exit 0
    "$satchel" guard run || [ $? -ne {stopped} ] || exit 1
    exit 0
fi
unset SATCHEL_GUARDED
# <<< satchel guard <<<
"""
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


def lines(launcher: str | None) -> str:
    """Return the lines.

    Args:
        launcher: the absolute path of the installed command; None is the one that PATH finds, if any does.
    """
    on_path = "satchel=$(command -v satchel)"
    find = on_path if launcher is None else f'satchel={shlex.quote(launcher)}; [ -x "$satchel" ] || {on_path}'
    return _LINES.format(find=find, stopped=STOPPED)


def put(hook: str, wanted: str) -> str:
    """Return a hook with the lines, once, in the place of any that it has."""
    hook = take(hook)
    if not hook.startswith("#!"):
        return wanted + hook
    head, end, rest = hook.partition("\n")
    return f"{head}\n{wanted}{rest}" if end else f"{head}\n{wanted}".removesuffix("\n")


def take(hook: str) -> str:
    """Return a hook without the lines, to the byte as it was before :func:`put`."""
    while (found := _BLOCK.search(hook)) is not None:
        # only a hook whose first line had no end is followed by nothing
        start = found.start() - (not found["end"] and found.start() > 0)
        hook = hook[:start] + hook[found.end() :]
    return hook


def found_in(hook: str) -> str | None:
    """Return the lines that stand in a hook; None where there are none."""
    found = _BLOCK.search(hook)
    return None if found is None else found[0].removesuffix("\n") + "\n"


def can_hold_lines(hook: str) -> bool:
    """Whether a hook is a script of a shell that understands the lines; git runs one without a first line by sh."""
    if "\0" in hook:
        return False
    if not hook.startswith("#!"):
        return True
    words = [word.rpartition("/")[2] for word in hook.partition("\n")[0][2:].split()]
    if words[:1] == ["env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return bool(words) and words[0] in _SHELLS
