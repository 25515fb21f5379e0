"""What a server offers unless it is told otherwise, for every test that looks from outside."""

DEFAULT_TOOLS = [
    "write_context",
    "read_context",
    "get_items",
    "search",
    "set_decision",
    "get_decision",
    "find_decisions",
    "add_constraint",
    "get_constraints",
    "deactivate_constraint",
    "get_briefing",
    "report_error",
    "report_outcome",
]
