"""Backends that the kernels of each stage ran on, from the mapping ledgers and the VCF header."""

from collections.abc import Mapping, Sequence
from typing import Any


def summarise_backends(ledger: Sequence[Mapping[str, Any]]) -> str:
    """Summarise the backends as "cpu" or "gpu (align), cpu (rescore)"; a dash if no ledger names one."""
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
    """Return one line for each distinct backend choice of a stage, with its reason."""
    lines = []
    for line in ledger:
        if backend := line.get("backend"):
            card = f" ({backend['card']})" if backend.get("card") else ""
            lines.append(f"{line['stage']} on the {backend['name']}{card}: {backend['reason']}")
    return list(dict.fromkeys(lines))
