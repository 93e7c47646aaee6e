"""Output files of counting a sample: counts.json and two BED files of coverage; target.json and one BED file.

The depth over the target is counted in a job of its own, so that a change of the target reruns only this job. If
finishing depended on the target, the sample's units would be mapped again, since their alignments are temporary. For
the same reason another job lists the positions of the islands that have a low depth, if its limit changed since the
sample was finished.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from quire.errors import QuireError
from quire.finish.counts.figures import figures_of, target_figures, window_rows
from quire.finish.counts.low_coverage import LowCoverage
from quire.finish.counts.sample import Counting, FinishedSample, SampleCounts, Unsorted, open_sample
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END, atomic_path, json_lines, sealed
from quire.reference import Reference
from quire.reference.regions import Regions, islands_of, read_regions


@dataclass(frozen=True)
class CountsOutputs:
    """Paths of a sample's counts: JSON, and two bgzip BED files.

    They have the mean depth in windows along all contigs, and the positions of the islands with a depth below
    `low_depth`.
    """

    counts: Path
    windows: Path
    low_coverage: Path
    low_depth: int


class CountsWriter(Counting):
    """Counter of a sample's records as they are sorted, with the depth over the islands; it also writes the counts."""

    def __init__(self, sample: str, header: str, reference: Reference, threads: int, outputs: CountsOutputs) -> None:
        """Start counting; `header` is the text of the file's header."""
        self._sample, self._reference, self._outputs = sample, reference, outputs
        self._islands = islands_of(reference)
        low = LowCoverage(outputs.low_coverage, reference.contig_names, outputs.low_depth)
        super().__init__(header, reference, self._islands, threads, low)

    def write(self, final: str | Path, optical_pairs: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Write the files after all records are counted; return the content of counts.json, whose path will be `final`.

        Records do not show optical duplicates, whose pairs by library are given; None if they were not searched for.
        """
        reference, counts = self._reference, self.finish()
        low = self._low.close()
        lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
        known = {name: int((rows[:, 1] - rows[:, 0]).sum()) for name, rows in self._islands.items()}
        windows = "".join(window_rows(counts, lengths)).encode()
        self._outputs.windows.write_bytes(compress_blocks(windows).tobytes() + BGZF_END)
        figures = figures_of(self._sample, counts, low, lengths, known, optical_pairs)
        self._outputs.counts.write_text(sealed(final, json_lines(figures)))
        return figures


class TargetOutputs(NamedTuple):
    """Paths of a sample's counts over the target or the islands: JSON, and bgzip BED of those with a low depth."""

    counts: Path
    low_coverage: Path
    low_depth: int


def count_target(sample: FinishedSample, intervals_bed: str | Path, outputs: TargetOutputs, threads: int) -> None:
    """Count the depth of a finished sample over a target, and write both files atomically.

    Raises:
        InputError: if the BED cannot be used, or the alignments are damaged.
        QuireError: if the alignments belong to another reference or are not sorted.
    """
    reference = Reference.open(sample.reference)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    regions = read_regions(intervals_bed, lengths)
    with _counted(sample, reference, regions, outputs, threads) as (whole, counts, low):
        figures = target_figures(sample.name, counts, low, str(intervals_bed), regions)
        whole.write_text(sealed(outputs.counts, json_lines(figures)))


def list_low_coverage(sample: FinishedSample, figures: Mapping[str, Any], outputs: TargetOutputs, threads: int) -> None:
    """Write a sample's counts.json and its positions of low depth again, for another depth than its `figures` name.

    Raises:
        InputError, QuireError: as `count_target`.
    """
    reference = Reference.open(sample.reference)
    with _counted(sample, reference, islands_of(reference), outputs, threads) as (whole, _, low):
        whole.write_text(sealed(outputs.counts, json_lines({**figures, "low_coverage": low})))


@contextmanager
def _counted(
    sample: FinishedSample, reference: Reference, regions: Regions, outputs: TargetOutputs, threads: int
) -> Iterator[tuple[Path, SampleCounts, dict[str, Any]]]:
    """Count the records of a finished sample, with the depth over regions, and write the BED file of low depth.

    Yield the path for the JSON file, which gets its name when it is written, the counts and the summary of low depth.
    """
    with (
        atomic_path(outputs.counts) as whole,
        atomic_path(outputs.low_coverage) as whole_low,
        open_sample(sample, reference, outputs.counts, threads) as (header, batches),
    ):
        low = LowCoverage(whole_low, reference.contig_names, outputs.low_depth)
        with Counting(header, reference, regions, threads, low) as counting:
            try:
                for records in batches:
                    counting.take(counting.prepare(records))
            except Unsorted:
                raise QuireError(
                    f"{sample.alignments}: is not sorted by coordinate; sort it with samtools sort."
                ) from None
            counts = counting.finish()
        yield whole, counts, low.close()
