"""Signatures keep what tells errors apart, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keep.patterns.mutations import pairs
from keep.patterns.outputs import OUTPUTS
from satchel.keep.patterns import mask, signature
from tables import in_one_test

TRACE = """Traceback (most recent call last):
  File "/srv/app/main.py", line 12, in <module>
    run()
    ^^^^^
  File "/srv/app/run.py", line 7, in run
    raise ValueError(text)
ValueError: no such plan: gold
"""


def test_a_signature_is_a_sha_256_in_hexadecimal_digits() -> None:
    assert len(signature("KeyError", "'a'")) == 64
    assert set(signature("KeyError", "'a'")) <= set("0123456789abcdef")


def test_a_signature_stays_the_same_from_version_to_version() -> None:
    known = "4f3b9d4115ec0b8c38ffb43691d7ff538fd31a97db8f88c40a080036b52b152a"
    assert signature("ModuleNotFoundError", "No module named 'foo'") == known


def test_the_type_is_part_of_the_signature() -> None:
    assert signature("KeyError", "gone") != signature("ValueError", "gone")


def test_type_and_message_do_not_run_together() -> None:
    assert signature("a", "b c") != signature("a b", "c")


@in_one_test(
    ("one", "other"),
    [
        ("No module named 'foo'", "No module named 'requests'"),
        ("No module named 'urllib2'", "No module named 'urllib3'"),
        ("Cannot find module '@babel/core'", "Cannot find module '@babel/cli'"),
        ("[Errno 2] cannot open x", "[Errno 13] cannot open x"),
        ("failed (os error 111)", "failed (os error 113)"),
        ("error TS2322: wrong type", "error TS2345: wrong type"),
        ("error[E0308]: mismatch", "error[E0277]: mismatch"),
        ("ORA-00942: failed", "ORA-01017: failed"),
        ("Request failed with status code 404", "Request failed with status code 500"),
        ("HTTP 502 from upstream", "HTTP 504 from upstream"),
        ("429 Too Many Requests", "403 Forbidden"),
        ("exited with code 1", "exited with code 137"),
        ("killed by signal 9", "killed by signal 11"),
        ("HRESULT: 0x80070005", "HRESULT: 0x80070002"),
        ("expected int32", "expected int64"),
        ("cannot decode utf-8", "cannot decode utf-16"),
        ("sha256 differs", "sha512 differs"),
        ("cannot read /etc/app/users.csv", "cannot read /etc/app/roles.csv"),
        ("cannot reach https://pypi.org/simple", "cannot reach https://example.org/simple"),
        ("GET /api/users/17 failed", "GET /api/orders/17 failed"),
        ("java.lang.IllegalStateException", "java.lang.IllegalArgumentException"),
        ("Unhandled exception: 0xC0000005", "Unhandled exception: 0xC00000FD"),
        ("Process finished with exit code -1073741819", "Process finished with exit code -1073740791"),
        ("POST /login 401 12 ms", "POST /login 500 12 ms"),
        ("[signal SIGSEGV: x]\ny", "[signal SIGBUS: x]\ny"),
        ("undefined: github.com/spf13/cobra", "undefined: github.com/spf13/viper"),
    ],
)
def test_what_tells_errors_apart_is_kept(one: str, other: str) -> None:
    assert mask(one) != mask(other)


@in_one_test(
    ("one", "other"),
    [
        ("cannot read /home/alice/app/users.csv", "cannot read C:\\build7\\users.csv"),
        ("cannot read ./src/users.csv", "cannot read users.csv"),
        ("cannot read file:///home/alice/app/users.csv", "cannot read users.csv"),
        ("a.ts:12:5 - broken", "a.ts:4012:17 - broken"),
        ("a.ts(12,5): broken", "a.ts(4012,17): broken"),
        ("<Cart object at 0x7f2a00ffee10>", "<Cart object at 0x10>"),
        ("Order@1b6d3586 is closed", "Order@7852e922 is closed"),
        ("job 7f9c2ba4-e88f-11ee-b5ac-0242ac120002 failed", "job 31 failed"),
        ("job_202411_0007_m_000002 failed", "job_202512_0100_r_01 failed"),
        ("commit 3f1c9a2 is missing", "commit 0d6ec5f7a9b1c2d3e4f5061728394a5b6c7d8e9f is missing"),
        ("2024-05-02T10:11:12.123Z lost", "2025-12-31 23:59:59,001 +02:00 lost"),
        ("at Fri Jun 17 07:07:00 2005 lost", "at Sun Jul  3 10:05:25 2005 lost"),
        ("[02/May/2024:10:11:12 +0000] lost", "[03/Jun/2025:01:02:03 -0700] lost"),
        ("E1122 10:11:12.000123   991 a.go:88] lost", "E0103 01:02:03.100000   4 a.go:101] lost"),
        ("gave up after 1m30s", "gave up after 250ms"),
        ("took 1.5 seconds", "took 350 ms"),
        ("1,234,567 rows of 4.2 MiB", "12 rows of 900 KB"),
        ("connect 10.0.0.1:5432 refused", "connect 192.168.3.44:6432 refused"),
        ("connect fe80::1 refused", "connect 2001:db8:0:1:1:1:1:1 refused"),
        ("from http://node7.example.org:8080/v1/42?q=a", "from http://node12.example.org/v1/9031?q=b#c"),
        ("[pool-1-thread-4] lost", "[pool-12-thread-31] lost"),
        ("dial 127.0.0.1:5432 refused", "dial [::1]:6543 refused"),
        ("cannot open '/srv/users.csv'", "cannot open 'C:\\Users\\Bob Lee\\users.csv'"),
        ("request req_8fKd92kLmN03xYz lost", "request req_Q81kz92LLmN03xY lost"),
        ("pod shop-7d9f8b6c5-x2k4q lost", "pod shop-5c6d7e8f9-p9z2m lost"),
        ("ERROR 2024-05-01T10:00:00+0000 lost", "ERROR 2023-05-01T10:00:00.1Z lost"),
        ("/tmp/tmpab12xy_9 lost", "/var/folders/x1/T/tmpq_93kzzz lost"),
        ("\x1b[31merror\x1b[0m: gone", "error: gone"),
        ("gone\r\n", "  gone"),
        ("mail to alice@example.com bounced", "mail to bob.b@example.org bounced"),
        ("status: 200, then gone", "status: 204, then gone"),
    ],
)
def test_what_is_volatile_is_masked(one: str, other: str) -> None:
    assert mask(one) == mask(other)


def test_stacks_do_not_count() -> None:
    assert mask(TRACE) == "ValueError: no such plan: gold"


def test_a_text_that_is_nothing_but_a_stack_is_kept() -> None:
    assert "main.js" in mask("\n    at run (/srv/main.js:1:2)\n    at main (/srv/main.js:9:2)")


def test_a_secret_does_not_reach_the_signature() -> None:
    first, second = ("Authorization: Bearer " + secret for secret in ("Zk93jfKq0PdmX7LsT2vB", "pQ8rT5uW1xZ4aB7cD0eF"))
    assert "Zk93" not in mask(first)
    assert signature("E", first) == signature("E", second)


def test_an_empty_message_has_a_signature() -> None:
    assert mask("") == ""
    assert signature("E", "") != signature("F", "")


@given(st.text(max_size=400))
def test_any_text_has_one_signature(text: str) -> None:
    assert signature("E", text) == signature("E", text)


def test_a_lone_surrogate_has_a_signature() -> None:
    assert len(signature("E\ud800", "m\udfff")) == 64


def test_an_address_of_no_file_has_a_signature() -> None:
    assert len(signature("E", "cannot open file://")) == 64


HOSTILE = (
    *("a/", "/", "1.", "1,", "111,", "a1", ":", "f:", "a:", "::", "a@", "a.", "1-", "1-1-1-", "=", "\\", "a\\", "C:\\"),
    *(
        '"',
        "\n",
        "\n  at ",
        "\n\ta:1",
        "f(\n\ta:1\n",
        'File "',
        "http://",
        "x1.com.",
        "1e+",
        "error ",
        "code: ",
        "Jan 1 ",
    ),
    *(
        "Mon ",
        "2024-01-01T",
        "user=",
        "0x",
        "#:",
        "\x1b]",
        "GET /a ",
        "()",
        "(",
        "goroutine 1 [",
        "1h",
        "é",
        "_",
        "deadbeef",
    ),
)


# No figure is judged: what takes quadratic time would run into the limit many times over.
@in_one_test("piece", HOSTILE)
@in_one_test("tail", ["1111", "!\n\ta:1"])
@pytest.mark.timeout(30)
def test_hostile_repetitions_end(piece: str, tail: str) -> None:
    assert isinstance(mask("x\n  at " + piece * (60_000 // len(piece)) + tail), str)


@pytest.mark.parametrize("piece", ["a/", "1,", "111,", "a1", "\n", "\n\ta:1", "()", "1e+", "error ", "http://"])
@pytest.mark.timeout(60)
@pytest.mark.slow
def test_a_hostile_megabyte_ends(piece: str) -> None:
    assert isinstance(mask(piece * (1_000_000 // len(piece))), str)


def test_what_stands_in_the_middle_of_a_very_long_message_does_not_count() -> None:
    begins, ends = "connection is refused " * 200, " the disk is full" * 300
    assert mask(f"{begins}one{'1e+' * 20_000}{ends}") == mask(f"{begins}other{'a-1 ' * 90_000}{ends}")
    assert mask(f"{begins}{ends}") != mask(f"x {begins}{ends}")
    assert mask(f"{begins}{ends}") != mask(f"{begins}{ends} x")


def test_a_long_message_counts_whole() -> None:
    assert mask(f"{'connection is refused ' * 120}one{' the disk is full' * 150}").count("one") == 1


def test_of_any_output_a_bounded_part_is_read() -> None:
    long = "error: x\n" + "y 1\n" * 300_000
    assert signature("E", long) == signature("E", long + "y 1\n" * 300_000)


PRINTED = tuple(dict.fromkeys(pair.first[1] for pair in pairs("twice", of_each=2)))


@given(st.sampled_from(PRINTED), st.integers(0, 400))
def test_masking_twice_changes_nothing_more(text: str, cut: int) -> None:
    # from the beginning of a word on: no program prints the end of a number alone
    once = mask(text[text.rfind(" ", 0, cut) + 1 :])
    assert mask(once) == once


@pytest.mark.parametrize("of_each", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_outputs_of_five_languages_are_matched_by_their_cause(of_each: int) -> None:
    judged = Counter(
        (pair.is_same, signature(*pair.first) == signature(*pair.second)) for pair in pairs("masking", of_each)
    )
    matched = judged[True, True]
    precision = matched / (matched + judged[False, True])
    recall = matched / (matched + judged[True, False])
    assert min(precision, recall) >= 0.95, judged


def test_the_mutator_knows_five_languages_and_is_seeded() -> None:
    assert len({output.language for output in OUTPUTS} - {"TypeScript"}) == 5
    assert list(pairs("a", 1)) == list(pairs("a", 1))
    assert list(pairs("a", 1)) != list(pairs("b", 1))


def test_importing_signatures_is_light() -> None:
    program = "import sys, satchel.keep.patterns; print('apsw' in sys.modules, 'hashlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
