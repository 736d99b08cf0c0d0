"""Where the real data are: in the folder that the environment variable RANKFOLD_DATA names.

Tests that need them are skipped, with the reason, where it is not set or a part is missing.
"""

import os
from pathlib import Path

import pytest

_named = os.environ.get("RANKFOLD_DATA")
# Without the variable: a path that does not exist, so that whatever is looked for is missing.
DATA = Path(_named).resolve() if _named else Path("/nowhere (RANKFOLD_DATA is not set)")

# The figures that the published RASL code gives on its own sets.
REFERENCE = DATA.parent / "reference" / "rasl_toolbox.json"


def needs(*names):
    """Mark a test that reads these files or folders of the data."""
    missing = [name for name in names if not (DATA / name).exists()]
    reason = f"needs {', '.join(missing)} in {DATA}; set RANKFOLD_DATA to the folder of the data"
    return pytest.mark.skipif(bool(missing), reason=reason)
