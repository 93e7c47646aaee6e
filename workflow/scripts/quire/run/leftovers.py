"""Report of results of samples and units that the sheets no longer name; their files are kept."""

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path


def leftover_lines(output: Path, units: Mapping[str, Collection[str]]) -> list[str]:
    """Return one line for each sample or unit of earlier runs that this run does not have.

    Args:
        output: the folder of the results.
        units: names of the units of each sample of this run.
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
    """Return a line in the format of the summary at the end of a run."""
    return (
        f"{'leftover':<12}{name} is from an earlier run and no longer in the sheets; its files are kept "
        f"(find {shlex.quote(str(output))} -name '{name}.*' lists them)"
    )
