# ruff: noqa: E501 -- programs print lines as long as they like
"""What Rust programs print when something fails, after rustc 1.80."""

from __future__ import annotations

from keep.patterns.programs.printed import Output

OUTPUTS = (
    Output(
        "Rust",
        "E0308",
        """error[‹E0308|E0277|E0599›]: ‹mismatched types|trait bound not satisfied›
  --> src/cart.rs:⟨line⟩:⟨column⟩
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
        """thread 'main' panicked at src/main.rs:⟨line⟩:14:
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
        "thread 'tokio-runtime-worker' panicked at ⟨root⟩/src/pool.rs:⟨line⟩:22:\nindex out of bounds: the len is ⟨small⟩ but the index is ⟨small⟩ in `‹jobs|slots|queue›`",
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
