"""Steps of tests that share texts between Ann and Ben."""

from __future__ import annotations

from sharing_clones import Team

SHARED = ".satchel/shared"


def set_and_share(team: Team, name: str = "ann", key: str = "db", value: str = "SQLite") -> str:
    """Set a decision and share it; return its file."""
    team.set(name, key, value)
    team.share(name, key)
    return file_of(team, name)


def file_of(team: Team, name: str) -> str:
    """Return the name of a clone's only shared file."""
    (file,) = team.files(name)
    return file


def send(team: Team, name: str) -> None:
    """Commit and push."""
    team.commit(name)
    team.git(team.top(name), "push", "--quiet", "origin", "main")


def pull(team: Team, name: str) -> None:
    """Pull and merge the default branch."""
    team.git(team.top(name), "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")


def hand_over(team: Team) -> str:
    """Let Ben accept what Ann shared; return the file."""
    file = set_and_share(team)
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    return file


def value_of(team: Team, name: str, key: str = "db") -> object:
    """Return the value of a decision."""
    return team.clones[name].decisions.get(key).decision.value


def waiting_for(team: Team, name: str) -> list[str | None]:
    """Sync; return why each text waits for a person."""
    return [one.why for one in team.clones[name].shared.sync().waiting]


def replace_in_file(team: Team, name: str, old: str, new: str) -> None:
    """Edit a clone's only shared file by hand."""
    path = team.top(name) / SHARED / file_of(team, name)
    path.write_text(path.read_text().replace(old, new))


def share_with_ben(team: Team, *refs: str) -> None:
    """Let Ben accept items that Ann shares."""
    team.clones["ann"].shared.share(list(refs))
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
