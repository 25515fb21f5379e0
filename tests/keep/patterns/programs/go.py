# ruff: noqa: E501 -- programs print lines as long as they like
"""What Go programs print when something fails, after Go 1.22."""

from __future__ import annotations

from keep.patterns.programs.printed import Output

OUTPUTS = (
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
)
