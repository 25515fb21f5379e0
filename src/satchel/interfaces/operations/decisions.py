"""Decisions: set, find, get with history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.operations import parameters, services, text
from satchel.interfaces.operations.declaration import Object, Operation, Parameter, Table, items_of

if TYPE_CHECKING:
    from satchel.keep.decisions.records import Decision

_STATUSES = ("active", "deprecated", "draft")
# What people are not shown of a decision that has nothing else to say there.
USUAL = {"status": "active", "version": "1.0.0", "rev": "1"}

_CLEARABLE = ("tags", "scopes", "paths", "layer", "rationale", "version", "metadata", "until")
_REPLACES = "Replaces what there is."

_DECISION = (
    Parameter("key", required=True, option="KEY"),
    Parameter("value", str | float, about="The decision in full", option="VALUE"),
    Parameter("tags", list[str] | None, unlisted=True, help=_REPLACES),
    Parameter("scopes", list[str] | None, unlisted=True, help=_REPLACES),
    parameters.NEW_PATHS.but(type=list[str] | None, about="Globs of the files it binds"),
    parameters.NEW_LAYER.but(type=str | None, unlisted=True),
    parameters.NEW_METADATA.but(type=dict | None),
    parameters.UNTIL.but(type=str | None, unlisted=True),
    Parameter(
        "version",
        str | None,
        unlisted=True,
        help="A label of your own for this value; a new value without one has 1.0.0.",
        metavar="LABEL",
    ),
    Parameter("status", about="A new one is active; deprecated ends it", choices=_STATUSES),
    Parameter("rationale", str | None, about="Why", help="The reason.", option="--why", metavar="TEXT"),
    Parameter("expected_revision", int, about="Refuse if it has another revision; 0: only if new", option="--expect"),
)


def _set(
    satchel: Satchel, *, decisions: list[dict[str, Any]] | None = None, agent: str | None = None, **decision: object
) -> tuple[Decision, ...]:
    # omitted fields are not passed, so they stay unchanged
    from satchel.keep.decisions.records import NewDecision

    items = items_of("set_decision", _DECISION, decision, "decisions", decisions)
    new = [NewDecision(**{name: _as_set(name, value) for name, value in one.items()}) for one in items]
    return satchel.decisions.set_many(new, agent=agent)


def _as_set(name: str, value: Any) -> Any:
    return None if value == "" and name in _CLEARABLE else value


def _prepare(values: dict[str, Any]) -> dict[str, Any]:
    cleared = values.pop("cleared", ())
    is_text = values.pop("is_text")
    if is_text and "value" not in values:
        raise InvalidInput("--text is about VALUE", "Give that too")
    if "value" in values and not is_text:
        from satchel.interfaces.text.decisions import typed_value

        values["value"] = typed_value(values["value"])  # people can type only text
    both = next((name for name in cleared if name in values), None)
    if both is not None:
        raise InvalidInput(f"{both} cannot be given and cleared at once", "Leave one of them out")
    return values | dict.fromkeys(cleared)


GET = Operation(
    parameters=(Parameter("key", required=True), *parameters.HISTORY_PAGE),
    run=services.decisions.get,
    shown=text.decisions.show_history,
)

OPERATIONS = (
    Operation(
        tool="set_decision",
        toolset="decisions",
        about="Set what the project decided: key=session_ttl value=300. To agree first, add status=draft; another "
        "agent accepts it by the same key with status=active and no value, or revises it with status=draft for you to "
        "accept. A key in force keeps its value meanwhile. Omitted fields stay, given ones replace, empty ones clear; "
        "a new value drops the old rationale.",
        found_by="decide choose convention agree standard architecture record a decision",
        idempotent=True,
        command=("decide",),
        help="Set a decision. What is not given stays as it is, but a new VALUE drops the old reason; what it "
        "replaces goes into its history.\n\nVALUE is "
        "text or a number (007, 1.0, 7e10 and 1_000 are text); a decision that is there already may be changed without "
        "it. Before a VALUE that begins with a dash put --, behind all options.",
        examples=(
            'decide session_ttl 300 --tag security --why "matches the gateway"',
            "decide session_ttl --status deprecated",
            "decide --agent planner utc_offset -- -1",
        ),
        parameters=(
            *_DECISION,
            Parameter("decisions", list[Object], about="Several at once, each with key", option=None, unlisted=True),
            Parameter(
                "is_text", bool, help="Take VALUE as text even if it is a number.", option="--text", for_people=True
            ),
            Parameter(
                "cleared", list[str], help="Empty this field.", choices=_CLEARABLE, option="--clear", for_people=True
            ),
            parameters.AGENT_UNLISTED,
        ),
        run=_set,
        prepare=_prepare,
        writes=True,
        items="decisions",
        text=text.decisions.set_text,
        timed=True,
        says=text.decisions.says,
    ),
    Operation(
        tool="find_decisions",
        toolset="lists",
        about="What the project decided, newest first or by search.",
        found_by="decisions conventions choices what was decided",
        command=("decisions",),
        help="List what was decided, the newest first, or what matches WORDS best; or one decision with its history.",
        examples=(
            "decisions --tag security --status active",
            "decisions how long do sessions live",
            "decisions --key session_ttl",
        ),
        parameters=(
            parameters.QUERY,
            Parameter("key", help="Show this decision with its history instead.", metavar="KEY", for_people=True),
            Parameter("status", help="Default: all of them.", choices=_STATUSES),
            parameters.LAYER,
            parameters.TAGS,
            parameters.MATCH,
            Parameter("scopes", list[str], help="Only with one of these scopes."),
            parameters.METADATA,
            Parameter("minimum", float, help="Only numbers from N.", option="--min", unlisted=True),
            Parameter("maximum", float, help="Only numbers up to N.", option="--max", unlisted=True),
            parameters.AUTHOR,
            *parameters.CHANGES,
        ),
        run=services.decisions.find,
        instead={"key": GET},
        items="decisions",
        text=text.decisions.decisions_text,
        shown=Table(
            "id=ref, key, value, status, layer, tags, scopes, paths, metadata, version, rev=revision, by=agent, "
            "set=updated_at, made, why=rationale",
            {
                "value": text.decisions.value_cell,
                "metadata": text.rules.metadata_cell,
                "by": text.decisions.author_cell,
                "made": text.decisions.made_cell,
            },
            usual=USUAL,
        ),
    ),
)
