"""What an output says went wrong is read without what is printed around it."""

from __future__ import annotations

from satchel.keep.patterns import signature
from satchel.keep.patterns.saying import plain_type, read
from tables import in_one_test


@in_one_test(
    ("given", "plain"),
    [
        ("requests.exceptions.ConnectionError", "ConnectionError"),
        ("java.lang.NullPointerException", "NullPointerException"),
        ("std::out_of_range", "out_of_range"),
        ("error TS2322", "TS2322"),
        ("error[E0308]", "E0308"),
        ("ORA-00942", "ORA-00942"),
        ("FATAL ERROR", ""),
        ("panic", ""),
        ("KeyError", "KeyError"),
    ],
)
def test_a_type_is_unqualified(given: str, plain: str) -> None:
    assert plain_type(given) == plain


def test_a_type_that_is_only_given_is_the_one_that_the_output_prints() -> None:
    one = signature("ConnectionError", "requests.exceptions.ConnectionError: the pool is closed")
    assert one == signature("requests.exceptions.ConnectionError", "the pool is closed")
    assert one != signature("TimeoutError", "the pool is closed")


@in_one_test(
    "output",
    [
        "ann@host:~/app$ python main.py\nValueError: no such plan: gold\nann@host:~/app$",
        "C:\\app> python main.py\nValueError: no such plan: gold\n\nProcess finished with exit code 1",
        ">>> plans['gold']\nTraceback (most recent call last):\n"
        '  File "<stdin>", line 1, in <module>\nValueError: no such plan: gold',
        '  File "/srv/a.py", line 3, in run\nraise ValueError(text)\nValueError: no such plan: gold',
        "2024-05-01 10:00:00,123 ERROR app.plans - ValueError: no such plan: gold",
        "2024-05-01 10:00:00,123 - app.plans - ERROR - ValueError: no such plan: gold",
        "2024-05-01 10:00:00 INFO app.main - starting\nValueError: no such plan: gold",
        "\x1b[31mValueError\x1b[0m: no such plan: gold",
        "> Traceback (most recent call last):\n> ValueError: no such plan: gold",
        "Loading plans...\nUsing the cache of yesterday\nValueError: no such plan: gold",
        "    def test_plan():\n>       plan('gold')\nE       ValueError: no such plan: gold\n\n"
        "test_plans.py:4: ValueError\n=== short test summary info ===\nFAILED test_plans.py::test_plan - ValueError",
        "ValueError: no such plan: gold\nmake: *** [Makefile:12: run] Error 1",
    ],
)
def test_what_stands_around_an_error_does_not_count(output: str) -> None:
    assert read(output.replace("\x1b[31m", "").replace("\x1b[0m", "")).message == "no such plan: gold"
    assert signature("ValueError", output) == signature("ValueError", "no such plan: gold")


def test_of_npm_the_error_remains() -> None:
    said = (
        "npm ERR! code EACCES\nnpm ERR! syscall mkdir\nnpm ERR! path /srv/lib/left-pad\nnpm ERR! errno -13\n"
        "npm ERR! Error: EACCES: permission denied, mkdir '/srv/lib/left-pad'\nnpm ERR! The operation was rejected\n\n"
        "npm ERR! A complete log of this run can be found in:\nnpm ERR!     /home/dev/.npm/_logs/2024-05-01T10_00.log"
    )
    other = said.replace("npm ERR!", "npm error").replace("/srv/lib/", "/usr/lib/")
    assert signature("EACCES", said) == signature("EACCES", other)
    assert signature("EACCES", said) != signature("EACCES", said.replace("left-pad", "right-pad"))


def test_lines_of_npm_about_the_machine_do_not_count() -> None:
    bare = "npm ERR! missing script: build"
    assert signature("Error", f"npm ERR! node v18.1.0\nnpm ERR! cwd /srv/shop\n{bare}") == signature("Error", bare)


def test_where_a_script_of_a_package_failed_the_script_says_why() -> None:
    bare = "Error: no such plan: gold\n    at run (/srv/app.js:1:2)"
    tail = (
        "\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! shop@1.0.0 start: `node app.js`\nnpm ERR! Exit status 1"
    )
    assert signature("Error", bare + tail) == signature("Error", bare)


def test_the_innermost_cause_is_kept_unless_it_repeats_the_error() -> None:
    said = read(
        "com.shop.StartError: cannot start\n\tat com.shop.Main.main(Main.java:3)\n"
        "Caused by: java.io.IOException: disk is full\n\tat java.base/java.io.Writer.write(Writer.java:9)\n\t... 3 more"
    )
    assert (said.error_type, said.message) == ("IOException", "disk is full")
    said = read(
        "java.lang.NoClassDefFoundError: com/shop/Cart\n"
        "Caused by: java.lang.ClassNotFoundException: com.shop.Cart\n\t... 1 more"
    )
    assert (said.error_type, said.message) == ("NoClassDefFoundError", "com/shop/Cart")


def test_of_exceptions_of_python_the_one_raised_last_counts_with_its_cause() -> None:
    during = "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nOSError: gone"
    frame = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    assert read(frame + during).message == "gone"
    caused = during.replace("During handling of the above exception, another exception occurred", _CAUSED)
    assert read(frame + caused).message == "gone\n'a'"


_CAUSED = "The above exception was the direct cause of the following exception"


def test_of_several_errors_of_a_compiler_the_first_counts() -> None:
    first = "error[E0425]: cannot find value `plan`\n --> src/cart.rs:3:5\n  |\n3 |     plan\n  |     ^^^^ not found\n"
    rest = "\nerror: aborting due to 1 previous error\n\nFor more information about this error, try it."
    other = "\nerror: could not compile `shop` (lib) due to 1 previous error\nwarning: build failed, waiting"
    assert signature("E0425", first + rest) == signature("error[E0425]", "   Compiling shop v0.1.0\n" + first + other)
    assert signature("E0425", first) == signature("E0425", first.replace("cart.rs", "plan.rs"))


def test_what_is_missing_elsewhere_is_the_same_wherever_it_was_asked_for() -> None:
    one = signature(
        "fatal error", "a/b.c:4:10: fatal error: zlib.h: No such file or directory\n #include <zlib.h>\n ^~~~"
    )
    assert one == signature("fatal error", "src/main.c:1:10: fatal error: zlib.h: No such file or directory")
    assert one != signature("fatal error", "src/main.c:1:10: fatal error: zstd.h: No such file or directory")


def test_what_a_refusal_says_before_git_ends_counts() -> None:
    told = "\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights"
    assert signature("fatal", "Permission denied (publickey)." + told) == signature(
        "fatal", "$ git fetch\ngit@example.org: Permission denied (publickey)." + told
    )
    assert signature("fatal", "Permission denied (publickey)." + told) != signature(
        "fatal", "Host key verification failed." + told
    )


@in_one_test(
    "said", ["bash: foo: command not found", "zsh: command not found: foo", "./run.sh: line 12: foo: command not found"]
)
def test_every_shell_says_alike_that_a_command_is_not_there(said: str) -> None:
    assert signature("shell", said) == signature("shell", "sh: 1: foo: not found")


@in_one_test(
    ("one", "other"),
    [
        ("listen EADDRINUSE: address already in use :::3000", "listen EADDRINUSE :::5000"),
        ("watch /srv/a.js ENOSPC", "watch ENOSPC"),
        ("no such plan. Please try another one", "no such plan"),
        ("dir=/srv/app/data is missing", "dir=/home/bob/data is missing"),
        ("no host='db.example.org' here", "no host='localhost' here"),
        ("worker worker worker died", "worker died"),
        ("cannot find package 'left-pad@1.2.3'", "cannot find package 'left-pad@^2.0'"),
        ('Get "https://example.org/v2/": x509 is unknown', "Get https://example.org/v2/: x509 is unknown"),
        ("offset -5 is bad", "offset 17 is bad"),
    ],
)
def test_what_tells_no_errors_apart_is_left_out(one: str, other: str) -> None:
    assert signature("Error", one) == signature("Error", other)


@in_one_test(
    ("one", "other"),
    [
        (
            "./player: error while loading shared libraries: libz.so.1: cannot open shared object file",
            "/opt/tools/viewer: error while loading shared libraries: libz.so.1: cannot open shared object file",
        ),
        (
            'cgo: exec clang: exec: "clang": executable file not found in %PATH%',
            'exec: "clang": executable file not found in $PATH',
        ),
        (
            "src/a.c:3:10: fatal error: zip/zlib.h: No such file or directory",
            "lib/b.c:7:10: fatal error: zip/zlib.h: kein solches Verzeichnis\n    7 | #include <zip/zlib.h>",
        ),
        (
            "a/plan.go:9:2: package cmp is not in GOROOT (/usr/local/go/src/cmp)\nexit code: 1",
            "example.com/app imports\n        cmp: package cmp is not in GOROOT (/opt/go/src/cmp)",
        ),
        (
            "ImportError: cannot import name 'plan' from 'shop' (/srv/app/shop/__init__.py)",
            "ImportError: cannot import name 'plan' from 'shop'",
        ),
        (
            "error: linker `lld` not found\n  |\n  = note: No such file or directory (os error 2)",
            "error: linker `lld` not found\n  |\n  = note: program not found\n\nnote: install it",
        ),
        (
            "error: failed to load `/a/Cargo.toml`\n\nCaused by:\n  no key `plan`\n\n  Newer releases know it.\nbye",
            "error: failed to load `/b/Cargo.toml`\n\nCaused by:\n  no key `plan`",
        ),
        (
            "java.io.IOException: org.shop.net.PlanException: no plan for gold",
            "org.shop.net.PlanException: no plan for gold",
        ),
        (
            "[ERROR] Failed to execute goal org.shop:plan-plugin:1.2:run (default) on project one: no plan -> [Help 1]",
            "Failed to execute goal org.shop:plan-plugin:3.0:run (default) on project two: no plan",
        ),
        ("#12 0.214 ValueError: no plan", "| ValueError: no plan"),
        (
            "ERROR in ./a/index.js 1:2-3\nModule not found: Error: Can't resolve 'plans' in '/srv/app/a'",
            "Module not found: Error: Can't resolve 'plans' in 'C:\\\\work\\\\shop'",
        ),
        (
            "ValueError: the plan gold is not one of silver\n[end of output]\nanother line",
            "  ValueError: the plan gold is not one of silver\n  Done.",
        ),
        (
            "go: example.com/a@latest (in example.com/a@v1.2.3): go.mod:3: unknown directive: plan",
            "/srv/app/go.mod:5: unknown directive: plan",
        ),
    ],
)
def test_who_asked_and_how_it_is_put_do_not_count(one: str, other: str) -> None:
    assert signature("error", one) == signature("error", other)


@in_one_test(
    ("one", "other"),
    [
        (
            "./a: error while loading shared libraries: libz.so.1: cannot open shared object file",
            "./a: error while loading shared libraries: libz.so.2: cannot open shared object file",
        ),
        ("a.c:3:10: fatal error: zip/plan.h: No such file", "a.c:3:10: fatal error: net/plan.h: No such file"),
        ("CMake 3.10 or higher is required", "CMake 3.20 or higher is required"),
        ("error: feature `edition2021` is required", "error: feature `edition2024` is required"),
        ("go: go.mod requires go >= 1.21", "go: go.mod requires go >= 1.23"),
        ("Fatal error compiling: invalid target release: 11", "Fatal error compiling: invalid target release: 17"),
        ("Error: Can't resolve './plan' in '/srv/app/gold'", "Error: Can't resolve './plan' in '/srv/app/silver'"),
        ("ValueError: these are errors of a plan\nno gold", "ValueError: these are errors of a plan\nno silver"),
        ("ValueError: this plan is no use at all\n  no gold", "ValueError: this plan is no use at all\n  no tin"),
        ("saving the plan of one\nerror: command failed", "sending mail to another\nerror: command failed"),
    ],
)
def test_what_is_demanded_or_missing_counts(one: str, other: str) -> None:
    assert signature("error", one) != signature("error", other)


def test_where_a_framework_says_the_same_of_any_code_the_frame_counts() -> None:
    said = "org.orm.LazyInitializationException: could not initialize proxy - no Session\n\tat org.shop.{}({}.java:4)"
    one = signature("LazyInitializationException", said.format("Plan.read", "Plan"))
    assert one != signature("LazyInitializationException", said.format("Cart.read", "Cart"))


def test_a_quoted_stack_tells_its_frame() -> None:
    stack = "ReferenceError: plan is not defined\n    at read (/srv/app/plan.js:4:2)"
    quoted = "\n".join(f"> {line}" for line in stack.splitlines())
    assert signature("ReferenceError", quoted) == signature("ReferenceError", stack)
