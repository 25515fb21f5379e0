"""The lines of the guard in a hook: put in and taken out to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.interfaces.guard import block

LINES = block.lines("/opt/satchel's/bin/satchel")
HEADS = st.sampled_from(["", "#!/bin/sh", "#!/bin/sh\n", "#!/usr/bin/env bash\n", "#!/bin/sh -e\r\n", "\n", "#"])
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(["\n", "\r", "\udc80", "#"]))


@given(HEADS, TEXTS)
def test_what_is_put_in_is_taken_out_to_the_byte(head: str, rest: str) -> None:
    hook = head + rest
    assert block.take(block.put(hook, LINES)) == hook


@given(HEADS, TEXTS)
def test_putting_twice_is_putting_once(head: str, rest: str) -> None:
    once = block.put(head + rest, LINES)
    assert block.put(once, LINES) == once
    assert block.found_in(once) == LINES


def test_lines_that_are_out_of_date_are_replaced() -> None:
    hook = "#!/bin/sh\nmake check\n"
    assert block.put(block.put(hook, block.lines("/old")), LINES) == block.put(hook, LINES)


@pytest.mark.parametrize(
    ("head", "holds"),
    [
        ("", True),
        ("make check\n", True),
        ("#!/bin/sh\n", True),
        ("#! /bin/dash -e\n", True),
        ("#!/usr/bin/env bash\n", True),
        ("#!/usr/bin/env -S A=1 zsh -f\n", True),
        ("#!/usr/bin/env python3\n", False),
        ("#!/usr/bin/fish\n", False),
        ("#!\n", False),
        ("\x7fELF\0\0", False),
    ],
)
def test_only_scripts_of_a_shell_hold_the_lines(head: str, holds: bool) -> None:
    assert block.can_hold_lines(head) is holds
