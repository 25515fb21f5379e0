# ruff: noqa: E501 -- programs print lines as long as they like
"""What JavaScript and TypeScript programs print when something fails, after Node.js 20, npm, tsc and Jest."""

from __future__ import annotations

from keep.patterns.programs.printed import Output

OUTPUTS = (
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
        "src/cart.ts(⟨line⟩,⟨column⟩): error ‹TS2322|TS2345|TS2741›: Type '‹string|boolean|Order›' is not assignable to type '‹number|Money|Date›'.",
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
)
