"""``satchel completion``."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options and their values.

    \b
    Examples:
      echo 'eval "$(satchel completion bash)"' >> ~/.bashrc
      echo 'eval "$(satchel completion zsh)"' >> ~/.zshrc
      satchel completion fish > ~/.config/fish/completions/satchel.fish
    """
    from click.shell_completion import get_completion_class

    program = ctx.find_root()
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(program.command, {}, "satchel", "_SATCHEL_COMPLETE").source())
