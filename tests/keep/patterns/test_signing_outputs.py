"""Outputs of one error have one signature, whatever tool wraps it and whoever reports it."""

from __future__ import annotations

from satchel.brief.working.commands import command_error
from satchel.keep.patterns import signature
from tables import in_one_test

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
CARGO = (
    "error: failed to load manifest for workspace member `{folder}/core`\nreferenced by workspace at "
    "`{folder}/Cargo.toml`\n\nCaused by:\n  failed to parse manifest at `{folder}/core/Cargo.toml`\n\nCaused by:\n"
    "  {cause}\n"
)
FEATURE = (
    "error: failed to select a version for `tokio`.\n    ... required by package `{app} v0.1.0 (/a/{app})`\n"
    "versions that meet the requirements `^1` are: 1.38.0\n\nthe package `{app}` depends on `tokio`, with features: "
    "`{feature}` but `tokio` does not have these features.\n\n\n"
    "failed to select a version for `tokio` which could resolve this conflict\n"
)
PLUGIN = (
    "FAILURE: Build failed with an exception.\n\n* What went wrong:\nPlugin [id: '{plugin}', version: '1.2.0'] was not "
    "found in any of the following sources:\n\n- Gradle Core Plugins (it is not there)\n{more}\n* Try:\n> Run it\n"
)
RESOLVE = (
    "* What went wrong:\nExecution failed for task ':a'.\n> Could not resolve all {what} for configuration ':{what}'.\n"
    "   > Could not find com.acme:billing:2.4.1.\n     Required by:\n         project :{what}\n"
)
PANIC = "thread 'main' panicked at src/lib.rs:{place}:\ncalled `Option::unwrap()` on a `None` value\n"


@in_one_test(
    ("one", "other"),
    [
        (CARGO.format(folder="/a", cause="no targets"), CARGO.format(folder="/ci/mall", cause="no targets")),
        (FEATURE.format(app="shop", feature="fulll"), FEATURE.format(app="mall", feature="fulll")),
        (PLUGIN.format(plugin="a.b", more=""), PLUGIN.format(plugin="a.b", more="- Included Builds (none)\n")),
        (RESOLVE.format(what="files"), RESOLVE.format(what="artifacts")),
        ("C:\\a\\m.cpp(10): error C2065: 'total': undeclared", "D:\\y.cpp(3,5): error C2065: 'total': undeclared"),
        (
            'fatal: checksum of ref moby::k2dlm2: "/a.json": not found',
            'fatal: checksum of ref 7f4c-11: "/a.json": not found',
        ),
        ("ImportError: No module named cv2", "ModuleNotFoundError: No module named 'cv2'"),
        ("error: Visual C++ 14.0 or greater is required", "error: Visual C++ 14.0 is required. Get it."),
        ("Error: a.dot: syntax error in line 2 near '->'", "Error: b.dot: syntax error in line 7 near '->'"),
        (
            "SyntaxError: no plan\n    at f (/a/x.js:1:2) {\n  pos: 3,\n  loc: [\n    9\n  ]\n}\n",
            "SyntaxError: no plan",
        ),
        ("[ALERT]  (31) : parsing [a.cfg:11] : no such key 'x'", "[ALERT]  (7) : parsing [b.cfg:2] : no such key 'x'"),
        (
            "NameError: no mix in /a/b.less on line 3, column 7:\n",
            "NameError: no mix in /c.less on line 1, column 2:\n",
        ),
        (
            "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n\nFound 1 error.\n",
            "b.py:6:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
        ),
        (
            "⧗   input: first\n✖   subject may not be empty\n\n✖   found 1 problems, 0 warnings\n",
            "⧗   input: second\n✖   subject may not be empty\n\n✖   found 1 problems, 0 warnings\n",
        ),
        (
            "a.xml:3: parser error : no end tag\nTraceback (most recent call last):\n"
            "subprocess.CalledProcessError: Command '['./check']' returned non-zero exit status 1.\n",
            "b.xml:9: parser error : no end tag\n",
        ),
        (
            "AH00526: Syntax error on line 3 of /srv/a.conf:\nInvalid command 'RewriteEngin', perhaps misspelled\n",
            "AH00526: Syntax error on line 9 of /srv/b.conf:\nInvalid command 'RewriteEngin', perhaps misspelled\n",
        ),
        ("[emerg] no end, expecting '}' in /srv/a.conf:12", "[emerg] no end, expecting '}' in /srv/b.conf:3"),
        (
            "[ ERROR ] Error in file '/srv/a.robot' on line 2: Importing library 'Shop' failed: no module\n",
            "[ ERROR ] Error in file '/srv/b.robot' on line 7: Importing library 'Shop' failed: no module\n",
        ),
        ("bad option at line 3 of /srv/a.conf", "bad option at line 9 of /srv/b.conf"),
        ('"a.gp" line 2: undefined function: sinn', '"b.gp" line 7: undefined function: sinn'),
        ("error: a.conf:2 unknown option 'rotat'", "error: b.conf:9 unknown option 'rotat'"),
        (
            "ERROR: /srv/a.py Imports are not in the right order.",
            "ERROR: /srv/b.py Imports are not in the right order.",
        ),
        ("error: illegal id ';' (/srv/a.proto, line 2)", "error: illegal id ';' (/srv/b.proto, line 9)"),
        ("Error: (a.njk) [Line 2, Column 1] no tag: blok", "Error: (b.njk) [Line 9, Column 4] no tag: blok"),
        ("Error in load(3) : object 'totl' not found\n", "Error in fetch(7) : object 'totl' not found\n"),
        (
            "Errors were found.\n  a.json::$.plan: 'gold' is not one of ['free']\n",
            "Errors were found.\n  b.json::$.plan: 'gold' is not one of ['free']\n",
        ),
        (
            "\n  × Failed to parse a.json.\n  ╰─▶   × Found an unknown key `taks`.\n   ╭─[a.json:1:2]\n   ╰────\n",
            "\n  x Failed to parse a.json.\n  `->   x Found an unknown key `taks`.\n   ,-[a.json:7:2]\n   `----\n",
        ),
        (
            "Could not find gem 'rack'\nTraceback (most recent call last):\n"
            "subprocess.CalledProcessError: Command '['./check']' returned non-zero exit status 7.\n",
            "Could not find gem 'rack'\n",
        ),
        ("\n> core@2.1.0 check\n> ./check\n\nWRONGTYPE a key of another kind", "WRONGTYPE a key of another kind"),
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
        ('exec user process caused "exec format error"', "exec user process caused: exec format error"),
        ("Error: INSTALLATION FAILED: cannot re-use a name", "Error: cannot re-use a name"),
        (
            'pg-1 | 2026-10-23 23:04:26.406 UTC [88] ann@shop FATAL:  password authentication failed for user "ann"\n'
            "pg-1 | 2026-10-23 23:04:26.406 UTC [88] ann@shop DETAIL:  Connection matched line 100\n",
            'psql: FATAL:  password authentication failed for user "bob"',
        ),
        ("main.go:3:2: undefined: total", "vet: ./cmd/main.go:41:9: undefined: total"),
        ("app.py:3:0: E0602: Undefined variable 'total'", "a/b.py:17:4: E0602: Undefined variable 'total'"),
        ('psql:a.sql:3: ERROR:  relation "orders" is missing', 'ERROR:  relation "orders" is missing'),
        (
            "Parse error near line 3: no such column: total",
            "CREATE\nParse error near line 9: no such column: total",
        ),
        ("deploy.sh: line 3: REGION: unbound variable", "+ set -u\n/ci/run.sh: line 41: REGION: unbound variable"),
        ("Makefile:3: *** missing separator.  Stop.", "Makefile:9: *** missing separator (did you mean TAB?).  Stop."),
        ("make: *** No rule to make target 'a.h', needed by 'x'.  Stop.", "make: *** No rule to make target 'a.h'."),
        (
            "cannot open a.ini: No such file at a.pl line 3.",
            "cannot open a.ini: No such file",
        ),
        (
            "run.<locals>.Client.__init__() got an unexpected keyword argument 'proxies'",
            "Client.__init__() got an unexpected keyword argument 'proxies'",
        ),
        (
            "error[E0382]: use of moved value: `a`\n --> a.rs:1:2\n\nwarning: unused variable: `b`\n --> a.rs:3:1\n",
            "error[E0382]: use of moved value: `a`\n --> b.rs:7:1\n\nnote: declared here\n --> b.rs:1:1\n",
        ),
        (
            "error: could not find `Cargo.toml` in `/srv/shop` or any parent directory",
            "error: could not find `Cargo.toml` in `/home/ann/mall` or any parent directory",
        ),
        (
            '  + Exception Group Traceback (most recent call last):\n  |   File "a.py", line 3, in <module>\n'
            "  | ExceptionGroup: unhandled errors (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
            '    | Traceback (most recent call last):\n    |   File "a.py", line 1, in one\n'
            "    | ValueError: no plan called gold\n    +------------------------------------\n",
            "ValueError: no plan called gold",
        ),
        (
            "/usr/bin/ld: /tmp/ccWRRovh.o:(.data+0x0): multiple definition of `rate'; /tmp/cc1.o:(.data+0x0): seen",
            "/usr/bin/ld: /tmp/ccX9pZkq.o:(.data+0x4): multiple definition of `rate'; /tmp/cc7.o:(.data+0x8): seen",
        ),
    ],
)
def test_wrappers_and_places_do_not_count(one: str, other: str) -> None:
    assert signature("error", one) == signature("error", other)


@in_one_test(
    "prefix",
    [
        "@acme/web:build: ",
        "[1] ",
        "[pod/api-7d9c5b6f4-x2lqp/api] ",
        "14:02:11 job.1    | ",
        "Nov 28 08:14:03 build7 runner[4711]: ",
        "2026-11-28T03:15:01.1234567Z ",
        "2026-11-28T03:15:01.1234567Z [1] ",
        "test (3.12)\tRun checks\t2026-11-28T03:15:01.1234567Z ",
        "@acme/core: ",
        "packages/core check: ",
    ],
)
@in_one_test("output", ["fatal: not a git repository", "Traceback:\n  File \"a\", line 1\nKeyError: 'a'"])
def test_what_a_log_puts_before_each_line_does_not_count(prefix: str, output: str) -> None:
    logged = "".join(f"{prefix}{line}\n" for line in output.splitlines())
    assert signature("error", f"Exit code 1\n{logged}") == signature("error", output)


@in_one_test(
    "report",
    [
        "Failed tasks:\n\n- core:check\n",
        " NX   Running target check for project core failed\n",
        "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  core@1.0.0 check: `./run`\nExit status 1\n",
        "ERROR: Job failed: exit code 1\n",
        "check: exit 1 (0.06 seconds) /srv/shop> ./check pid=127\n  check: FAIL code 1 (1.2 seconds)\n"
        "  evaluation failed :( (1.4 seconds)\n",
        "error: recipe `check` failed on line 2 with exit code 1\n",
        "nox > Command ./check failed with exit code 1\nnox > Session check failed.\n",
        'ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 1\n',
    ],
)
def test_a_runners_report_of_a_failure_is_not_the_error(report: str) -> None:
    outputs = (f"No plan is called {name}\n{report}" for name in ("gold", "silver"))
    assert len({signature("error", output) for output in outputs}) == 2


@in_one_test(
    ("one", "other"),
    [
        (NPM.format(app="shop", peer='react@"^18"'), NPM.format(app="shop", peer='vue@"^2"')),
        (GRADLE.format(task="app:compileJava", release=17), GRADLE.format(task="app:compileJava", release=21)),
        (RUSTC.format(file="lib.rs", wanted="String"), RUSTC.format(file="lib.rs", wanted="u64")),
        (
            PUSH.format(host="github.com", branch="main", reason="fetch first"),
            PUSH.format(host="github.com", branch="main", reason="already exists"),
        ),
        (CARGO.format(folder="/a", cause="no targets"), CARGO.format(folder="/a", cause="a feature is required")),
        (FEATURE.format(app="shop", feature="fulll"), FEATURE.format(app="shop", feature="rtt")),
        (PLUGIN.format(plugin="a.b", more=""), PLUGIN.format(plugin="a.c", more="")),
        (PANIC.format(place="2:16"), PANIC.format(place="9:7")),
        ("--- FAIL: TestTotal\n    cart_test.go:3: got 6\n", "--- FAIL: TestDiscount\n    cart_test.go:3: got 6\n"),
        (
            "Error: Failed to query available provider packages\n\nNo provider is called acme/null.\n",
            "Error: Failed to query available provider packages\n\nCould not connect to the server.\n",
        ),
        (
            "ImportError: liba.so: cannot open shared object file: No such file or directory",
            "ImportError: libb.so: cannot open shared object file: No such file or directory",
        ),
        ("could not connect to db.example.com:5432", "could not connect to api.example.com:5432"),
        ("cat: a.txt: No such file or directory", "cat: b.txt: No such file or directory"),
        ("error: CMake 3.20 is required", "error: CMake 3.13 is required"),
        ("error NETSDK1045: no support for targeting .NET 9.0", "error NETSDK1045: no support for targeting .NET 7.0"),
    ],
)
def test_what_names_the_cause_counts(one: str, other: str) -> None:
    assert signature("error", one) != signature("error", other)


@in_one_test(
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
