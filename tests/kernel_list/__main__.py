"""`python -m tests.kernel_list`: record the list of kernels that jobs call (`quire.kernel_list`), in five minutes.

Each stage runs on a tiny genome, first by the default settings, then with each option of the configuration that needs
other kernels, then with all of them.
"""

import json
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from quire.kernel_list import LIST, Entry
from quire.simd import stamps

from tests.kernel_list import calling, complete, joint, mapping, mems, pairwise, structural
from tests.kernel_list.recorder import recorded

# A stage's function and the options of `compile_stage` that it takes.
RUNS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "align": (mapping.run, ("optical", "umis", "adapters", "poly_g", "alternate")),
    "rescore": (calling.run, ("gvcf", "dragen")),
    "joint": (joint.run, ()),
    "complete": (complete.run, ()),
    "mems": (mems.run, ()),
    "pairwise": (pairwise.run, ()),
    "structural": (structural.run, ()),
}


def main() -> None:
    """Record all stages and write the list."""
    content = KernelList()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[stamps.FOLDER] = folder  # empty: functions that kernels call are recorded when they are compiled
        for stage, (run, options) in RUNS.items():
            for chosen in [(), *((option,) for option in options), *([options] if len(options) > 1 else [])]:
                entries = in_new_process(run, {option: option in chosen for option in options})
                content.add(stage, " ".join(chosen), entries)
                print(stage, *chosen, len(content.entries), flush=True)
    LIST.write_text(content.text())


def in_new_process(run: Callable[..., None], options: Mapping[str, bool]) -> list[Entry]:
    """Return what a new process compiles or loads in a run."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(recorded, (run, options))


class KernelList:
    """The content of the list."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        self.entries: dict[tuple[Any, ...], tuple[int, Entry]] = {}
        self.stages: dict[str, dict[str, list[int]]] = {}

    def add(self, stage: str, options: str, entries: list[Entry]) -> None:
        """Add what a run with some options compiled, without the kernels of runs with fewer of them."""
        numbers: list[int] = []
        for entry in entries:
            kinds = [self.types.setdefault(json.dumps(kind), len(self.types)) for kind in entry.types]
            key = entry.function, entry.part, *kinds
            number, _ = self.entries.setdefault(
                key,
                (len(self.entries), Entry(*entry[:2], kinds, [numbers[need] for need in entry.needs], entry.seconds)),
            )
            numbers.append(number)
        stored = self.stages.setdefault(stage, {})
        known = {number for names, own in stored.items() if {*names.split()} <= {*options.split()} for number in own}
        own = [number for number, entry in zip(numbers, entries, strict=True) if not entry.part and number not in known]
        if own:
            stored[options] = own

    def text(self) -> str:
        """Return the list as JSON with a line for each item."""
        rows = ([entry.function, entry.part, *entry[2:]] for _, entry in self.entries.values())
        parts = {
            "types": _lines(self.types),
            "entries": _lines(map(json.dumps, rows)),
            "stages": json.dumps(self.stages),
        }
        return "{" + ",\n".join(f'"{name}": {part}' for name, part in parts.items()) + "}\n"


def _lines(items: Iterable[str]) -> str:
    return "[\n" + ",\n".join(items) + "\n]"


if __name__ == "__main__":
    main()
