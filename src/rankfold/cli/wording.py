"""Errors of the rooms below, in the words of a terminal.

The functions behind the commands know nothing of flags: their errors name options in words, or as
arguments of Python. A person at a terminal needs the flag instead: "skip bad pictures" becomes
``--skip-bad``, and ``overwrite=True`` becomes ``--overwrite``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

# What rankfold.io says of its options, and how it is typed. A folder may be called "frames" or
# "key" as well, so every pattern has enough around such a word to be sure.
PHRASES = (
    (r"^(frames|select|stride|key)(?= has no meaning for )", r"--\1"),
    (r"^frames(?= \S+ (is not a range|selects nothing))", "--frames"),
    (r"^stride(?= \S+ must be at least)", "--stride"),
    (r"^select(?= \S+ does not fit)", "--select"),
    (r"(?<=; use )frames(?= \d)", "--frames"),
    (r"(?<=as in )select(?= )", "--select"),
    (r"by its key(?=:)", "with --key"),
    (r"use the format (?=\w)", "use --format "),
    (r"(?<=raise )memory_limit", "--max-memory"),
    (r"(?<=folder with )scratch=", "--scratch"),
    (r"skip bad pictures", "leave it out with --skip-bad"),
    (r"read all of them in grey", "use --grey"),
)
# Arguments whose option has another name.
RENAMED = {
    "n_neighbors": "neighbors",
    "n_jobs": "jobs",
    "reference": "frame_of",
    "memory_limit": "max_memory",
}

# A word, "=", and a literal: True, a number, a text in quotes or a tuple. What follows must end it,
# so that a file called frame=3.png is left alone.
ARGUMENT = re.compile(
    r"""(?<![\w./-])                                    # the start of a word
        (?P<name>[a-z]\w*)=
        (?P<value>True|False|\d+|'[^']*'|"[^"]*"|\([^()]*\))
        (?=[\s;,:)]|\.?$|\.\s)                          # the end of a word
    """,
    re.VERBOSE,
)


def at_a_terminal(text: str, flags: Mapping[str, str]) -> str:
    """Write the options that an error names as the flags of a command.

    Parameters
    ----------
    text : str
        The sentence of an error.
    flags : mapping
        For every option of the command its name in Python and its flag.

    Returns
    -------
    str
        What the command has no flag for stays as it is.
    """

    def as_flag(found: re.Match[str]) -> str:
        name = RENAMED.get(found["name"], found["name"])
        if name not in flags:
            return found[0]
        try:
            value = ast.literal_eval(found["value"])
        except (ValueError, SyntaxError):
            # Not an option but the name of a file that looks like one.
            return found[0]
        return _with_value(flags[name], value)

    for phrase, typed in PHRASES:
        text = re.sub(phrase, typed, text)
    return ARGUMENT.sub(as_flag, text)


def flags_of(parameters: Iterable[Any]) -> dict[str, str]:
    """Name the flags of a command by their names in Python.

    Parameters
    ----------
    parameters : iterable of click.Parameter
        As ``ctx.command.params`` has them.

    Returns
    -------
    dict
        ``{"skip_bad": "--skip-bad", ...}``, the long spelling of each; arguments have none.
    """
    options = [one for one in parameters if one.param_type_name == "option"]
    return {str(option.name): max(option.opts, key=len) for option in options}


def _with_value(flag: str, value: object) -> str:
    """Write a flag and its value as they are typed."""
    if value is True:
        return flag
    if value is False:
        return flag.replace("--", "--no-", 1)
    if not isinstance(value, tuple):
        return f"{flag} {value}"
    if all(isinstance(part, int) for part in value):
        # A size: (45, 42) is typed as 45x42.
        return f"{flag} {'x'.join(str(part) for part in value)}"
    return " ".join(f"{flag} {part}" for part in value)
