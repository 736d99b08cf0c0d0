"""Files that are being made: beside their place, under a name of their own, and locked.

A process that is killed leaves such a file, but no lock on it. That tells it from a file that
somebody is writing.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rankfold.interruptions import uninterrupted
from rankfold.locking import held, is_held, remove_unheld

# At the end of the name of a draft, or before the ending of one that is a file.
DRAFT = ".rankfold-draft"

# Between the name and these ends there are eight characters of the system's choice.
RANDOM = "-[a-z0-9_]{8}"

# The groups are the name of the file that is made, and its ending.
DRAFT_FILE = re.compile(rf"\.(.+){RANDOM}{re.escape(DRAFT)}(\.[^.]*)?")


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Give a file to write, which is gone after the block unless it has got another name."""
    _remove_dead(target)
    with ExitStack() as stack:
        # Whatever interrupts this comes when it is known what has to be removed.
        with uninterrupted():
            ending = f"{DRAFT}{target.suffix}"
            handle, name = tempfile.mkstemp(ending, f".{target.stem}-", target.parent)
            draft = Path(name)
            stack.enter_context(held(handle))
            stack.callback(_remove, draft)
        yield draft


def _remove(draft: Path) -> None:
    """Remove a draft; one that cannot be removed is found by its name."""
    with uninterrupted(), suppress(OSError):
        draft.unlink(missing_ok=True)


def is_dead(path: Path) -> bool:
    """Whether something is the draft of a file that nobody writes any more."""
    is_draft = DRAFT_FILE.fullmatch(path.name) is not None
    return is_draft and not path.is_symlink() and path.is_file() and not is_held(path)


def _remove_dead(target: Path) -> None:
    """Remove what killed processes have left that wrote the same file."""
    for path in target.parent.iterdir():
        match = DRAFT_FILE.fullmatch(path.name)
        if match is not None and "".join(match.groups("")) == target.name and is_dead(path):
            remove_unheld(path)
