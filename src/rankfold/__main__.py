"""The commands as ``python -m rankfold``, for environments whose scripts are not on the path."""

from rankfold.cli import app

if __name__ == "__main__":
    app(prog_name="rankfold")
