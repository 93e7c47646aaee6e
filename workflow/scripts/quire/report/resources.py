"""Time and memory by rule, from Snakemake's benchmark tables."""

import csv
import logging
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger("quire.report")


@dataclass
class RuleUse:
    """Resource use of the jobs of one rule.

    Attributes:
        rule: name of the rule.
        jobs: number of jobs.
        seconds: wall-clock time of all jobs.
        longest_seconds: wall-clock time of the longest job.
        cpu_seconds: processor time of all jobs, or None if it was not measured.
        peak_megabytes: largest resident memory of a job, or None if all jobs were too short to measure.
    """

    rule: str
    jobs: int = 0
    seconds: float = 0.0
    longest_seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_megabytes: float | None = None

    def add(self, row: dict[str, str]) -> None:
        """Add one line of a benchmark table."""
        seconds = _number(row.get("s")) or 0.0
        self.jobs += 1
        self.seconds += seconds
        self.longest_seconds = max(self.longest_seconds, seconds)
        if (cpu_seconds := _number(row.get("cpu_time"))) is not None:
            self.cpu_seconds = (self.cpu_seconds or 0.0) + cpu_seconds
        if (megabytes := _number(row.get("max_rss"))) is not None:
            self.peak_megabytes = max(self.peak_megabytes or 0.0, megabytes)


def read_benchmarks(directory: str | Path | None) -> list[RuleUse]:
    """Sum the benchmark tables by rule, in the order in which each rule's first job ended.

    Args:
        directory: folder of `{rule}.tsv`, or `{rule}/{job}.tsv` for rules with many jobs. None or a missing folder
            gives an empty list; a table that cannot be read is skipped with a warning in the log.
    """
    if directory is None:
        return []
    uses: dict[str, RuleUse] = {}
    for path in sorted(Path(directory).rglob("*.tsv"), key=lambda path: (path.stat().st_mtime, path)):
        relative = path.relative_to(directory)
        rule = relative.parts[0] if len(relative.parts) > 1 else relative.stem
        try:
            with path.open(newline="", encoding="utf-8") as stream:
                rows = list(csv.DictReader(stream, delimiter="\t"))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            logger.warning("%s: cannot be read (%s); the report's time and memory lack it.", path, error)
            continue
        for row in rows:
            uses.setdefault(rule, RuleUse(rule)).add(row)
    return list(uses.values())


def _number(text: str | None) -> float | None:
    """Parse a figure of a benchmark table; `-`, `NA` and an empty field are None."""
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
