"""Output files of counting a sample: counts.json and two BED files of coverage."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire.finish.counts.bgzip_text import BgzipText
from quire.finish.counts.figures import figures_of, target_figures, window_rows
from quire.finish.counts.low_coverage import LowCoverage
from quire.finish.counts.sample import Counting, count_sample
from quire.io.files import atomic_path
from quire.reference import Reference
from quire.reference.regions import islands_of, read_regions


@dataclass(frozen=True)
class CountsOutputs:
    """Paths of a sample's counts.

    Attributes:
        counts: JSON.
        windows: bgzip BED of the mean depth in windows along all contigs.
        low_coverage: bgzip BED of the positions of the islands with a depth below `low_depth`.
        low_depth: depth below which positions are listed.
    """

    counts: Path
    windows: Path
    low_coverage: Path
    low_depth: int


class CountsWriter:
    """Counter of a sample's records as they are sorted, with the depth over the islands; it also writes the counts."""

    def __init__(self, sample: str, header: str, reference: Reference, threads: int, outputs: CountsOutputs) -> None:
        """Start counting; `header` is the text of the file's header. `prepare` and `take` are those of `Counting`."""
        self._sample, self._reference, self._outputs = sample, reference, outputs
        self._islands = islands_of(reference)
        self._low = LowCoverage(outputs.low_coverage, reference.contig_names, outputs.low_depth)
        self._counting = Counting(header, reference, self._islands, threads, self._low)
        self.prepare, self.take = self._counting.prepare, self._counting.take

    def __enter__(self) -> "CountsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._counting.__exit__()

    def finish(self, optical_pairs: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Write the files, and return the content of counts.json.

        Args:
            optical_pairs: optical duplicate pairs by library (records do not show them); None if not searched for.
        """
        reference = self._reference
        counts = self._counting.finish()
        low = self._low.close()
        lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
        known = {name: int((rows[:, 1] - rows[:, 0]).sum()) for name, rows in self._islands.items()}
        windows = BgzipText(self._outputs.windows)
        windows.write("".join(window_rows(counts, lengths)))
        windows.close()
        figures = figures_of(self._sample, counts, low, lengths, known, optical_pairs)
        self._outputs.counts.write_text(one_line_a_key(figures))
        return figures


def write_target(
    sample: str,
    bam: str | Path,
    reference: Reference,
    intervals_bed: str | Path,
    threads: int,
    output: Path,
    low_coverage: Path,
    low_depth: int,
) -> None:
    """Count the depth of a sorted and marked BAM file over a target.

    Args:
        sample: name of the sample.
        bam: the BAM file; it needs no index.
        reference: reference of the BAM file.
        intervals_bed: BED file of the target.
        threads: number of threads.
        output: JSON file (docs/formats.md), written atomically.
        low_coverage: bgzip BED file, written atomically.
        low_depth: depth below which positions are listed in `low_coverage`.

    Raises:
        InputError: if the BED cannot be used, or the BAM is damaged.
        QuireError: if the BAM belongs to another reference or is not sorted.
    """
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    regions = read_regions(intervals_bed, lengths)
    with atomic_path(output) as whole, atomic_path(low_coverage) as whole_low:
        low = LowCoverage(whole_low, reference.contig_names, low_depth)
        counts = count_sample(bam, reference, regions, threads, low)
        figures = target_figures(sample, counts, low.close(), str(intervals_bed), regions)
        whole.write_text(one_line_a_key(figures))


@contextmanager
def atomic_outputs(final: CountsOutputs) -> Iterator[CountsOutputs]:
    """Yield temporary paths, which all get their final names when the block ends without an error."""
    with ExitStack() as whole:
        paths = (final.counts, final.windows, final.low_coverage)
        counts, windows, low = (whole.enter_context(atomic_path(path)) for path in paths)
        yield CountsOutputs(counts, windows, low, final.low_depth)


def one_line_a_key(content: dict[str, Any]) -> str:
    """Format JSON with one line per top-level key, so that histograms do not take one line per number."""
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
