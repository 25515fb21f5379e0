"""Asking a person for a text, or for a yes, with the live screen left."""

from __future__ import annotations

from contextlib import suppress

import click

from satchel.base.invisible import revealed

_BELOW = "# What stands below this line is not sent."


def ask_text(head: str, about: str) -> str | None:
    """Return the lines that are typed; None where they are not to be sent.

    Args:
        head: what is asked for.
        about: a stored text that it is about; empty for none.
    """
    with suppress(ImportError):
        import readline  # noqa: F401 -- input() edits lines with it
    _show(about)
    click.echo(f"{revealed(head)} An empty line sends it; Ctrl-C or Ctrl-D does not.")
    lines = []
    try:
        while line := input("> "):
            lines.append(line)
    except (KeyboardInterrupt, EOFError):
        click.echo()
        return None
    return "\n".join(lines).strip() or None


def edit_text(head: str, about: str) -> str | None:
    """Return the text that is written in the user's editor; None where it is not to be sent.

    Args:
        head, about: as for :func:`ask_text`.

    Raises:
        click.ClickException: there is no editor.
    """
    below = "\n".join(f"# {line}" for line in revealed(f"{head}\n{about}").split("\n"))
    written = click.edit(f"\n\n{_BELOW}\n{below}\n", extension=".txt")
    return None if written is None else written.partition(_BELOW)[0].strip() or None


def agrees(about: str, question: str) -> bool:
    """Whether a person says yes to a question.

    Args:
        about: a stored text to show before.
        question: what is asked.
    """
    _show(about)
    try:
        return input(f"{revealed(question)} [y/N] ").strip().lower() in {"y", "yes"}
    except (KeyboardInterrupt, EOFError):
        click.echo()
        return False


def _show(about: str) -> None:
    if about:
        click.echo("\n".join(f"  {line}" for line in revealed(about).split("\n")))
