"""``python -m rankfold.cli``."""

from rankfold.cli import app

app()
