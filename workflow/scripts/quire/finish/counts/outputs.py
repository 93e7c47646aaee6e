"""What counting a sample leaves behind: counts.json, and two BED files of coverage."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.finish.counts.figures import figures_of, target_figures, window_rows
from quire.finish.counts.sample import Counting, count_sample
from quire.io.bgzf import compress_blocks
from quire.io.files import BGZF_END, atomic_path
from quire.reference import Reference
from quire.reference.regions import islands_of, read_regions

BYTES_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class CountsOutputs:
    """Where the counts of a sample go.

    Attributes:
        counts: JSON.
        windows: bgzip BED of the mean depth in windows along all contigs.
        low_coverage: bgzip BED of the positions of the islands that have a low depth.
    """

    counts: Path
    windows: Path
    low_coverage: Path


class CountsWriter:
    """Counts a sample while its records pass, the depth over the islands, and writes what was counted."""

    def __init__(self, sample: str, header: str, reference: Reference, threads: int, outputs: CountsOutputs) -> None:
        """Begin; `header` is the text of the file's header, and `take` is given all records in their order."""
        self._sample, self._reference, self._outputs = sample, reference, outputs
        self._islands = islands_of(reference)
        self._low = _LowCoverage(outputs.low_coverage, reference.contig_names)
        self._counting = Counting(header, reference, self._islands, threads, self._low.add)
        self.take = self._counting.take

    def __enter__(self) -> "CountsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._counting.__exit__()

    def finish(self) -> dict[str, Any]:
        """Write the files; returns what counts.json holds."""
        reference = self._reference
        counts = self._counting.finish()
        self._low.close()
        lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
        known = {name: int((rows[:, 1] - rows[:, 0]).sum()) for name, rows in self._islands.items()}
        windows = _BgzipText(self._outputs.windows)
        windows.write("".join(window_rows(counts, lengths)))
        windows.close()
        figures = figures_of(self._sample, counts, lengths, known)
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
) -> None:
    """Count the depth of a sorted and marked BAM file over a target.

    Args:
        sample: name.
        bam: the file; it needs no index.
        reference: whose contigs it has.
        intervals_bed: the target.
        threads: that count.
        output: JSON (docs/formats.md); low_coverage: bgzip BED. Both appear whole or not at all.

    Raises:
        InputError: the BED cannot be used, or the BAM is damaged.
        QuireError: the BAM is of another reference, or not sorted.
    """
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    regions = read_regions(intervals_bed, lengths)
    with atomic_path(output) as whole, atomic_path(low_coverage) as whole_low:
        low = _LowCoverage(whole_low, reference.contig_names)
        counts = count_sample(bam, reference, regions, threads, low.add)
        low.close()
        whole.write_text(one_line_a_key(target_figures(sample, counts, str(intervals_bed), regions)))


@contextmanager
def atomic_outputs(final: CountsOutputs) -> Iterator[CountsOutputs]:
    """Temporary names for the counts, which get their final names together when the block ends without an error."""
    with ExitStack() as whole:
        paths = (final.counts, final.windows, final.low_coverage)
        yield CountsOutputs(*(whole.enter_context(atomic_path(path)) for path in paths))


def one_line_a_key(content: dict[str, Any]) -> str:
    """JSON with one line for each of the outermost keys: histograms would take a line for each number otherwise."""
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


class _LowCoverage:
    """A BED of positions of low depth; rows that touch each other across batches are joined."""

    def __init__(self, path: Path, contigs: list[str]) -> None:
        self._file, self._contigs = _BgzipText(path), contigs
        self._last = np.empty((0, 3), np.int64)

    def add(self, rows: NDArray[np.int64]) -> None:
        """Take the next rows of contig, start, end; all but the last are written."""
        if not len(rows):
            return
        if len(self._last) and self._last[0, 0] == rows[0, 0] and self._last[0, 2] == rows[0, 1]:
            rows = rows.copy()
            rows[0, 1] = self._last[0, 1]
        else:
            self._write(self._last)
        self._write(rows[:-1])
        self._last = rows[-1:]

    def close(self) -> None:
        """Write the last row and the closing block."""
        self._write(self._last)
        self._file.close()

    def _write(self, rows: NDArray[np.int64]) -> None:
        self._file.write("".join(f"{self._contigs[contig]}\t{a}\t{b}\n" for contig, a, b in rows.tolist()))


class _BgzipText:
    """A bgzip file that text is appended to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: list[bytes] = []
        self._bytes = 0
        path.write_bytes(b"")

    def write(self, text: str) -> None:
        """Append text."""
        self._held.append(text.encode())
        self._bytes += len(self._held[-1])
        if self._bytes >= BYTES_AT_A_TIME:
            self._flush()

    def close(self) -> None:
        """Write what is held and the closing block."""
        self._flush()
        with self._path.open("ab") as stream:
            stream.write(BGZF_END)

    def _flush(self) -> None:
        data = b"".join(self._held)
        self._held, self._bytes = [], 0
        if data:
            with self._path.open("ab") as stream:
                stream.write(compress_blocks(data).tobytes())
