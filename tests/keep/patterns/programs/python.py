# ruff: noqa: E501 -- programs print lines as long as they like
"""What Python programs print when something fails, after CPython 3.11-3.13 and pytest."""

from __future__ import annotations

from keep.patterns.programs.printed import Output

OUTPUTS = (
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
)
