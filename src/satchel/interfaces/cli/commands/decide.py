"""``satchel decide``."""

from __future__ import annotations

import click

from satchel.interfaces.cli.common import agent_option, json_option, opened, show_json, store_options, tell, warn_notes
from satchel.keep.decisions import KEEP, STATUSES
from satchel.keep.decisions.records import Keep

_CLEARABLE = ("tags", "scopes", "layer", "rationale", "version")


@click.command()
@click.argument("key")
@click.argument("value", required=False)
@click.option("--text", "is_text", is_flag=True, help="Take VALUE as text even if it is a number.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="May be repeated; replaces what there is.")
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="May be repeated; replaces what there is.")
@click.option("--layer", metavar="NAME", help="Such as business or data.")
@click.option("--version", metavar="LABEL", help="A label of your own; a new decision has 1.0.0.")
@click.option("--status", type=click.Choice(STATUSES), help="A new decision is active.")
@click.option("--why", "rationale", metavar="TEXT", help="The reason.")
@click.option("--clear", "cleared", multiple=True, type=click.Choice(_CLEARABLE), help="Empty this field.")
@click.option("--expect", "expected_revision", type=int, metavar="N", help="Only if N is its revision; 0: only if new.")
@agent_option
@store_options
@json_option
def command(
    key: str,
    value: str | None,
    is_text: bool,
    tags: tuple[str, ...],
    scopes: tuple[str, ...],
    layer: str | None,
    version: str | None,
    status: str | None,
    rationale: str | None,
    cleared: tuple[str, ...],
    expected_revision: int | None,
    agent: str | None,
    db: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Set a decision. What is not given stays as it is; what it replaces goes into its history.

    VALUE is text or a number (007 and 1_000 are text); a decision that is there already may be changed without it.
    Before a VALUE that begins with a dash put --, behind all options.

    \b
    Examples:
      satchel decide session_ttl 300 --tag security --why "matches the gateway"
      satchel decide session_ttl --status deprecated
      satchel decide --agent planner utc_offset -- -1
    """
    from satchel.interfaces.cli.confirmations import decided
    from satchel.interfaces.cli.values import typed_value
    from satchel.interfaces.to_json import fields_of

    if is_text and value is None:
        raise click.UsageError("--text is about VALUE; give that too")
    given = {"tags": tags, "scopes": scopes, "layer": layer, "rationale": rationale, "version": version}
    both = next((name for name in cleared if given[name]), None)
    if both is not None:
        raise click.UsageError(f"{both} cannot be given and cleared at once")
    with opened(db, project, agent=agent) as satchel:
        decision = satchel.decisions.set(
            key,
            KEEP if value is None else value if is_text else typed_value(value),
            tags=tags or (None if "tags" in cleared else KEEP),
            scopes=scopes or (None if "scopes" in cleared else KEEP),
            layer=_given(layer, "layer" in cleared),
            version=_given(version, "version" in cleared),
            status=status or KEEP,
            rationale=_given(rationale, "rationale" in cleared),
            expected_revision=expected_revision,
        )
        if as_json:
            show_json(fields_of(decision))
        else:
            click.echo(decided(decision))
            warn_notes(decision.notes)
        tell(satchel)


def _given(value: str | None, is_cleared: bool) -> str | Keep | None:
    return KEEP if value is None and not is_cleared else value
