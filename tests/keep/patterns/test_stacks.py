"""Messages that many errors share are told apart by the innermost frame of the project."""

from __future__ import annotations

from satchel.keep.patterns import signature
from satchel.keep.patterns.stacks import innermost_frame
from tables import in_one_test

PYTHON = """Traceback (most recent call last):
  File "/srv/shop/main.py", line 12, in <module>
    run()
  File "/srv/shop/cart.py", line 7, in total
    return json.loads(text)
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
  File "/srv/.venv/lib/python3.11/site-packages/simplejson/decoder.py", line 9, in decode
    raise error
"""


@in_one_test(
    ("stack", "frame"),
    [
        (PYTHON, "cart.py total"),
        (
            "    at node:internal/fs:1:2\n    at total (/srv/node_modules/x/i.js:1:2)\n    at sum (C:\\a\\cart.js:3:4)",
            "cart.js sum",
        ),
        ("    at sum (https://example.org/assets/cart.js:3:4)", "cart.js sum"),
        (
            "\tat java.base/java.util.ArrayList.get(ArrayList.java:1)\n\tat org.springframework.A.b(A.java:2)\n"
            "\tat com.shop.Cart.total(Cart.java:3)",
            "Cart.java Cart.total",
        ),
        (
            "goroutine 1 [running]:\nruntime.throw(0x1)\n\t/usr/local/go/src/runtime/panic.go:6 +0x9\n"
            "main.(*Cart).Total(0xc0)\n\t/app/cart.go:7 +0x1",
            "cart.go (*Cart).Total",
        ),
        ("thread 'main' panicked at src/cart.rs:3:4:\nno", "cart.rs column 4"),
        ("thread 'main' panicked at /home/a/.cargo/registry/src/x-1ecc/cart-1.2.3/src/lib.rs:3:4:\nno", "cart lib.rs"),
        ("#0  0x00007f in total (n=3) at src/cart.c:7", "cart.c total"),
        ("==12==    at 0x4E2A: total (cart.c:7)", "cart.c total"),
        ("no stack at all", ""),
    ],
)
def test_the_innermost_frame_is_the_projects_own(stack: str, frame: str) -> None:
    assert innermost_frame(stack) == frame


def test_without_a_frame_of_the_project_that_of_a_library_counts() -> None:
    lines = PYTHON.splitlines()
    assert innermost_frame("\n".join(lines[5:])) == "decoder.py decode"


@in_one_test(
    "message",
    [
        "'NoneType' object has no attribute 'total'",
        "list index out of range",
        "Cannot read properties of undefined (reading 'total')",
        "panic: assignment to entry in nil map",
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "Segmentation fault (core dumped)",
        "AssertionError",
        "Process completed with exit code 1",
    ],
)
def test_a_message_that_many_errors_share_is_told_apart_by_its_place(message: str) -> None:
    here = signature("Error", message, PYTHON)
    assert here == signature("Error", message, PYTHON.replace("/srv/shop", "C:\\shop").replace("line 7", "line 70"))
    assert here != signature("Error", message, PYTHON.replace("cart.py", "plan.py"))


def test_a_message_that_tells_itself_what_is_wrong_needs_no_place() -> None:
    assert signature("E", "no such plan: gold", PYTHON) == signature("E", "no such plan: gold")
    assert signature("panic", "panic: dial tcp 10.0.0.1:1: connection refused", PYTHON) == signature(
        "panic", "dial tcp 10.0.0.9:2: connection refused"
    )
