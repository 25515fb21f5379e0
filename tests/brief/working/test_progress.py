"""What shows a commit or a passing test run, and what does not."""

from __future__ import annotations

from satchel.brief.working.progress import COMMIT, TESTS, progress_of

PASSED = "=== 12 passed, 1 skipped in 0.31s ==="
FAILED = "=== 1 failed, 11 passed in 0.31s ==="
COMMITTED = "[main 1a2b3c4] Rotate tokens\n 1 file changed, 1 insertion(+)"
MESSAGE = 'git commit -m "$(cat <<\'EOF\'\nRun pytest; it isn\'t "slow" | at all\nEOF\n)"'

SUCCEEDED = [
    *((command, COMMIT) for command in ("git commit -qm x", "git -C sub -c user.name=a commit --amend", MESSAGE)),
    ("cd sub && git add . && git commit -m 'fix a; b'", COMMIT),
    ("pytest -q && git commit -qam x", COMMIT),
    ("GIT_EDITOR=true git commit", COMMIT),
    ("pytest tests/a.py -x 2>&1", TESTS),
    ("CI=1 timeout 60 .venv/bin/python -m pytest", TESTS),
    ("uv run pytest", TESTS),
    ("python3 -m unittest discover", TESTS),
    ("python manage.py test shop", TESTS),
    ("npm test -- --watch=false", TESTS),
    ("npm run test:unit", TESTS),
    ("yarn jest", TESTS),
    ("npx vitest run", TESTS),
    ("cd web && npx jest --ci;", TESTS),
    ("cargo test --workspace", TESTS),
    ("go test ./...", TESTS),
    ("make -C lib test", TESTS),
    ("make check", TESTS),
    ("./gradlew :app:testDebug", TESTS),
    ("mvn -q clean verify", TESTS),
    ("bundle exec rspec", TESTS),
    ("(cd sub && tox -e py312)", TESTS),
    *(
        (command, None)
        for command in ("git commit --dry-run", "git log --grep commit", "echo git commit", "git status")
    ),
    *((command, None) for command in ("pip install pytest", "cat pytest.ini", "pytest --collect-only", "cargo check")),
    *(
        (command, None)
        for command in ("npm install", "npm run lint", "make", "cargo test --no-run", "", "  ", "'", "&&")
    ),
    ("cat > run.sh <<EOF\npytest\ngit commit\nEOF", None),
    # the status is that of another part
    *(
        (command, None)
        for command in ("pytest | tail -3", "pytest || true", "pytest; echo", "pytest &", "git commit & ls")
    ),
]
UNKNOWN = [
    ("pytest", PASSED, TESTS),
    ("pytest", FAILED, None),
    ("pytest", "", None),
    ("pytest | tail -1", PASSED, TESTS),
    ("npx jest", "Tests:       5 passed, 5 total", TESTS),
    ("npx jest", "Tests:       1 failed, 5 passed, 6 total", None),
    ("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored", TESTS),
    ("cargo test", "test result: ok. 3 passed; 0 failed\ntest result: FAILED. 2 passed; 1 failed", None),
    ("go test ./...", "ok  \texample.com/a\t0.012s\nok  \texample.com/b\t(cached)", TESTS),
    ("go test ./...", "ok  \texample.com/a\t0.012s\nFAIL\texample.com/b\t0.1s", None),
    ("python -m unittest", "Ran 3 tests in 0.001s\n\nOK", TESTS),
    ("mvn test", "[INFO] BUILD SUCCESS", TESTS),
    ("gradle test", "BUILD FAILED in 3s", None),
    ("rspec", "12 examples, 0 failures", TESTS),
    ("git commit -m x", COMMITTED, COMMIT),
    ("git commit -m x", "nothing to commit, working tree clean", None),
    ("echo pytest", PASSED, None),
]


def test_a_commit_and_a_passing_test_run_are_recognised() -> None:
    wrong = [one for one in SUCCEEDED if progress_of(one[0], "", has_failed=False) != one[1]]
    assert wrong == []


def test_the_output_decides_where_the_status_is_not_known() -> None:
    wrong = [one for one in UNKNOWN if progress_of(one[0], one[1], has_failed=None) != one[2]]
    assert wrong == []


def test_a_command_that_failed_is_no_progress() -> None:
    assert progress_of("pytest", PASSED, has_failed=True) is None
