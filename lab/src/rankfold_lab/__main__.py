"""The commands as ``python -m rankfold_lab``, where scripts are not on the path."""

from rankfold_lab.cli import app

if __name__ == "__main__":
    app(prog_name="rankfold-lab")
