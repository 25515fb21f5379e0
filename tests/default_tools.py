"""What a server offers unless it is told otherwise, for every test that looks from outside."""

DEFAULT_TOOLS = [
    "get_briefing",
    "claim_files",
    "release_files",
    "write_context",
    "search",
    "get_items",
    "send_message",
    "get_messages",
    "get_team",
    "set_decision",
    "add_constraint",
    "report_error",
    "report_outcome",
    "review_item",
]
