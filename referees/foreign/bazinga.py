"""Make a database with bazinga's own code: python bazinga.py CLONE DATABASE."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

SESSION = "bazinga_20261124_1"
PHASES = ("understanding", "approach", "decisions", "blockers", "completion")


def main(clone: Path, file: Path) -> None:
    """Make it.

    Args:
        clone: a checkout of bazinga.
        file: what to make.
    """
    scripts = clone / ".claude" / "skills" / "bazinga-db" / "scripts"
    subprocess.run([sys.executable, str(scripts / "init_db.py"), str(file)], check=True, capture_output=True)
    sys.path.insert(0, str(scripts))
    database = import_module("bazinga_db").BazingaDB(str(file))
    os.chdir(clone)
    report = Path("bazinga", "artifacts", SESSION, "auth.md")
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("what is known of auth", encoding="utf-8")
    database.create_session(SESSION, "simple", "Build the shop")
    database.create_task_group("AUTH", SESSION, "auth")
    consumers = ["developer", "qa_expert"]
    database.save_context_package(
        SESSION, "AUTH", "research", str(report), "requirements_engineer", consumers, "high", "what is known of auth"
    )
    database.mark_context_consumed(1, "developer", 1)
    database.save_consumption(SESSION, "AUTH", "developer", 2, 1)
    for phase in PHASES:
        database.save_reasoning(SESSION, "AUTH", "developer", phase, f"of {phase}", agent_id="developer_1", iteration=1)
    database.save_success_criteria(SESSION, [{"criterion": "tests pass", "status": "met", "actual": "120 of 120"}])
    database.save_error_pattern("shop", "ConnectionError", "cannot reach the cache", "start redis", lang="python")
    database.save_strategy("shop", "offline", "queue writes and replay them", lang="python")
    database.log_interaction(SESSION, "pm", "hello")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
