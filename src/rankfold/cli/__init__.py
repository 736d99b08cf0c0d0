"""Commands: each a few lines over the public API."""

from rankfold.cli import (  # each adds its commands
    cleaning,
    demo,
    folders,
    making,
    many,
    running,
    tables,
    warmup,
)
from rankfold.cli.app import app

__all__ = ["app", "cleaning", "demo", "folders", "making", "many", "running", "tables", "warmup"]
