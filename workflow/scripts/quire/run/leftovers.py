"""Results of samples and units that the sheets name no longer: they are left alone, and said."""

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path


def leftover_lines(output: Path, units: Mapping[str, Collection[str]]) -> list[str]:
    """One line for each sample, or unit of a sample, of earlier runs that this one does not have.

    Args:
        output: the folder of the results.
        units: the names of the units of each sample of this run.
    """
    lines = []
    for counts in sorted((output / "align").glob("*.counts.json")):
        sample = counts.name.removesuffix(".counts.json")
        if sample not in units:
            lines.append(_line(sample, output))
    for ledger in sorted((output / "ledger").glob("*.*.json")):
        sample, unit, _ = ledger.name.split(".", 2)
        if sample in units and unit not in units[sample]:
            lines.append(_line(f"{sample}.{unit}", output))
    return lines


def _line(name: str, output: Path) -> str:
    """In the form of the summary that a run ends with."""
    return (
        f"{'leftover':<12}{name} is of an earlier run and in no sheet now; its files stay "
        f"(find {shlex.quote(str(output))} -name '{name}.*' lists them)"
    )
