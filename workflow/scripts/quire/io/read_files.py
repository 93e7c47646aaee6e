"""The files of a unit's reads, whatever their format, as batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from quire.io.fastq import read_batches
from quire.io.files import lacks_bgzip_end
from quire.io.first_reads import require_as_declared
from quire.reads import PairBatch


@dataclass(frozen=True)
class ReadFiles:
    """The reads of one unit, in files that follow each other.

    Attributes:
        fq1: FASTQ files of the first mates, of single-end reads, or of mates in turn.
        fq2: FASTQ files of the second mates, one for each of `fq1`; none for single-end reads.
        interleaved: the files hold mates in turn.
        qualities: "phred33", "phred64", or "" for Phred+33, where first reads that look otherwise are refused.
    """

    fq1: Sequence[Path]
    fq2: Sequence[Path] = ()
    interleaved: bool = False
    qualities: str = ""

    @property
    def files(self) -> list[Path]:
        """All files."""
        return [path for pair in zip_longest(self.fq1, self.fq2) for path in pair if path is not None]

    def batches(self, reads_per_batch: int) -> Iterator[PairBatch]:
        """The reads, or pairs, in the order of the files; a batch holds those of one file.

        Raises:
            InputError: whatever is wrong with a file, or is not as the sheet has it.
        """
        for path in self.files:
            require_as_declared(path, self.interleaved, self.qualities, bool(self.fq2))
        for fq1, fq2 in zip_longest(self.fq1, self.fq2):
            yield from read_batches(
                fq1,
                fq2,
                reads_per_batch,
                interleaved=self.interleaved,
                phred64=self.qualities == "phred64",
            )

    def warnings(self) -> list[str]:
        """Sentences about the files that the report shows first."""
        # Some sequencers' software leaves the closing block out, so that this cannot be an error.
        return [
            f"{path} has no closing bgzip block: if it was cut there, reads are missing."
            for path in self.files
            if lacks_bgzip_end(path)
        ]
