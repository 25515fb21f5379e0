"""The command that adds an extra, for each way in which Satchel can be installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.base.installation import command_adding

RECEIPT = '[tool]\nrequirements = [{{ name = "satchel", extras = ["tokens"], path = "x" }}{}]\n'


class Installed:
    """An environment that holds the metadata of a Satchel, as an installer leaves it."""

    def __init__(self, folder: Path, installer: str = "pip", **direct: object) -> None:
        self.prefix, self.packages = folder, folder / "packages"
        info = self.packages / "satchel-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "INSTALLER").write_text(f"{installer}\n")
        (info / "METADATA").write_text(
            "Name: satchel\nVersion: 1.0\nRequires-Dist: click\n"
            'Requires-Dist: starlette>=1,<2 ; extra == "serve"\nRequires-Dist: uvicorn>=0.38 ; extra == "serve"\n'
        )
        if direct:
            (info / "direct_url.json").write_text(json.dumps(direct))

    def by_pipx(self, spec: str, suffix: str = "") -> Installed:
        main = {"package": "satchel", "package_or_url": spec, "suffix": suffix}
        (self.prefix / "pipx_metadata.json").write_text(json.dumps({"main_package": main}))
        return self

    def by_uv_tool(self, others: str = "") -> Installed:
        (self.prefix / "uv-receipt.toml").write_text(RECEIPT.format(others))
        return self

    def advice(self, extra: str = "serve") -> str:
        return command_adding(extra, prefix=str(self.prefix), environ={}, path=[str(self.packages)])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "my clone"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return tmp_path / "environment"


def test_pipx_installs_by_force_with_the_extras_that_are_there(environment: Path, clone: Path) -> None:
    installed = Installed(environment, url=clone.as_uri(), dir_info={}).by_pipx(f"{clone}[tokens,openai]")
    assert installed.advice() == f"pipx install --force '{clone}[openai,serve,tokens]'"


def test_pipx_keeps_the_suffix_of_the_command_and_an_editable_source(environment: Path, clone: Path) -> None:
    installed = Installed(environment, url=clone.as_uri(), dir_info={"editable": True}).by_pipx(str(clone), "-next")
    assert installed.advice() == f"pipx install --force --editable --suffix=-next '{clone}[serve]'"


def test_pipx_injects_the_packages_where_the_source_is_gone(environment: Path, clone: Path) -> None:
    wheel = clone / "satchel-1.0-py3-none-any.whl"
    installed = Installed(environment, url=wheel.as_uri(), archive_info={}).by_pipx(str(wheel))
    assert installed.advice() == "pipx inject satchel 'starlette>=1,<2' 'uvicorn>=0.38'"


def test_uv_tool_installs_by_force_with_the_extras_that_are_there(environment: Path, clone: Path) -> None:
    installed = Installed(environment, "uv", url=clone.as_uri(), dir_info={}).by_uv_tool()
    assert installed.advice() == f"uv tool install --force '{clone}[serve,tokens]'"


def test_uv_adds_to_the_environment_of_a_tool_with_packages_that_a_new_one_would_lose(
    environment: Path, clone: Path
) -> None:
    installed = Installed(environment, "uv", url=clone.as_uri(), dir_info={}).by_uv_tool(', { name = "openai" }')
    packages = "'starlette>=1,<2' 'uvicorn>=0.38'"
    assert installed.advice() == f"uv pip install --python {environment}/bin/python {packages}"


def test_pip_installs_into_the_environment_that_runs(environment: Path, clone: Path) -> None:
    installed = Installed(environment, url=clone.as_uri(), dir_info={})
    assert installed.advice() == f"{environment}/bin/python -m pip install '{clone}[serve]'"


def test_a_clone_installed_as_editable_stays_so(environment: Path, clone: Path) -> None:
    installed = Installed(environment, url=clone.as_uri(), dir_info={"editable": True})
    assert installed.advice() == f"{environment}/bin/python -m pip install --editable '{clone}[serve]'"


def test_an_environment_of_uv_needs_no_pip(environment: Path, clone: Path) -> None:
    installed = Installed(environment, "uv", url=clone.as_uri(), dir_info={})
    assert installed.advice() == f"uv pip install --python {environment}/bin/python '{clone}[serve]'"


def test_a_repository_is_named_by_its_url_and_commit(environment: Path) -> None:
    url = "https://example.org/satchel.git"
    installed = Installed(environment, url=url, vcs_info={"vcs": "git", "commit_id": "abc"})
    assert installed.advice().endswith(f" install 'satchel[serve] @ git+{url}@abc'")


def test_a_copy_that_does_not_stay_is_started_with_the_extra(tmp_path: Path, clone: Path) -> None:
    cached = Installed(tmp_path / "archive-v0" / "x", "uv", url=clone.as_uri(), dir_info={})
    assert cached.advice() == f"uvx --from '{clone}[serve]' satchel"


@pytest.mark.parametrize("direct", [{}, {"url": "file:///no/such/satchel.whl"}, {"url": 3}, {"other": 1}])
def test_an_unknown_source_leaves_the_packages_themselves(environment: Path, direct: dict[str, object]) -> None:
    # satchel is on no index: its bare name would install something else, or nothing
    installed = Installed(environment, "pip", **direct)
    assert installed.advice() == f"{environment}/bin/python -m pip install 'starlette>=1,<2' 'uvicorn>=0.38'"


@pytest.mark.parametrize(("file", "text"), [("pipx_metadata.json", "{"), ("uv-receipt.toml", "[")])
def test_a_broken_record_of_the_installer_is_no_error(environment: Path, clone: Path, file: str, text: str) -> None:
    installed = Installed(environment, url=clone.as_uri(), dir_info={})
    (environment / file).write_text(text)
    assert "install" in installed.advice()
