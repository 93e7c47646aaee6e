"""Reading of a unit's files of reads, in any format, as batches."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from quire.errors import InputError
from quire.io import alignment_reads, first_reads
from quire.io.ahead import ahead
from quire.io.alignment_reads import read_alignments
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.fastq import BATCHES_AHEAD, read_batches
from quire.io.fastq.umis import with_umi_file
from quire.io.files import lacks_bgzip_end
from quire.io.first_reads import require_as_declared
from quire.io.sniff import holds_nothing
from quire.reads import PairBatch


@dataclass(frozen=True)
class ReadFiles:
    """The files of one unit's reads, read one after another.

    Attributes:
        fq1: FASTQ files of first mates, single-end reads or interleaved mates; empty if `bam` is given.
        fq2: FASTQ files of second mates, one for each of `fq1`; empty for single-end reads.
        bam: BAM or CRAM files of pairs or of single reads, instead of FASTQ files.
        interleaved: the FASTQ files are interleaved, each first mate before its second mate.
        fq_umi: FASTQ files of UMIs, one for each of `fq1`; empty if UMIs have no files.
        gzip_threads: threads that inflate a plain gzip file of reads.
        qualities: "phred33", "phred64", or "" for Phred+33 with a check of the first reads.
        may_be_empty: FASTQ files without reads are no error.
    """

    fq1: Sequence[Path] = ()
    fq2: Sequence[Path] = ()
    bam: Sequence[Path] = ()
    interleaved: bool = False
    qualities: str = ""
    fq_umi: Sequence[Path] = ()
    gzip_threads: int = 1
    may_be_empty: bool = False

    @property
    def files(self) -> list[Path]:
        """Return all files."""
        together = zip_longest(self.fq1, self.fq2, self.fq_umi)
        fastq = [path for files in together for path in files if path is not None]
        return [*fastq, *self.bam]

    def batches(
        self, reads_per_batch: int, counts: RecordCounts, fasta: Path | None, temporary: Path, threads: int
    ) -> Generator[PairBatch, None, None]:
        """Yield the reads or pairs in the order of the files; a batch has reads of one file.

        `counts` receives the numbers of records of `bam`; for the others see `read_alignments`.

        Raises:
            InputError: a file is wrong, or not as the sheet of units describes it.
        """
        if self.bam:
            yield from self._batches_of_bam(reads_per_batch, counts, fasta, temporary, threads)
            return
        for path in (*self.fq1, *self.fq2):
            require_as_declared(path, self.interleaved, self.qualities, bool(self.fq2))
        for fq1, fq2, fq_umi in zip_longest(self.fq1, self.fq2, self.fq_umi):
            if self.may_be_empty and all(path is None or holds_nothing(path) for path in (fq1, fq2, fq_umi)):
                continue
            pairs = read_batches(
                fq1,
                fq2,
                reads_per_batch,
                interleaved=self.interleaved,
                phred64=self.qualities == "phred64",
                gzip_threads=self.gzip_threads,
            )
            yield from with_umi_file(pairs, fq1, fq_umi, reads_per_batch) if fq_umi else pairs

    def _batches_of_bam(
        self, reads_per_batch: int, counts: RecordCounts, fasta: Path | None, temporary: Path, threads: int
    ) -> Iterator[PairBatch]:
        paired: bool | None = None
        for path in self.bam:
            reads = partial(read_alignments, path, reads_per_batch, counts, fasta, temporary, threads)
            with closing(ahead(reads, BATCHES_AHEAD)) as batches:
                for batch in batches:
                    if paired not in (None, batch.mate2 is not None):
                        raise InputError(
                            f"{path}: holds {'single reads' if paired else 'pairs'} and {self.bam[0]} does not; give "
                            "each as a separate unit."
                        )
                    paired = batch.mate2 is not None
                    yield batch

    def flowcell_and_lane(self) -> str:
        """Return `flowcell.lane` from the name of the first read, or an empty string."""
        return first_reads.flowcell_and_lane(
            alignment_reads.first_name(self.bam[0]) if self.bam else first_reads.first_name(self.fq1[0])
        )

    def warnings(self, sample: str) -> list[str]:
        """Return warnings about the files of a sample, which the report shows first."""
        # Not an error, since some sequencers' software omits the closing block.
        cut = [
            f"{path} has no closing bgzip block: if it was cut there, reads are missing."
            for path in (*self.fq1, *self.fq2, *self.fq_umi)
            if lacks_bgzip_end(path)
        ]
        named = [(path, alignment_reads.sample_of(path)) for path in self.bam]
        # sarek's read groups have patient_sample.
        return cut + [
            f"{path} is of sample {name} by its read groups: check that it is the file of {sample}."
            for path, name in named
            if name and name != sample and not name.endswith(f"_{sample}")
        ]
