from __future__ import annotations

from collections.abc import Sequence

import pytest

from satchel.base.errors import InvalidInput
from satchel.interfaces.cli.tour.history import Commit, History, load_sample
from satchel.interfaces.cli.tour.story import MAX_CONTENT_CHARS, Note, busiest_file, tell

TREE = (
    ".github/workflows/ci.yml",
    "Makefile",
    "README.md",
    "docs/guide.md",
    "pyproject.toml",
    "src/shop/__init__.py",
    "src/shop/__main__.py",
    "src/shop/cart.py",
    "src/shop/ledger.py",
    "src/shop/py.typed",
    "src/shop/till.py",
    "tests/test_cart.py",
)


def commit(subject: str, *files: str, body: str = "", sha: str = "") -> Commit:
    return Commit(sha or f"{abs(hash(subject)):040x}"[-40:], subject, body, files)


def history(*oldest_first: Commit, tree: Sequence[str] = TREE) -> History:
    return History("shop", tuple(reversed(oldest_first)), tuple(tree))


SHOP = history(
    commit("Add the till", "src/shop/till.py", "src/shop/__init__.py"),
    commit("Add a cart that holds lines", "src/shop/cart.py", "tests/test_cart.py"),
    commit("Fix rounding of refunds in foreign currencies", "docs/guide.md", "src/shop/ledger.py"),
    commit("Store money as integers to avoid rounding errors", "src/shop/ledger.py"),
    commit('Revert "Add gift vouchers"', "src/shop/cart.py"),
    commit("Release 1.2", "pyproject.toml"),
    commit("Rename clerks to cashiers", "src/shop/till.py"),
    commit("Add receipts with a running number", "src/shop/till.py"),
    commit("Split the ledger by year", "src/shop/ledger.py"),
)


def contents(notes: Sequence[Note]) -> list[str]:
    return [str(note.content) for note in notes]


def test_each_commit_becomes_an_entry_of_its_kind_oldest_first() -> None:
    story = tell(SHOP)

    kinds = [note.type for note in (*story.notes_by_builder, *story.notes_by_reviewer)]
    assert kinds == [
        "discovery",
        "discovery",
        "error",
        "decision",
        "error",
        "discovery",
        "discovery",
        "discovery",
    ]


def test_the_reviewer_takes_the_newest_quarter() -> None:
    story = tell(SHOP)

    assert len(story.notes_by_reviewer) == 2
    assert contents(story.notes_by_reviewer)[1].startswith("Split the ledger by year")


def test_content_names_the_commit_its_story_and_its_files() -> None:
    body = "Coins were counted twice.\n\nsee: nothing\n\nSigned-off-by: Ada <ada@example.org>"
    paths = [f"src/shop/{name}.py" for name in "abcdef"]
    told = tell(history(commit("Fix the count of coins", *paths, body=body, sha="0123456789" * 4)))

    assert contents(told.notes_by_builder) == [
        "Error, since fixed: Fix the count of coins (01234567). Coins were counted twice."
        " Files: src/shop/a.py, src/shop/b.py, src/shop/c.py, src/shop/d.py and 2 more."
    ]


def test_a_revert_is_told_as_taken_back() -> None:
    told = tell(history(commit('Revert "Add gift vouchers"', sha="a" * 40)))

    assert contents(told.notes_by_builder) == ['Taken back: Revert "Add gift vouchers" (aaaaaaaa).']


def test_a_decision_quotes_the_reason_from_the_body() -> None:
    reason = "We keep one file per year because auditors ask for years."
    told = tell(history(commit("Split the ledger", "src/shop/ledger.py", body=reason, sha="b" * 40)))

    assert contents(told.notes_by_builder) == [f"Split the ledger (bbbbbbbb). Reason given: {reason}"]
    assert told.notes_by_builder[0].type == "decision"


@pytest.mark.parametrize("subject", ["x y " * 400, "Add the till"])
def test_content_stays_short(subject: str) -> None:
    body = " ".join(f"Sentence number {number} tells something about coins." for number in range(100))
    note = tell(history(commit(subject, body=body + " " + "word " * 500 + "."))).notes_by_builder[0]

    assert len(str(note.content)) <= MAX_CONTENT_CHARS


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("README.md", "src/shop/cart.py", "tests/test_cart.py"), "src/shop/cart.py"),
        (("src/shop/gone.py", "src/shop/cart.py"), "src/shop/cart.py"),
        (("README.md", "Makefile"), "Makefile"),
        (("caf\\xe9.py", "line\nbreak.py"), None),
        (("x" * 300 + ".py",), None),
        ((), None),
    ],
)
def test_the_most_telling_file_is_chosen(files: tuple[str, ...], expected: str | None) -> None:
    note = tell(history(commit("Let the till count coins", *files))).notes_by_builder[0]

    assert note.file == expected


def test_releases_are_told_only_where_there_is_nothing_else() -> None:
    assert not [text for text in contents(tell(SHOP).notes_by_builder) if "Release" in text]
    assert contents(tell(history(commit("Release 1.2"))).notes_by_builder)[0].startswith("Release 1.2")


def test_a_history_without_a_subject_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no commit to tell"):
        tell(history(commit(" ")))


def test_questions_cover_the_kinds_and_point_to_the_builder() -> None:
    story = tell(SHOP)

    assert [note.type for note in story.questions] == ["error", "decision", "discovery"]
    assert all(note in story.notes_by_builder for note in story.questions)


def test_questions_are_phrased_as_a_developer_would_ask() -> None:
    asked = {note.question for note in tell(SHOP).questions}

    assert "Why did we store money as integers?" in asked
    assert "Where did we add a cart that holds lines?" in asked


def test_a_decision_is_asked_for_its_reason() -> None:
    subject = "Use one lock file because two of them deadlock under load (#12)"

    assert [note.question for note in tell(history(commit(subject))).questions] == ["Why did we use one lock file?"]


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        ("Project skeleton: metadata, targets", "What do we know about project skeleton?"),
        ("The ledger, the till and the cart", "What do we know about the ledger?"),
        (
            "cart: Fix the total of empty lines, closes #3",
            "What went wrong with total of empty lines?",
        ),
        ('Revert "Add gift vouchers"', 'Why did we take back "Add gift vouchers"?'),
        ("Fix rounding of refunds to keep the cents", "What went wrong with rounding of refunds?"),
        ("Avoids a second count of the coins", "How did we avoid a second count of the coins?"),
        ("Moved the clerks to staff.py", "Where did we move the clerks to staff.py?"),
    ],
)
def test_a_subject_becomes_a_question(subject: str, question: str) -> None:
    assert [note.question for note in tell(history(commit(subject))).questions] == [question]


def test_what_two_notes_would_answer_alike_is_not_asked() -> None:
    twins = history(commit("Add the blue till", sha="a" * 40), commit("Add the blue till", sha="b" * 40))

    assert tell(twins).questions == ()


def test_the_analysis_follows_from_the_tracked_files() -> None:
    analysis = tell(SHOP).analysis

    assert analysis.type == "codebase_analysis"
    assert analysis.content == (
        "shop: 12 tracked files, mostly .py. Of the newest 9 commits, 8 changed src/shop/, more than any other folder."
    )


def test_an_empty_tree_is_analysed_too() -> None:
    assert tell(history(commit("Add a thing"), tree=())).analysis.content == "shop: 0 tracked files."


def history_of(*changed: tuple[str, ...], tracked: tuple[str, ...]) -> History:
    return history(*(commit("Add a thing", *files) for files in changed), tree=tracked)


def test_the_busiest_file_is_the_one_that_most_commits_changed() -> None:
    assert busiest_file(history_of(("a", "b"), ("b",), tracked=("a", "b"))) == "b"


def test_a_file_that_is_gone_is_not_claimed() -> None:
    assert busiest_file(history_of(("gone", "a"), ("gone",), tracked=("a",))) == "a"


@pytest.mark.parametrize("name", ["{{cookiecutter.slug}}/a.py", "glob*.py", " spaced.py", "a" * 300])
def test_a_file_whose_name_cannot_be_claimed_is_passed_over(name: str) -> None:
    assert busiest_file(history_of((name, "a"), (name,), tracked=(name, "a"))) == "a"


def test_without_any_change_there_is_a_file_to_claim() -> None:
    assert busiest_file(history_of(tracked=("a",))) == "README.md"


def test_the_sample_makes_a_story_with_a_question_and_an_answer() -> None:
    story = tell(load_sample())

    assert story.notes_by_builder
    assert story.notes_by_reviewer
    assert story.questions
