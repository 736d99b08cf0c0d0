"""``python -m rankfold.cli``."""

from rankfold.__main__ import main

main()
