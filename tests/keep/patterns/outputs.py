# ruff: noqa: E501 -- programs print lines as long as they like
"""What five languages print when something fails.

In an output ⟨line⟩ is volatile and filled anew each time, ‹requests|numpy› is the one word that says the cause, and
a line that begins with ⋮ belongs to a stack and may be missing or stand twice; so may the lines below it up to the
next one, which begin with ⋯. The outputs are written after those of CPython 3.11-3.13, pytest, Node.js 20, npm, tsc,
Jest, OpenJDK 21, Maven, Go 1.22 and rustc 1.80, and know nothing of how they are masked.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """What a failing program printed: its language, the error's type, and the template of its text."""

    language: str
    error_type: str
    text: str


OUTPUTS = (
    # Python
    Output(
        "Python",
        "ModuleNotFoundError",
        """Traceback (most recent call last):
⋮  File "⟨root⟩/app/main.py", line ⟨line⟩, in <module>
⋯    from app.sync import run
⋮  File "⟨root⟩/app/sync.py", line ⟨line⟩, in <module>
⋯    import_module(name)
ModuleNotFoundError: No module named '‹requests|numpy|foo|yaml|urllib3›'
""",
    ),
    Output("Python", "ModuleNotFoundError", "No module named '‹foo|requests|yaml.cyaml|google.protobuf|h5py›'"),
    Output(
        "Python",
        "AttributeError",
        """Traceback (most recent call last):
⋮  File "⟨root⟩/worker.py", line ⟨line⟩, in run
⋯    result = self.session.close_all()
⋯             ^^^^^^^^^^^^^^^^^^^^^^
‹AttributeError|RuntimeError›: '‹Session|Response|NoneType|Pool›' object has no attribute '‹close_all|items|get|read_many›'
""",
    ),
    Output(
        "Python",
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '⟨root⟩/etc/‹settings.toml|users.csv|schema.json|.env›'",
    ),
    Output(
        "Python",
        "PermissionError",
        "[Errno ‹13|1›] ‹Permission denied|Operation not permitted›: '⟨tmp⟩/‹lock|cache|state›.db'",
    ),
    Output(
        "Python",
        "KeyError",
        """Traceback (most recent call last):
⋮  File "⟨home⟩/.venv/lib/python3.11/site-packages/pandas/core/indexes/base.py", line ⟨line⟩, in get_loc
⋯    return self._engine.get_loc(casted_key)
⋮  File "index.pyx", line ⟨line⟩, in pandas._libs.index.IndexEngine.get_loc
KeyError: '‹customer|price|order_date|sku›'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
⋮  File "⟨root⟩/etl/load.py", line ⟨line⟩, in <module>
⋯    main()
KeyError: 'total'
""",
    ),
    Output(
        "Python",
        "requests.exceptions.ConnectionError",
        "HTTPConnectionPool(host='⟨ip⟩', port=⟨port⟩): Max retries exceeded with url: /v1/‹users|orders|invoices›"
        "?page=⟨small⟩ (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at ⟨address⟩>: Failed to"
        " establish a new connection: [Errno ‹111|113|101›] ‹Connection refused|No route to host|Timed out›'))",
    ),
    Output(
        "Python",
        "sqlalchemy.exc.OperationalError",
        """(psycopg2.OperationalError) connection to server at "⟨ip⟩", port ⟨port⟩ failed: FATAL:  ‹database|role|schema› "‹shop|billing|crm›" does not exist
(Background on this error at: https://sqlalche.me/e/20/e3q8)
""",
    ),
    Output(
        "Python",
        "AssertionError",
        """=================================== FAILURES ===================================
⋮tests/test_cart.py:⟨line⟩: in test_it
⋯    assert cart.total() == expected
E   AssertionError: assert Decimal('⟨small⟩.5') == Decimal('⟨small⟩')
E    +  where Decimal('⟨small⟩.5') = <bound method Cart.‹total|discounted|shipped› of <shop.Cart object at ⟨address⟩>>()
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_it - AssertionError
⟨small⟩ failed, ⟨count⟩ passed in ⟨small⟩.42s
""",
    ),
    Output(
        "Python",
        "SyntaxError",
        """  File "⟨root⟩/jobs/nightly.py", line ⟨line⟩
    def run(self:
           ^
SyntaxError: '‹(|[|{›' was never closed
""",
    ),
    Output(
        "Python",
        "UnicodeDecodeError",
        "'‹utf-8|utf-16|ascii|cp1252›' codec can't decode byte ⟨address⟩ in position ⟨count⟩: invalid start byte",
    ),
    Output(
        "Python",
        "TypeError",
        "⟨iso⟩ ERROR [worker-⟨small⟩] pid=⟨pid⟩ request_id=⟨uuid⟩ ‹create_order|send_mail|pay›() got an unexpected keyword"
        " argument '‹retries|timeout|currency›'",
    ),
    # JavaScript and TypeScript
    Output(
        "JavaScript",
        "TypeError",
        """⟨root⟩/src/cart.js:⟨line⟩
    return items.‹map|filter|reduce›(total);
                 ^

TypeError: Cannot read properties of ‹undefined|null› (reading '‹map|filter|length|id›')
⋮    at sum (⟨root⟩/src/cart.js:⟨line⟩:⟨column⟩)
⋮    at Object.<anonymous> (⟨root⟩/src/index.js:⟨line⟩:⟨column⟩)
⋮    at Module._compile (node:internal/modules/cjs/loader:⟨line⟩:⟨column⟩)
⋮    at async Promise.all (index ⟨small⟩)

Node.js v20.11.⟨small⟩
""",
    ),
    Output(
        "JavaScript",
        "Error",
        """Error: Cannot find module '‹express|lodash|@babel/core|left-pad›'
Require stack:
- ⟨root⟩/server.js
⋮    at Module._resolveFilename (node:internal/modules/cjs/loader:⟨line⟩:⟨column⟩)
⋮    at Module.require (node:internal/modules/cjs/loader:⟨line⟩:⟨column⟩) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '⟨root⟩/server.js' ]
}
""",
    ),
    Output(
        "TypeScript",
        "TS2322",
        "src/‹cart|user|index›.ts(⟨line⟩,⟨column⟩): error ‹TS2322|TS2345|TS2741›: Type '‹string|boolean|Order›' is not assignable to type '‹number|Money|Date›'.",
    ),
    Output(
        "TypeScript",
        "TS2339",
        """⟨root⟩/src/api/client.ts:⟨line⟩:⟨column⟩ - error TS2339: Property '‹token|userId|headers›' does not exist on type '‹Session|Request|{}›'.

⟨line⟩   const found = source.read();
                     ~~~~~~

Found ⟨small⟩ errors in ⟨small⟩ files.
""",
    ),
    Output(
        "JavaScript",
        "Error",
        """Error: connect ‹ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH› ⟨ip⟩:⟨port⟩
⋮    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:⟨line⟩:⟨column⟩) {
  errno: ‹-111|-110|-113›,
  syscall: 'connect',
  address: '⟨ip⟩',
  port: ⟨port⟩
}
""",
    ),
    Output(
        "JavaScript",
        "npm",
        """npm ERR! code ‹E404|ERESOLVE|EACCES›
npm ERR! ‹404 Not Found|401 Unauthorized|403 Forbidden› - GET https://registry.npmjs.org/‹leftpadd|expres|reakt›
npm ERR! A complete log of this run can be found in:
npm ERR!     ⟨home⟩/.npm/_logs/⟨file⟩-debug-0.log
""",
    ),
    Output(
        "JavaScript",
        "JestAssertionError",
        """ FAIL  src/__tests__/cart.test.js (⟨took⟩)
  ● cart › ‹adds|removes|counts› an item

    expect(received).‹toBe|toEqual|toContain›(expected) // Object.is equality

    Expected: ⟨small⟩
    Received: ⟨small⟩

⋮      at Object.<anonymous> (src/__tests__/cart.test.js:⟨line⟩:⟨column⟩)

Tests:       ⟨small⟩ failed, ⟨small⟩ passed, ⟨small⟩ total
Time:        ⟨took⟩
""",
    ),
    Output("JavaScript", "SyntaxError", "Unexpected token '‹<|}|;›' in JSON at position ⟨count⟩"),
    Output(
        "JavaScript",
        "AxiosError",
        """[⟨iso⟩] POST /api/‹orders|payments|users›/⟨uuid⟩ failed after ⟨took⟩: Request failed with status code ‹404|500|503|422›
⋮    at settle (⟨root⟩/node_modules/axios/lib/core/settle.js:⟨line⟩:⟨column⟩)
⋮    at IncomingMessage.handleStreamEnd (file://⟨root⟩/node_modules/axios/lib/adapters/http.js:⟨line⟩:⟨column⟩)
""",
    ),
    Output(
        "JavaScript",
        "ReferenceError",
        """(node:⟨pid⟩) UnhandledPromiseRejectionWarning: ReferenceError: ‹window|fetch|process› is not defined
⋮    at render (webpack:///./src/page.jsx?:⟨line⟩:⟨column⟩)
⋮    at processTicksAndRejections (node:internal/process/task_queues:⟨line⟩:⟨column⟩)
""",
    ),
    # Java
    Output(
        "Java",
        "java.lang.NullPointerException",
        """Exception in thread "http-nio-⟨port⟩-exec-⟨small⟩" java.lang.NullPointerException: Cannot invoke "com.shop.‹Order|Cart|Customer›.‹getTotal|getId|getLines›()" because "<local⟨small⟩>" is null
⋮	at com.shop.billing.Invoices.sum(Invoices.java:⟨line⟩)
⋮	at com.shop.billing.Invoices$$Lambda/⟨address⟩.apply(Unknown Source)
⋮	at java.base/java.util.ArrayList.forEach(ArrayList.java:⟨line⟩)
⋮	at java.base/java.lang.Thread.run(Thread.java:⟨line⟩)
""",
    ),
    Output(
        "Java",
        "org.springframework.beans.factory.BeanCreationException",
        """⟨iso⟩ ERROR ⟨pid⟩ --- [main] o.s.boot.SpringApplication : Application run failed
org.springframework.beans.factory.BeanCreationException: Error creating bean with name '‹orderService|userRepository|mailer›' defined in file [⟨root⟩/target/classes/Config.class]
⋮	at org.springframework.beans.factory.support.AbstractBeanFactory.getBean(AbstractBeanFactory.java:⟨line⟩) ~[spring-beans-6.1.⟨small⟩.jar:6.1.⟨small⟩]
⋮	... ⟨small⟩ common frames omitted
Caused by: java.lang.‹IllegalStateException|IllegalArgumentException|ClassNotFoundException›: ‹pool is closed|no such profile|unknown driver›
⋮	at com.zaxxer.hikari.pool.HikariPool.<init>(HikariPool.java:⟨line⟩)
⋮	... ⟨small⟩ more
""",
    ),
    Output(
        "Java",
        "java.lang.ClassCastException",
        "class ‹java.lang.String|java.lang.Integer|com.shop.Order› cannot be cast to class ‹java.util.List|java.util.Map|com.shop.Cart›"
        " (they are in unnamed module of loader 'app' @⟨identity⟩)",
    ),
    Output(
        "Java",
        "javac",
        """[INFO] Compiling ⟨small⟩ source files to ⟨root⟩/target/classes
[ERROR] ⟨root⟩/src/main/java/com/shop/‹Order|Cart|Invoice›.java:[⟨line⟩,⟨column⟩] cannot find symbol
[ERROR]   symbol:   ‹method|variable|class› ‹getTotal|sumOf|taxes›
[ERROR]   location: class com.shop.billing.Invoices
[INFO] Total time:  ⟨took⟩
[INFO] Finished at: ⟨iso⟩
""",
    ),
    Output(
        "Java",
        "java.lang.OutOfMemoryError",
        "‹Java heap space|GC overhead limit exceeded|Metaspace› (pid ⟨pid⟩, used ⟨size⟩ of ⟨size⟩, dump java_pid⟨pid⟩.hprof)",
    ),
    Output(
        "Java",
        "java.sql.SQLException",
        "ORA-‹00942|01017|12541›: ‹table or view does not exist|invalid credentials|no listener›, session ⟨uuid⟩, ⟨elapsed⟩",
    ),
    Output(
        "Java",
        "java.net.UnknownHostException",
        """⟨clock⟩ [pool-⟨small⟩-thread-⟨small⟩] WARN com.shop.Mailer@⟨identity⟩ - ‹smtp|imap|relay›.example.org: Name or service not known
⋮	at java.base/java.net.Inet6AddressImpl.lookupAllHostAddr(Native Method)
⋮	at com.shop.Mailer.send(Mailer.java:⟨line⟩)
""",
    ),
    # Go
    Output(
        "Go",
        "panic",
        """panic: runtime error: ‹invalid memory address or nil pointer dereference|slice bounds out of range|integer divide by zero›
[signal SIGSEGV: segmentation violation code=0x1 addr=⟨address⟩ pc=⟨address⟩]

goroutine ⟨small⟩ [running]:
⋮main.(*Server).handle(⟨address⟩, {⟨address⟩, ⟨address⟩})
⋯	⟨root⟩/server.go:⟨line⟩ +⟨address⟩
⋮net/http.(*conn).serve(⟨address⟩, {⟨address⟩, ⟨address⟩})
⋯	/usr/local/go/src/net/http/server.go:⟨line⟩ +⟨address⟩
⋮created by main.main in goroutine ⟨small⟩
⋯	⟨root⟩/main.go:⟨line⟩ +⟨address⟩
exit status 2
""",
    ),
    Output(
        "Go",
        "compile",
        "# example.com/shop/billing\n./invoice.go:⟨line⟩:⟨column⟩: undefined: ‹sumLines|Total|taxRate›\n",
    ),
    Output(
        "Go",
        "compile",
        "./cart.go:⟨line⟩:⟨column⟩: cannot use ‹total|rate|name› (variable of type ‹float64|string|int32›) as ‹int|bool|error› value in assignment",
    ),
    Output(
        "Go",
        "module",
        "main.go:⟨line⟩:⟨column⟩: no required module provides package github.com/‹spf13/cobra|gorilla/mux|lib/pq›; to add it:\n\tgo get it",
    ),
    Output(
        "Go",
        "log.Fatal",
        "⟨stamp⟩ main.go:⟨line⟩: listen tcp :⟨port⟩: bind: ‹address already in use|permission denied|cannot assign requested address›",
    ),
    Output(
        "Go",
        "*url.Error",
        '⟨stamp⟩ Get "http://⟨ip⟩:⟨port⟩/‹health|ready|metrics›?trace=⟨hash⟩": ‹context deadline exceeded|EOF|connection reset by peer› after ⟨elapsed⟩',
    ),
    Output(
        "Go",
        "test",
        """=== RUN   Test‹Total|Discount|Shipping›
    cart_test.go:⟨line⟩: total() = ⟨small⟩, want ⟨small⟩
--- FAIL: TestCart (0.⟨small⟩s)
FAIL	example.com/shop/‹cart|order|stock›	0.⟨small⟩s
""",
    ),
    Output(
        "Go",
        "fatal error",
        "fatal error: ‹all goroutines are asleep - deadlock!|concurrent map writes|stack overflow›\n\ngoroutine ⟨small⟩ [chan receive, ⟨small⟩ minutes]:\n⋮main.main()\n⋯\t⟨root⟩/main.go:⟨line⟩ +⟨address⟩\n",
    ),
    # Rust
    Output(
        "Rust",
        "E0308",
        """error[‹E0308|E0277|E0599›]: ‹mismatched types|trait bound not satisfied›
  --> src/‹cart|lib|main›.rs:⟨line⟩:⟨column⟩
   |
⟨line⟩ |     let total: ‹i32|u64|f32› = sum(&lines);
   |                ---   ^^^^^^^^^^^ expected here
   |                |

For more information about this error, try `rustc --explain`.
error: could not compile `shop` (bin "shop") due to ⟨small⟩ previous errors
""",
    ),
    Output(
        "Rust",
        "E0433",
        "error[E0433]: failed to resolve: use of undeclared ‹crate or module|type› `‹serde_json|tokio|regex›`\n --> src/main.rs:⟨line⟩:⟨column⟩",
    ),
    Output(
        "Rust",
        "panic",
        """thread 'main' panicked at src/main.rs:⟨line⟩:⟨column⟩:
called `‹Option|Result›::‹unwrap|expect›()` on a `‹None|Err›` value
⋮stack backtrace:
⋮   0: rust_begin_unwind
⋯             at /rustc/⟨hash⟩/library/std/src/panicking.rs:⟨line⟩:5
⋮   ⟨small⟩: shop::cart::sum
⋯             at ⟨root⟩/src/cart.rs:⟨line⟩:⟨column⟩
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
""",
    ),
    Output(
        "Rust",
        "panic",
        "thread 'tokio-runtime-worker' panicked at ⟨root⟩/src/pool.rs:⟨line⟩:⟨column⟩:\nindex out of bounds: the len is ⟨small⟩ but the index is ⟨small⟩ in `‹jobs|slots|queue›`",
    ),
    Output(
        "Rust",
        "io::Error",
        'Os { code: ‹2|13|17›, kind: ‹NotFound|PermissionDenied|AlreadyExists›, message: "‹no such file|denied|exists›" } opening "⟨tmp⟩/‹index|journal›.bin"',
    ),
    Output(
        "Rust",
        "E0382",
        """error[E0382]: ‹borrow|use› of moved value: `‹lines|cart|config›`
   --> ⟨root⟩/src/cart.rs:⟨line⟩:⟨column⟩
    |
⟨line⟩ |     let owned = given;
    |                 ----- value moved here
⟨line⟩ |     again(given);
    |           ^^^^^ value used here after move
""",
    ),
    Output(
        "Rust",
        "cargo test",
        """running ⟨small⟩ tests
---- cart::tests::‹adds_lines|sums_taxes|rounds_up› stdout ----
thread 'cart::tests::it' panicked at src/cart.rs:⟨line⟩:⟨column⟩:
assertion `‹left == right|left != right›` failed
  left: ⟨count⟩
 right: ⟨count⟩
test result: FAILED. ⟨small⟩ passed; ⟨small⟩ failed; 0 ignored; finished in ⟨took⟩
""",
    ),
    Output(
        "Rust",
        "linker",
        "error: linking with `cc` failed: exit status: ‹1|127›\n  = note: /usr/bin/ld: cannot find -l‹ssl|pq|z›: No such file or directory\n  collect2: ⟨root⟩/target/debug/deps/shop-⟨hash⟩.rcgu.o",
    ),
)
"""What failing programs print; every output has at least one word that says the cause."""
