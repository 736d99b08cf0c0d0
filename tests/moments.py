"""Run a command line, and stand still at one moment until somebody lets it go on.

    python tests/moments.py PLACE write 3 rankfold apply run views -o aligned

The moments are ``import`` (numba is about to be imported) and ``write`` (a file below the working
folder is about to be opened for writing), the so-manieth of them. The process says that it has come
by the file PLACE/here, and goes on when there is PLACE/go. If the moment never comes, PLACE/count
says how many there were.
"""

import importlib
import os
import sys
import time
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR
# Seconds after which nobody is expected to let it go on any more.
LIMIT = 600


class Moments:
    """Counts what happens, and stands still at one of the moments."""

    def __init__(self, place: Path, kind: str, number: int) -> None:
        self._place = place
        self._here = str(Path.cwd())
        self._kind = kind
        self._number = number
        self._own = os.getpid()
        self.count = 0

    def __call__(self, event: str, arguments: tuple) -> None:
        """Look at an event of the interpreter."""
        if os.getpid() != self._own or self._of_event(event, arguments) != self._kind:
            return
        self.count += 1
        if self.count == self._number:
            self._stand_still()

    def _of_event(self, event: str, arguments: tuple) -> str:
        """The kind of moment that an event is."""
        if event == "import" and arguments[0] == "numba":
            return "import"
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & WRITING:
            # Path.resolve would look at the disk, which opens nothing but takes time.
            path = os.path.abspath(arguments[0])  # noqa: PTH100
            if path.startswith(self._here) and not path.startswith(str(self._place)):
                return "write"
        return ""

    def _stand_still(self) -> None:
        """Say so, and wait."""
        (self._place / "here").touch()
        until = time.monotonic() + LIMIT
        while not (self._place / "go").exists() and time.monotonic() < until:
            time.sleep(0.005)


if __name__ == "__main__":
    place, kind, number, program, *words = sys.argv[1:]
    sys.argv[1:] = words
    moments = Moments(Path(place), kind, int(number))
    main = importlib.import_module(f"{program}.__main__").main
    sys.addaudithook(moments)
    try:
        main()
    finally:
        Path(place, "count").write_text(str(moments.count))
