"""Notices of rules and decisions that bind the files that an agent is about to edit."""

from __future__ import annotations

from satchel import Satchel


def test_what_binds_a_file_comes_by_urgency_whatever_its_kind(satchel: Satchel) -> None:
    satchel.constraints.add("low", priority="low", paths=["src/**"], agent="ann")
    satchel.decisions.set("ttl", 45, paths=["src/a.py"], agent="ann")
    satchel.constraints.add("critical", priority="critical", paths=["src/**"])
    line = satchel.notices.line(taken=["src/a.py"], agent="ben")
    assert line == 'notice: binding here: c2 "critical", d1 ttl "45", c1 "low"'
