"""What holds for all tests, those of the lab too, and on a machine that is busy with other work."""

import signal
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, however long the first one takes to compile.
settings.register_profile(
    "rankfold",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rankfold")


def pytest_configure():
    """Heed Ctrl-C: whoever starts the tests in the background may ignore it, and they would too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Begin with the same random numbers, whichever tests ran before this one in its process."""
    for module in (item.module, sys.modules.get("unit.io.samples")):
        if isinstance(generator := getattr(module, "RNG", None), np.random.Generator):
            generator.bit_generator.state = np.random.default_rng(0).bit_generator.state
