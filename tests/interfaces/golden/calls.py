"""What is asked of each tool in each store."""

from __future__ import annotations

from typing import Any

Calls = list[dict[str, Any]]

READING: dict[str, dict[str, Calls]] = {
    "small": {
        "read_context": [{}, {"types": ["scratchpad"]}, {"query": "token"}, {"after_seq": 3}, {"types": ["error"]}],
        "get_items": [
            {"ids": ["e1", "d1", "c1", "m1", "f1", "p1", "x1", "s1", "y1"], "agent": "planner"},
            {"ids": ["decision:session_ttl", "file:src/auth.py", "file:src/"], "agent": "planner"},
        ],
        "search": [{"query": "token"}, {"query": "expiry", "explain": True}, {"query": "nothing of the kind"}],
        "find_decisions": [{}, {"query": "gateway"}, {"status": "draft"}],
        "get_constraints": [{}, {"category": "security"}, {"status": "inactive"}],
        "get_briefing": [{"agent": "planner", "task_id": "T1"}, {"agent": "builder", "query": "token refresh"}],
        "get_packages": [{}, {"packages": ["p1", "p9"]}],
        "get_messages": [{"agent": "planner"}, {"agent": "builder"}, {"agent": "planner", "types": ["info"]}],
        "get_team": [{}, {"all": True}],
        "get_file_changes": [{}],
        "list_conversations": [{}],
        "get_runs": [{}, {"status": "active"}],
        "get_layer_summary": [{}],
        "get_stats": [{}],
        "get_config": [{}],
    },
    "large": {
        "read_context": [
            {"types": ["error"], "limit": 4},
            {"limit": 3, "offset": 10, "run_id": "main"},
            {"limit": 3, "after_seq": 20},
            {"limit": 4, "detail": "titles"},
            {"limit": 3, "detail": "snippets"},
            {"limit": 2, "detail": "titles", "format": "json"},
            {"query": "cart", "limit": 2},
            {"file": "src/long.py"},
        ],
        "get_items": [{"ids": ["e53"]}, {"ids": ["e53"], "offset": 30000}, {"ids": ["decision:token_rule_0"]}],
        "search": [
            {"query": "token", "limit": 5},
            {"query": "token", "limit": 5, "offset": 5, "detail": "titles"},
            {"query": "cart", "limit": 2, "detail": "full"},
            {"query": "analysis", "detail": "full"},
        ],
        "find_decisions": [
            {"limit": 6},
            {"limit": 5, "offset": 20},
            {"status": "draft"},
            {"limit": 4, "detail": "titles"},
            {"limit": 2, "detail": "snippets"},
        ],
        "get_constraints": [{"limit": 5}, {"limit": 3, "offset": 8}, {"limit": 3, "detail": "titles"}],
        "get_briefing": [{"agent": "planner", "query": "the token service timeout", "budget": 500}],
        "report_error": [{"error_type": "TimeoutError", "message": "the token service did not answer"}],
        "get_packages": [{"limit": 4}, {"limit": 3, "detail": "titles"}, {"limit": 2, "detail": "snippets"}],
        "get_messages": [{"agent": "planner", "limit": 4}, {"agent": "planner", "limit": 3, "detail": "titles"}],
        "get_team": [{}],
        "get_file_changes": [{"limit": 4}, {"limit": 3, "detail": "titles"}, {"limit": 2, "detail": "snippets"}],
        "get_runs": [{"limit": 4}, {"limit": 3, "detail": "titles"}],
        "get_layer_summary": [{}],
        "get_stats": [{}],
    },
}
"""By store and tool the arguments of each call; nothing is written yet."""

WRITING: dict[str, Calls] = {
    "write_context": [
        {"type": "discovery", "content": "Tokens are refreshed in src/refresh.py", "agent": "planner"},
        {
            "type": "bug",
            "content": {"description": "The mailer swallows errors", "severity": "high"},
            "file": "src/mail.py",
            "agent": "builder",
        },
        {
            "entries": [
                {"type": "decision", "content": "We keep one token"},
                {"type": "error", "content": "The refresh failed with 401", "task_id": "T1"},
            ],
            "agent": "planner",
        },
    ],
    "set_decision": [
        {"key": "session_ttl", "value": 900, "agent": "planner"},
        {"key": "session_ttl", "value": 900, "agent": "planner"},
        {"key": "session_ttl_s", "value": "900 seconds", "agent": "planner"},
    ],
    "add_constraint": [{"text": "Tokens are never logged.", "priority": "high", "agent": "planner"}],
    "review_item": [
        {"id": "c2", "verdict": "retract", "evidence": "the gateway does it now", "agent": "planner"},
        {"id": "c2", "verdict": "retract", "agent": "planner"},
        {"id": "e1", "verdict": "retract", "agent": "builder"},
        {"id": "e2", "verdict": "confirm", "evidence": "tests/test_token.py passes", "agent": "tester"},
    ],
    "report_error": [
        {"error_type": "KeyError", "message": "'token'", "agent": "planner"},
        {
            "error_type": "TypeError",
            "message": "'NoneType' object is not subscriptable in token 43",
            "lang": "python",
            "agent": "planner",
        },
    ],
    "report_outcome": [
        {"id": "y1", "agent": "planner"},
        {"id": "s1", "helped": False, "agent": "planner"},
        {"id": "x2", "solution": "Read the token with get().", "agent": "planner"},
    ],
    "save_package": [
        {"type": "handoff", "summary": "The new token store", "content": "See src/store.py", "agent": "planner"},
        {"package": "p1", "priority": "high"},
    ],
    "save_strategy": [{"topic": "token-refresh", "insight": "Refresh one minute before expiry.", "agent": "planner"}],
    "send_message": [
        {"message": "Yes, go ahead.", "reply_to": "m1", "agent": "planner"},
        {"message": "I have no name", "agent": "builder", "to": "nobody-yet"},
        {"message": "Which port?", "agent": "builder", "to": "planner", "type": "request", "answer_minutes": 30},
    ],
    "record_file_change": [
        {"file": "src/auth.py", "change": "modified", "agent": "planner"},
        {"file": "src/mail.py", "change": "modified", "description": "a new template", "agent": "builder"},
    ],
    "claim_files": [
        {
            "paths": ["src/mail.py", "issue:311"],
            "shared": ["src/views.py"],
            "reason": "moving the templates",
            "agent": "planner",
        },
        {"paths": ["src/mail.py"], "shared": ["src/views.py"], "agent": "reviewer"},
    ],
    "release_files": [
        {"paths": ["src/mail.py", "src/none.py"], "description": "Moved the templates.", "agent": "planner"},
        {"descriptions": {"src/views.py": "Reads the templates."}, "agent": "planner"},
    ],
    "consult": [{"assistant": "openai:gpt-6", "instructions": "Why?"}],
    "get_consultation": [{"handle": "x"}],
    "reset_conversation": [{"conversation": "review", "assistant": "openai:gpt-6"}],
    "start_run": [{"run_id": "tokens", "title": "Refresh tokens early"}],
    "end_run": [{"run_id": "tokens"}],
    "clear_old_data": [{}],
}
"""By tool the arguments of each call in the small store, in this order, after all that is read."""
