"""The commands as ``python -m rankfold``, where the scripts of an environment are not on the path."""

from rankfold.cli import app

if __name__ == "__main__":
    app(prog_name="rankfold")
