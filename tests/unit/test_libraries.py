"""What libraries say on their own."""

import logging
import warnings

import pytest

from rankfold.libraries import LOGGERS, quiet_libraries


def warn_from(module):
    warnings.warn_explicit("odd tag", UserWarning, "file.py", 1, module=module)


@pytest.mark.parametrize("module", ["PIL.Image", "tifffile.tifffile", "numpy"])
def test_their_warnings_are_not_shown(module):
    with warnings.catch_warnings(record=True) as shown:
        with quiet_libraries():
            warn_from(module)
        assert shown == []
        # Warnings are errors here, unless somebody asks for something else.
        warnings.simplefilter("always")
        warn_from(module)
        assert len(shown) == 1


@pytest.mark.parametrize("module", ["rankfold.compiled", "mine", "PILES"])
def test_those_of_others_are(module):
    with warnings.catch_warnings(record=True) as shown, quiet_libraries():
        warnings.simplefilter("always")
        warn_from(module)
    assert len(shown) == 1


@pytest.mark.parametrize("name", LOGGERS)
def test_loggers_print_nothing_unless_somebody_listens(name, capfd):
    before = list(logging.getLogger(name).handlers)
    root = logging.getLogger()
    others = list(root.handlers)
    # Without those of the test runner, as in a program that has set up nothing.
    for handler in others:
        root.removeHandler(handler)
    try:
        with quiet_libraries():
            logging.getLogger(name).warning("an odd tag")
            assert capfd.readouterr().err == ""
    finally:
        for handler in others:
            root.addHandler(handler)
    assert logging.getLogger(name).handlers == before


def test_a_program_that_listens_still_hears_them(caplog):
    with quiet_libraries():
        logging.getLogger("tifffile").warning("an odd tag")
    assert "an odd tag" in caplog.text
