"""Exports of packages and regular expressions, made on first use."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # keeps typing out of the start
if TYPE_CHECKING:
    import re
    from collections.abc import Callable


def exported(package: str, *modules: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package, whose ``__all__`` lists the exports.

    The modules are loaded in the given order until one has the name, so the lightest comes first.
    """

    def load(name: str) -> object:
        if name in sys.modules[package].__all__:
            for module in modules:
                home = __import__(f"{package}.{module}", fromlist=[name])
                if hasattr(home, name):
                    value = vars(home)[name]
                    setattr(sys.modules[package], name, value)
                    return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load


def lazy_regex(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that compiles a regular expression at its first call."""
    import re
    from functools import cache

    return cache(lambda: re.compile(pattern, flags))
