"""What libraries say on their own, kept from flooding a terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Decoders warn of what they meet in a file. Whether a file can be used is said by rankfold.io.
MODULES = ("PIL", "av", "imagecodecs", "numpy", "tifffile")
# These write to a logger, which prints where nobody has set up logging.
LOGGERS = ("matplotlib", "tifffile")


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep the warnings of libraries to themselves for the duration of the block."""
    with quiet_loggers(), warnings.catch_warnings():
        for module in MODULES:
            warnings.filterwarnings("ignore", module=rf"{module}(\.|$)")
        yield


@contextmanager
def quiet_loggers() -> Iterator[None]:
    """Keep what libraries log from being printed; who has set up logging still gets it."""
    handler = logging.NullHandler()
    for name in LOGGERS:
        logging.getLogger(name).addHandler(handler)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(handler)
