"""A day of each source design, by its own examples, through the tools; docs/source-designs.md has every requirement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tool_asking import Asker

SCRATCHPAD = {
    "done": False,
    "test_status": "failing",
    "next_step": "Fix TypeError in parseConfig by adding null check",
    "blockers": ["Unclear whether config.timeout is optional"],
}


@pytest.fixture
def ask(new_asker: Callable[..., Asker]) -> Asker:
    return new_asker()


def contents(answer: dict[str, Any]) -> list[Any]:
    return [one["content"] for one in answer["entries"]]


def test_context_of_a_run(ask: Asker) -> None:
    """000 and 001: issues by file, errors, search, the history of a loop, stuck after three approaches."""
    issue = {
        "issue_type": "over-engineering",
        "description": "Function handles 5 edge cases not in spec",
        "suggestion": "Remove handling for network timeouts - spec assumes reliable connection",
    }
    ask.text("write_context", type="review_issue", content=issue, file="src/auth.ts", task_id="t1", agent="reviewer")
    ask.text("write_context", type="error", content="TypeError in parseConfig", agent="builder")
    approaches = ["Added try-catch around parse call", "Checked for undefined config", "Gave timeout a default"]
    for iteration, attempted in enumerate(approaches, 1):
        pad = SCRATCHPAD | {"iteration": iteration, "attempted": [attempted]}
        loop = {"task_id": "t1", "loop_id": "loop-1"}
        told = ask.text("write_context", type="scratchpad", content=pad, **loop, agent="builder")
    assert "STUCK" in told.upper()
    assert contents(ask.fields("read_context", types=["review_issue"], file="src/auth.ts")) == [issue]
    assert contents(ask.fields("read_context", types=["error"])) == ["TypeError in parseConfig"]
    assert issue in contents(ask.fields("read_context", search="timeouts"))
    history = ask.fields("read_context", types=["scratchpad"], loop_id="loop-1", limit=10, order="desc")
    assert [one["attempted"] for one in contents(history)] == [[one] for one in reversed(approaches)]
    briefing = ask.text("get_briefing", role="developer", **loop, agent="another")
    assert "STUCK" in briefing
    assert all(one in briefing for one in approaches)


def test_decisions_rules_and_messages(ask: Asker) -> None:
    """003: a decision in full, its summary by layer, a rule, a message, files, own fields."""
    ask.text(
        "set_decision",
        key="authentication_method",
        value="JWT with refresh tokens",
        layer="business",
        tags=["authentication", "security", "api"],
        scopes=["user-service", "api-gateway"],
        metadata={"ticket": "AUTH-12"},
        agent="auth-agent",
    )
    ask.text("add_constraint", text="Answers within 200 ms", category="performance", priority="high", layer="business")
    ask.text("record_file_change", file="src/auth.ts", change="modified", layer="business", agent="auth-agent")
    ask.text("send_message", message="tokens expire after an hour", to="api-agent", type="info", agent="auth-agent")
    both = {"scopes": ["user-service", "api-gateway"], "match": "all"}
    for wanted in (both, {"tags": ["security"]}, {"metadata": "ticket=AUTH-12"}, {"query": "refresh tokens"}):
        (decision,) = ask.fields("find_decisions", **wanted)["decisions"]
        assert (decision["key"], decision["version"]) == ("authentication_method", "1.0.0")
    business = next(one for one in ask.fields("get_layer_summary")["layers"] if one["layer"] == "business")
    assert (business["active_decisions"], business["recent_file_changes"], business["active_constraints"]) == (1, 1, 1)
    (message,) = ask.fields("get_messages", agent="api-agent")["messages"]
    assert message["from"] == "auth-agent"
    names = {one["name"]: one["decisions"] for one in ask.fields("get_stats", by="tag")["names"]}
    assert names == {
        **dict.fromkeys(("api", "authentication", "security", "api-gateway", "user-service", "business"), 1),
        "performance": 0,
    }
    activity = {one["agent"]: one for one in ask.fields("get_stats", by="agent")["days"]}
    assert (activity["auth-agent"]["writes"], activity["auth-agent"]["messages"]) == (1, 1)


def test_packages_errors_and_strategies(ask: Asker) -> None:
    """004: packages by priority and who consumed them, a fix that two agents confirm, a strategy that helped."""
    for priority in ("low", "critical", "high"):
        ask.text(
            "save_package", summary=f"{priority} findings", content="x", priority=priority, consumers=["developer"]
        )
    error = {"error_type": "ModuleNotFoundError", "message": "No module named 'utils.auth'"}
    ask.text("report_error", **error, hints=["import statement"], solution="run pip install -e .", agent="builder")
    ask.text("save_strategy", topic="imports", insight="Install the project itself before its tests", agent="builder")
    briefing = ask.text("get_briefing", role="developer", task_id="t1", iteration=1, query="module", agent="another")
    order = [briefing.index(f"{priority} findings") for priority in ("critical", "high", "low")]
    assert order == sorted(order)
    assert "Install the project itself" in briefing
    (package,) = ask.fields("get_packages", packages=["p2"])["packages"]
    (consumed,) = package["consumed"]
    assert (consumed["agent"], consumed["role"], consumed["task_id"], consumed["iteration"]) == (
        *("another", "developer", "t1"),
        1,
    )
    known = ask.text("report_error", **error, agent="another")
    assert "pip install -e ." in known
    assert "helped 1 time" in ask.text("report_outcome", id="y1", helped=True, agent="another")
    assert "helped 1 time" in ask.text("report_outcome", id="s1", helped=True, agent="another")
    assert "only another agent's word counts" in ask.text("report_outcome", id="s1", helped=True, agent="builder")
