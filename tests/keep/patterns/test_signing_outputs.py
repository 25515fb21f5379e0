"""Outputs of one error have one signature, whatever tool wraps it and whoever reports it."""

from __future__ import annotations

import pytest

from satchel.brief.working.commands import command_error
from satchel.keep.patterns import signature

NPM = (
    "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\n"
    "npm error While resolving: {app}@0.3.1\nnpm error Found: react@19.0.0\nnpm error\n"
    "npm error Could not resolve dependency:\nnpm error peer {peer} from react-table@7.8.0\nnpm error node_modules/x\n"
)
GRADLE = (
    "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':{task}'.\n"
    "> error: invalid source release: {release}\n\n* Try:\n> Run with --stacktrace option\n\nBUILD FAILED in 3s\n"
)
RUSTC = (
    "error[E0308]: mismatched types\n --> src/{file}:2:5\n  |\n2 |     n * 2\n"
    "  |     ^^^^^ expected `{wanted}`, found `u32`\n  |\n\nerror: could not compile `shop` (lib)\n"
)
PUSH = (
    "To {host}:acme/shop.git\n ! [rejected]        {branch} -> {branch} ({reason})\nerror: failed to push some refs\n"
)
PANIC = "thread 'main' panicked at src/lib.rs:{place}:\ncalled `Option::unwrap()` on a `None` value\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ImportError: No module named cv2", "ModuleNotFoundError: No module named 'cv2'"),
        ("error: Visual C++ 14.0 or greater is required", "error: Visual C++ 14.0 is required. Get it."),
        ("ValueError: no plan gold", "api-1  | ValueError: no plan gold\napi-1 exited with code 1"),
        ("ValueError: no plan gold", '#9 1.87 ValueError: no plan gold\n#9 ERROR: process "x" did not complete'),
        (
            "sqlite3.OperationalError: database is locked",
            "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) database is locked\n[SQL: SELECT 1]\n",
        ),
        (NPM.format(app="shop", peer='react@"^18"'), NPM.format(app="mall", peer='react@"^18"')),
        (GRADLE.format(task="app:compileJava", release=21), GRADLE.format(task="core:compileJava", release=21)),
        (RUSTC.format(file="lib.rs", wanted="String"), RUSTC.format(file="main.rs", wanted="String")),
        (
            PUSH.format(host="github.com", branch="main", reason="fetch first"),
            PUSH.format(host="git.example.org", branch="dev", reason="fetch first"),
        ),
        (
            "  error: subprocess-exited-with-error\n  × python setup.py did not run successfully.\n  │ exit code: 1\n"
            "  ╰─> [3 lines of output]\n      running egg_info\n      Error: pg_config executable not found.\n",
            "Error: pg_config executable not found.",
        ),
        (
            "a.cpp:8:13: error: no match for 'operator<<' (operand types are 'X' and 'Y')\n"
            "/usr/include/c++/13/ostream:110:7: note: candidate: 'operator<<(int)'\n  110 |  operator<<(int)\n",
            "b.cpp:9:1: error: no match for 'operator<<' (operand types are 'X' and 'Y')\n",
        ),
        ("/a/Api.cs(3,7): error CS0246: 'Serilog' is missing [/a/Api.csproj]", "error CS0246: 'Serilog' is missing"),
        (
            "[Wed Apr 17 11:07:12 2013] [error] [client 10.0.0.7] PHP Fatal error:  Allowed memory size of 67108864 "
            "bytes exhausted (tried to allocate 64 B) in /srv/lib/db.php on line 173, referer: http://shop.example/",
            "Fatal error: Allowed memory size of 134217728 bytes exhausted (tried to allocate 7 B) in a.php on line 9",
        ),
        (
            "ERROR:  Error installing mall:\n\tERROR: Failed to build gem native extension.\n\n"
            "    current directory: /var/lib/gems/revdev-0.2.1/ext\n/usr/bin/ruby2.5 extconf.rb\n"
            "mkmf.rb can't find header files for ruby at /usr/lib/ruby/include/ruby.h\n\nextconf failed, exit code 1\n",
            "Gem::Ext::BuildError: ERROR: Failed to build gem native extension.\n\n/usr/bin/ruby extconf.rb\n"
            "mkmf.rb can't find header files for ruby at /usr/share/include/ruby.h\n",
        ),
        (
            "Error: Error locking state: Error acquiring the state lock: 2 error(s) occurred:\n\n"
            "* CheckFailed: The conditional request failed\n\tstatus code: 400\n* unexpected end of JSON input\n",
            "Error: Error acquiring the state lock\n│ \n│ Error message: CheckFailed: The conditional request\n"
            "│ failed\n│ Lock Info:\n│   ID:        12345\n│   Who:       ann@laptop\n",
        ),
        (
            "a.targets(6,5): error NETSDK1045: The SDK does not support targeting .NET 9.0. [/a/Shop.csproj]",
            "Error\tNETSDK1045\tThe SDK does not support targeting .NET 9.0. Use another.\tShop\tC:\\a.targets\t166",
        ),
        (
            "** (KeyError) key :id not found in the map\n    (shop 0.1.0) lib/a.ex:1: A.b/1\n",
            "KeyError: key :id not found in the map",
        ),
    ],
)
def test_wrappers_and_places_do_not_count(one: str, other: str) -> None:
    assert signature("error", one) == signature("error", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NPM.format(app="shop", peer='react@"^18"'), NPM.format(app="shop", peer='vue@"^2"')),
        (GRADLE.format(task="app:compileJava", release=17), GRADLE.format(task="app:compileJava", release=21)),
        (RUSTC.format(file="lib.rs", wanted="String"), RUSTC.format(file="lib.rs", wanted="u64")),
        (
            PUSH.format(host="github.com", branch="main", reason="fetch first"),
            PUSH.format(host="github.com", branch="main", reason="already exists"),
        ),
        (PANIC.format(place="2:16"), PANIC.format(place="9:7")),
        ("error: CMake 3.20 is required", "error: CMake 3.13 is required"),
        ("error NETSDK1045: no support for targeting .NET 9.0", "error NETSDK1045: no support for targeting .NET 7.0"),
    ],
)
def test_what_names_the_cause_counts(one: str, other: str) -> None:
    assert signature("error", one) != signature("error", other)


@pytest.mark.parametrize(
    ("kind", "command", "output"),
    [
        ("jinja2.exceptions.TemplateNotFound", "python run.py", "jinja2.exceptions.TemplateNotFound: home.html\n"),
        ("no-unused-vars", "eslint .", "\n/a/b.js\n  1:7  error  'x' is never used  no-unused-vars\n\n✖ 1 problem\n"),
        (
            "npm",
            "npm run lint",
            'npm error Missing script: "lint"\nnpm error\nnpm error To see a list of scripts, run:\n',
        ),
        ("pytest", "pytest", "E       fixture 'client' not found\n>       available fixtures: cache\n"),
    ],
)
def test_a_hook_reports_the_error_that_a_tool_reports(kind: str, command: str, output: str) -> None:
    assert signature(*command_error(command, 1, f"Exit code 1\n{output}")) == signature(kind, output)
