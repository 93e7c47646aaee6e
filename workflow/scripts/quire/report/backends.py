"""What the kernels of each stage ran on: from the ledgers of mapping and the header of the VCF."""

from collections.abc import Mapping, Sequence
from typing import Any


def summarise_backends(ledger: Sequence[Mapping[str, Any]]) -> str:
    """The backends by name in a few words: "cpu", or "gpu (align), cpu (rescore)"; a dash where no ledger tells."""
    stages: dict[str, list[str]] = {}
    for line in ledger:
        if backend := line.get("backend"):
            ran = stages.setdefault(backend["name"], [])
            if line["stage"] not in ran:
                ran.append(line["stage"])
    if len(stages) == 1:
        return next(iter(stages))
    return ", ".join(f"{name} ({', '.join(ran)})" for name, ran in stages.items()) or "\N{EN DASH}"


def describe_backends(ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each distinct choice of a stage, with its reason."""
    lines = []
    for line in ledger:
        if backend := line.get("backend"):
            card = f" ({backend['card']})" if backend.get("card") else ""
            lines.append(f"{line['stage']} on the {backend['name']}{card}: {backend['reason']}")
    return list(dict.fromkeys(lines))
