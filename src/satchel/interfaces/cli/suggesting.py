"""Groups of commands that name the nearest where a command is unknown."""

from __future__ import annotations

import click

from satchel.base.errors import nearest


class SuggestingGroup(click.Group):
    """A group whose commands are made when they are used; a wrong name is answered with the nearest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read ``help COMMAND`` as ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-"):
            close = nearest(name, names)
            hint = f" Did you mean {close!r}?" if close else ""
            raise click.UsageError(f"there is no command {name!r}.{hint} Valid: {', '.join(names)}", ctx)
        return super().resolve_command(ctx, args)
