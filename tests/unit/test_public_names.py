"""The package gets its names when they are asked for, and seems to have had them all the time."""

import ast
import copy
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest

import rankfold as rf


def in_a_process(code):
    """Run code in a new process; what it prints."""
    return subprocess.check_output([sys.executable, "-c", code], text=True, timeout=120)


def test_importing_it_imports_nothing_that_takes_time():
    code = (
        "import rankfold.__main__, sys; print([n for n in ('numpy', 'rich') if n in sys.modules])"
    )
    assert in_a_process(code) == "[]\n"


def test_type_checkers_see_the_names_where_they_are_at_run_time():
    tree = ast.parse(Path(rf.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {node.module: tuple(one.name for one in node.names) for node in block.body}
    assert seen == rf._HOMES
    assert set(rf.__all__) == {*rf._HOME_OF, "__version__"}


@pytest.mark.parametrize("name", rf.__all__)
def test_every_name_is_there_and_listed(name):
    assert getattr(rf, name) is not None
    assert name in dir(rf)


def test_a_name_that_there_is_not():
    with pytest.raises(AttributeError, match="no attribute 'aline'"):
        rf.aline  # noqa: B018


@pytest.mark.parametrize("first", ["rankfold.align", "rankfold.align.api", "rankfold.cli"])
def test_align_is_the_function_whatever_was_imported_before(first):
    code = (
        f"import {first}, rankfold; from rankfold.align.api import align\n"
        "print(rankfold.align is align)"
    )
    assert in_a_process(code) == "True\n"


def test_the_room_of_that_name_is_found_all_the_same():
    assert importlib.import_module("rankfold.align").align is rf.align


def test_many_threads_may_ask_at_once():
    code = (
        "import rankfold as rf; from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "names = [name for name in rf.__all__ for _ in range(2)]\n"
        "with Pool(8) as pool: print(len(list(pool.map(lambda name: getattr(rf, name), names))))\n"
    )
    assert in_a_process(code) == f"{2 * len(rf.__all__)}\n"


@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_it_can_be_sent_to_another_process(module):
    """As a function of a notebook is that calls it: Dask could not send one."""
    assert module.loads(module.dumps(rf)) is rf
    assert copy.deepcopy(rf) is rf


def test_it_can_be_loaded_again():
    code = "import importlib, rankfold as rf; rf.load; importlib.reload(rf); rf.align; rf.load"
    assert in_a_process(code) == ""


def test_a_name_can_be_replaced(monkeypatch):
    monkeypatch.setattr(rf, "align", "another")
    assert rf.align == "another"


@pytest.mark.skipif(
    "RANKFOLD_INSTALLED" not in os.environ, reason="only `make test-wheel` tests what is installed"
)
@pytest.mark.parametrize("name", ["rankfold", "rankfold_lab"])
def test_what_is_tested_is_what_was_installed(name):
    """Not the checkout, in which there are files that a wheel may lack."""
    place = Path(importlib.import_module(name).__file__)
    assert "site-packages" in place.parts
    assert (place.parent / "py.typed").is_file()
