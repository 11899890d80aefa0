"""`prazo forward run` as a process, to be killed, frozen or ended."""

import os
import signal
import sys
from pathlib import Path

from tests import fork_server
from tests.support.stores import environment_in


class Forwarder:
    """One process. Several may share an inbox."""

    def __init__(self, folder: Path, inbox: str, file: Path) -> None:
        self.log = folder / f"forwarder-{len(list(folder.glob('forwarder-*')))}.log"
        with self.log.open("wb") as log:
            self._process = fork_server.start(
                [sys.executable, "-m", "pipeline.cli", "forward", "run"],
                env={
                    **os.environ,
                    **environment_in(folder),
                    "PRAZO_INBOX": inbox,
                    "PRAZO_FORWARD_FILE": str(file),
                },
                cwd=folder,
                stderr=log,
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> int:
        self._process.terminate()
        return self._process.wait(60)
