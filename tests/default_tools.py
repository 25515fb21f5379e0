"""What a server offers unless it is told otherwise, for every test that looks from outside."""

DEFAULT_TOOLS = [
    "get_briefing",
    "claim_files",
    "release_files",
    "check_files",
    "record_file_change",
    "write_context",
    "search",
    "get_items",
    "send_message",
    "get_messages",
    "get_team",
    "set_decision",
    "get_decision",
    "add_constraint",
    "get_constraints",
    "report_error",
    "report_outcome",
    "retract",
    "confirm",
]
