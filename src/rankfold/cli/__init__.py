"""Commands: each a few lines over the public API."""

from rankfold.cli import demo, folders, running, tables, warmup  # each adds its commands
from rankfold.cli.app import app

__all__ = ["app", "demo", "folders", "running", "tables", "warmup"]
