"""Fuzzers of CRAM files read by region, as by the caller, and of their indexes, CRAI, judged by `samtools view`."""

import gzip
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pysam
from quire.errors import QuireError
from quire.io import samtools
from quire.io.bam.regions import IndexedAlignments

from tests.fuzz.bam import samtools_view
from tests.fuzz.cram import changed_container
from tests.fuzz.forked import forked_children
from tests.fuzz.indexed import CONTIGS, STALE, Answer, ByRegion, by_samtools, in_regions, record_of, write_sorted
from tests.fuzz.memory import answers_differ
from tests.fuzz.mutations import mutate_bytes, mutate_field, mutate_lines
from tests.fuzz.target import Refused
from tests.support.builders import random_bases, write_fasta


class CramRegions(ByRegion):
    """A CRAM file with its CRAI, or with that of the valid file if it cannot be indexed.

    The answer is name and position of each record. If the header of a slice states other positions than its records
    have, its index has these positions, and samtools finds other records by region than in the whole file. Quire reads
    some regions together, as in the whole file, and some alone: for each region either answer of samtools is right.
    """

    name, suffix, neighbour = "cram_regions", ".cram", "case.cram"
    regions = (("one", 0, 200_000), ("one", 60_000, 90_000), ("two", 30_000, 30_100), ("empty", 0, 5_000))

    def valid(self, folder: Path) -> list[bytes]:
        """Write reference, file and index; return files of several versions whose containers lie at other places."""
        self._fasta = write_fasta(
            folder / "genome.fa", {n: random_bases(random.Random(n), s) for n, s in CONTIGS.items()}
        )
        pysam.faidx(str(self._fasta))
        self._cram, bam = folder / "case.cram", folder / "made.bam"
        self._records = write_sorted(bam, 1)
        for version in ("3.1", "2.1", "3.0"):
            kind = f"cram,version={version},seqs_per_slice=60"
            pysam.view("-O", kind, "-T", str(self._fasta), "-o", str(self._cram), str(bam), catch_stdout=False)
            (folder / version).write_bytes(self._cram.read_bytes())
        pysam.index(str(self._cram))
        self._index = Path(f"{self._cram}.crai")
        return self.contents(folder)

    def contents(self, folder: Path) -> list[bytes]:
        """Return the files to mutate."""
        return [(folder / version).read_bytes() for version in ("3.0", "3.0", "3.1", "2.1")]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a block or the header of a container, with right checksums; or any bytes."""
        return mutate_bytes(generator, content) if generator.random() < 0.3 else changed_container(generator, content)

    def read(self, path: Path) -> Answer:
        """Return the records of the regions, one region after another."""
        self._found: Answer | None = None
        with forked_children():
            with suppress(QuireError):
                samtools.index(self._cram, self._index, "crai", 1)
            self._found = self.found(IndexedAlignments(self._cram, self._fasta))
        return self._found

    def judge(self, path: Path) -> Answer:
        """Return the records of each region, as samtools finds them with the same index or as the whole file has them.

        Raises:
            Refused: samtools refuses to read by region.
        """
        options = ("-T", str(self._fasta))
        expected = by_samtools(self._cram, self.regions, options=options)
        if self._found is None or self._found == expected:
            return expected
        whole = list(map(record_of, samtools_view(self._cram, *options)))
        expected, at = [], 0
        for region, records in zip(self.regions, self._bytes, strict=True):
            found, at = self._found[at : at + len(records)], at + len(records)
            of_whole = in_regions(whole, (region,))
            expected += of_whole if found == of_whole else by_samtools(self._cram, (region,), options=options)
        return expected

    def undefined(self, path: Path) -> bool:
        """See `tests.fuzz.memory`: the whole file or the regions."""
        regions = [f"{contig}:{first + 1}-{last}" for contig, first, last in self.regions]
        return any(answers_differ(["-T", str(self._fasta), str(self._cram), *some]) for some in ([], regions))


class Crai(CramRegions):
    """The CRAI index of a CRAM file."""

    name, suffix = "crai", ".crai"

    def contents(self, folder: Path) -> list[bytes]:
        """See `CramRegions`."""
        return [gzip.decompress(self._index.read_bytes())]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change a number, lines or bytes, below or above gzip."""
        drawn = generator.random()
        if drawn < 0.1:
            return mutate_bytes(generator, gzip.compress(content, mtime=0))
        if drawn < 0.4:
            return gzip.compress(mutate_lines(generator, content), mtime=0)
        rows = [line.split(b"\t") for line in content.split(b"\n")]
        row = generator.choice(rows)
        at = generator.randrange(len(row))
        row[at] = mutate_field(generator, row[at])
        return gzip.compress(b"\n".join(map(b"\t".join, rows)), mtime=0)

    def read(self, path: Path) -> Answer:
        """Return the records of the regions, one region after another."""
        path.replace(self._index)
        self._found: Answer | None = None
        with forked_children():
            self._found = self.found(IndexedAlignments(self._cram, self._fasta))
        return self._found

    def judge(self, path: Path) -> Answer:
        """Return the records of the regions, as the file has them or as samtools finds them with the index."""
        expected = in_regions(self._records, self.regions)
        if self._found in (None, expected):
            return expected
        if not Counter(self._found) - Counter(expected):
            raise Refused(STALE)
        return super().judge(path)

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept missing records, which a whole index of the same slices hides by their positions."""
        return reason == STALE
