"""The ledger: counts of a stage's input and output, which show that nothing was lost.

Every stage calls `require_balance` before its output gets its final name.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quire.errors import QuireError
from quire.io.files import write_json_atomic


def require_balance(stage: str, unit: str, left: Mapping[str, int], right: Mapping[str, int]) -> None:
    """Raise QuireError unless the counts of the input and of the output, by name, add up to the same total."""
    if sum(left.values()) != sum(right.values()):
        raise QuireError(
            f"{stage} of {unit}: the ledger does not balance: {_sum(left)} is not {_sum(right)}; "
            "no output was written, please report this with the log."
        )


def _sum(counts: Mapping[str, int]) -> str:
    return " + ".join(f"{name} {count}" for name, count in counts.items()) + f" = {sum(counts.values())}"


def in_words(counts: Mapping[str, object]) -> str:
    """Return counts as readable text: `query bases 4,639,675, matches 12,345`."""
    return ", ".join(
        f"{name.replace('_', ' ')} {f'{count:,}' if isinstance(count, int | float) else count}"
        for name, count in counts.items()
    )


def write_ledger(
    path: str | Path,
    stage: str,
    unit: str,
    counts: Mapping[str, int],
    warnings: Sequence[str] = (),
    backend: Mapping[str, Any] | None = None,
    mapped_from: str = "",
) -> None:
    """Write the ledger of one stage and unit (or sample) as JSON under its final name.

    The report shows `warnings` first. `backend` is the `Backend.to_json` of the backend that ran the stage's kernels,
    `mapped_from` the digest of the mapped reads and the mapping settings (`quire.align.origin`).
    """
    content: dict[str, Any] = {
        "stage": stage,
        "unit": unit,
        "counts": {name: int(count) for name, count in counts.items()},
        "warnings": list(warnings),
    }
    if backend is not None:
        content["backend"] = dict(backend)
    if mapped_from:
        content["mapped_from"] = mapped_from
    write_json_atomic(path, content)
