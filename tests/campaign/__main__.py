"""Try to break rankfold in a hundred thousand ways, and count what became of it.

    make campaign
    PYTHONPATH=tests python -m campaign --attempts 2000 --only "damaged files"
    PYTHONPATH=tests python -m campaign --only align --first 4711 --attempts 1

An attempt is bad if it ends with anything but a result or one of rankfold's own sentences, takes
more than ten seconds or 2 GiB, prints a traceback or more than a screen, loses or changes a file
that is not its own, or loads a result that was altered. The same kind and seed do the same again.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import rankfold as rf
from campaign.crew import AT_ONCE, run_crew
from campaign.kinds import TABLE

# Seconds between two lines on how far it is.
SAY = 30


def main():
    """Make the attempts that were asked for; the exit code is 1 if any is bad."""
    arguments = parsed()
    numbers = {kind: numbers_of(kind, arguments) for kind in arguments.only}
    jobs = in_turn(numbers, arguments.first)
    counts = Counts(sum(numbers.values()))
    with tempfile.TemporaryDirectory(prefix="campaign-") as scratch:
        crew = run_crew(jobs, Path(scratch), arguments.jobs, arguments.limit, kept=arguments.keep)
        for outcome in crew:
            counts.take(outcome)
    if arguments.output:
        facts = json.dumps(counts.facts(arguments.first), indent=1)
        Path(arguments.output).write_text(facts + "\n")
    counts.say()
    sys.exit(counts.bad > 0)


def parsed():
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attempts", type=int, default=100_000, help="in all")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=list(TABLE), default=list(TABLE))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=10, help="seconds of an attempt")
    parser.add_argument("--keep", help="a folder for what bad attempts were made on")
    parser.add_argument("-o", "--output", help="a JSON file for the counts")
    return parser.parse_args()


def numbers_of(kind, arguments):
    """How many attempts of a kind, at least one."""
    total = sum(TABLE[one].share for one in arguments.only)
    return max(-(-arguments.attempts * TABLE[kind].share // total), 1)


def in_turn(numbers, first):
    """Yield (kind, first seed, number of seeds), all kinds a little at a time."""
    left = {kind: int(number) for kind, number in numbers.items()}
    done = dict.fromkeys(left, 0)
    while any(left.values()):
        # The kind of which the least has been done, for its number.
        kind = min((one for one in left if left[one]), key=lambda one: done[one] / numbers[one])
        some = min(AT_ONCE, left[kind])
        yield kind, first + done[kind], some
        left[kind] -= some
        done[kind] += some


class Counts:
    """What became of the attempts, by kind."""

    def __init__(self, total):
        self._total = total
        self._began = time.monotonic()
        self._said = self._began
        self._outcomes = defaultdict(list)
        self.bad = 0
        self._done = 0

    def take(self, outcome):
        """Count an attempt; a bad one is told of at once."""
        self._outcomes[outcome.kind].append(
            (outcome.end, outcome.seconds, outcome.memory),
        )
        self._done += 1
        if outcome.end == "bad":
            self.bad += 1
            sys.stdout.write(f"BAD: {outcome.kind}, seed {outcome.seed}\n{outcome.about}\n")
        if time.monotonic() - self._said > SAY:
            self._said = time.monotonic()
            minutes = (self._said - self._began) / 60
            sys.stdout.write(f"{self._done} of {self._total} in {minutes:.1f} min\n")
        sys.stdout.flush()

    def facts(self, first):
        """All counts, as JSON holds them."""
        kinds = {}
        for kind, outcomes in sorted(
            self._outcomes.items(), key=lambda one: list(TABLE).index(one[0])
        ):
            ends = [end for end, _, _ in outcomes]
            kinds[kind] = {
                "about": TABLE[kind].about,
                "attempts": len(ends),
                **{end: ends.count(end) for end in ("fine", "refused", "bad")},
                "longest_s": round(max(seconds for _, seconds, _ in outcomes), 2),
                "memory_mib": round(max(memory for _, _, memory in outcomes) / 2**20),
            }
        return {
            "attempts": self._done,
            "first_seed": first,
            "minutes": round((time.monotonic() - self._began) / 60),
            "version": rf.__version__,
            "python": platform.python_version(),
            "kinds": kinds,
        }

    def say(self):
        """Print a line a kind."""
        for kind, row in self.facts(0)["kinds"].items():
            mean = sum(seconds for _, seconds, _ in self._outcomes[kind]) / row["attempts"]
            words = ", ".join(f"{name} {row[name]}" for name in row if name != "about")
            sys.stdout.write(f"{kind}: {words}, mean {1000 * mean:.1f} ms\n")


if __name__ == "__main__":
    main()
