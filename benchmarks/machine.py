"""What the figures were measured on: enough to judge them, nothing that names the machine or its user."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks.harness import WORKSHOP
from satchel import __version__
from satchel.base.paths import filesystem_kind

_GIB = 1024**3


def facts() -> dict[str, str]:
    """Return the facts by name, in the order to show them."""
    import apsw

    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "Satchel": __version__,
        "cores": f"{os.cpu_count()} ({_processor()})",
        "memory": f"{_memory_bytes() / _GIB:.0f} GiB",
        "disk": filesystem_kind(WORKSHOP) or "unknown file system",
        "OS": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})",
        "load at the start": load,
    }


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
