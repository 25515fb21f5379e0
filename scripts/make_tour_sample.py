"""Make the sample that `satchel tour` shows where there is no history.

Run ``python scripts/make_tour_sample.py [REPOSITORY]``. It takes the newest commits of the
repository (default: the one around this script) without merges, names, e-mail addresses and trailers, and the
paths it tracks. The same history always gives the same file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from satchel.interfaces.cli.tour.history import History, read_history
from satchel.interfaces.cli.tour.messages import read_message
from satchel.interfaces.cli.tour.story import tell

HERE = Path(__file__).resolve().parent.parent
TARGET = HERE / "src" / "satchel" / "interfaces" / "cli" / "tour" / "sample" / "history.json"
NAME = "satchel"
MAX_COMMITS = 40
MAX_FILES_PER_COMMIT = 12
MAX_TRACKED = 600
MAX_BODY_CHARS = 1_200


def sample_of(history: History) -> dict[str, object]:
    """Return the sample's JSON: what the tour can use of a history, and no more."""
    rows: list[dict[str, object]] = []
    for commit in history.commits[:MAX_COMMITS]:
        message = read_message(commit.subject, commit.body)
        rows.append(
            {
                "sha": commit.sha,
                "subject": message.subject,
                "body": "\n\n".join(message.sentences)[:MAX_BODY_CHARS],
                "files": list(commit.files[:MAX_FILES_PER_COMMIT]),
            }
        )
    return {
        "name": NAME,
        "commits": rows,
        "tracked_files": list(history.tracked_files[:MAX_TRACKED]),
    }


def main() -> None:
    """Write the sample and say what the tour would make of it."""
    repository = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    history = read_history(repository, limit=200)
    story = tell(history)
    TARGET.parent.mkdir(exist_ok=True)
    text = json.dumps(sample_of(history), ensure_ascii=False, indent=1)
    TARGET.write_text(text + "\n", encoding="utf-8")
    notes = len(story.notes_by_builder) + len(story.notes_by_reviewer)
    questions = len(story.questions)
    sys.stdout.write(f"{TARGET.relative_to(HERE)}: {len(text):,} characters, {notes} notes, {questions} questions\n")


if __name__ == "__main__":
    main()
