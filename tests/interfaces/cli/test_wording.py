"""Messages of the services as commands show them: commands and options, never tools and their parameters."""

from __future__ import annotations

import pytest

from cli_asking import Cli
from satchel.interfaces.cli.wording import for_people
from satchel.interfaces.operations.all import OPERATIONS
from tables import in_one_test

TOOLS = {one.name: one for one in OPERATIONS}

CASES = [
    ("set_decision", "Set it with expected_revision=2 if it holds.", "Set it with --expect 2 if it holds."),
    ("write_context", "Leave supersedes out", "Leave --supersedes out"),
    ("save_package", "Give path or content, one of them", "Give --path or --content, one of them"),
    ("read_context", "task_id is empty", "--task is empty"),
    ("read_context", "Leave out order and query", "Leave out --order and WORDS"),
    ("claim_files", "wait for it with wait_seconds (1 to 45)", "wait for it with --wait (1 to 45)"),
    ("retract", "report_outcome id=y1 helped=false", "`satchel error outcome y1 --failed`"),
    ("retract", 'set_decision key="max age" status=draft', '`satchel decide "max age" --status draft`'),
    ("retract", "get_items ids=decision:ttl shows both", "`satchel show decision:ttl` shows both"),
    ("retract", "Ask with send_message to=human.", "Ask with `satchel message send --to human`."),
    ("retract", "Ask with satchel's send_message to=human", "Ask with `satchel message send --to human`"),
    (
        "write_context",
        "src/run_id.py holds 'task_id=1' and \"loop_id\"",
        "src/run_id.py holds 'task_id=1' and \"loop_id\"",
    ),
    ("write_context", "an_unknown_word stays, as a=b does", "an_unknown_word stays, as a=b does"),
]


def test_tools_and_parameters_become_commands_and_options() -> None:
    wrong = [
        (text, said, expected) for tool, text, expected in CASES if (said := for_people(text, TOOLS[tool])) != expected
    ]
    assert wrong == []


@pytest.fixture(autouse=True)
def _store(cli: Cli) -> None:
    assert cli("decide", "max_age", "5")[0] == 0
    assert cli("write", "one")[0] == 0


@in_one_test(
    ("arguments", "problem"),
    [
        (("decide", "max_age", "6", "--expect", "7"), "set it with --expect 1 if your change still applies"),
        (("retract", "max_age"), "End it with `satchel decide max_age --status deprecated`"),
        (
            ("retract", "d1"),
            "d1 is a decision; decisions are changed, not retracted. End it with `satchel decide max_age",
        ),
        (("write", "x", "--task", ""), "--task is empty"),
        (("message", "send", "hi", "--reply-to", "m9"), "Leave --reply-to out"),
    ],
)
def test_errors_of_commands_name_options(cli: Cli, arguments: tuple[str, ...], problem: str) -> None:
    status, _, err = cli(*arguments)
    assert status != 0
    assert problem in err
