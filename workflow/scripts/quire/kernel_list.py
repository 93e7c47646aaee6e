"""The list of kernels that jobs call (`kernels.json`), so that they can be compiled or loaded before any call.

`python -m tests.kernel_list` records the list. A list that is out of date costs time, and changes no answer: a kernel
that it lacks is compiled when a job first calls it. This module does not import Numba, which takes a second.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

LIST = Path(__file__).with_name("kernels.json")


class Entry(NamedTuple):
    """A function to compile for some types of arguments."""

    function: str  # module:name
    part: bool  # True for the function that other kernels call, False for the one that Python calls
    types: list[Any]  # descriptions of types, for `quire.simd.signatures.type_of`
    needs: list[int]  # numbers of the entries that it calls
    seconds: float  # of a processor to compile it, without what it calls, as recorded once

    @property
    def module(self) -> str:
        """Return the name of the function's module."""
        return self.function.partition(":")[0]


def options_of(settings: Mapping[str, Any], stage: str, alternate: bool = False) -> dict[str, bool]:
    """Return the options of `listed` by a configuration; `alternate`: the reference has alternate contigs."""
    align, rescore = settings["align"], settings["rescore"]
    options = {
        "align": {
            "optical": align["optical_distance"] is not None,
            "umis": align["umi"] != "none",
            "alternate": alternate,
            "adapters": align["clip_adapters"],
            "poly_g": align["clip_poly_g"],
        },
        "rescore": {"gvcf": rescore["gvcf"], "dragen": rescore["error_model"] == "dragen"},
    }
    return options.get(stage, {})


def all_entries() -> dict[int, Entry]:
    """Return all entries by number, callees first."""
    content = json.loads(LIST.read_text())
    return {
        number: Entry(function, part, [content["types"][kind] for kind in kinds], needs, seconds)
        for number, (function, part, kinds, needs, seconds) in enumerate(content["entries"])
    }


def listed(stage: str, **options: bool) -> dict[int, Entry]:
    """Return the entries of a stage by number, callees first; `options` select additional kernels."""
    stages = json.loads(LIST.read_text())["stages"]
    chosen = {name for name, is_chosen in options.items() if is_chosen}
    numbers = (own for names, own in stages[stage].items() if {*names.split()} <= chosen)
    return with_callees(all_entries(), chain.from_iterable(numbers))


def with_callees(entries: Mapping[int, Entry], numbers: Iterable[int]) -> dict[int, Entry]:
    """Return some of the entries and all that they call, callees first."""
    found: dict[int, Entry] = {}
    waiting = [*numbers]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found[number] = entries[number]
            waiting += entries[number].needs
    return dict(sorted(found.items()))
