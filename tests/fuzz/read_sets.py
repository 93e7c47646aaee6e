"""Fuzzers of files that belong together: mates, interleaved mates, UMIs; and of the queries of the exact tools."""

import gzip
import random
from pathlib import Path
from unittest.mock import patch

import numpy as np
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.read_files import ReadFiles
from quire.mems import queries_cpu
from quire.mems.queries_cpu import read_queries
from quire.run.exact_tools import require_sequences

from tests.fuzz.bam import Answer, batch_reads
from tests.fuzz.blocks import member
from tests.fuzz.fastq import Fastq, fastq_reads, read_without_threads
from tests.fuzz.target import Refused
from tests.fuzz.text import IUPAC, TextTarget, text_of
from tests.support.builders import random_read


def fastq_text(seed: int, names: list[str]) -> bytes:
    """Return a FASTQ of random reads with these names."""
    generator = random.Random(seed)
    reads = [random_read(generator, name, generator.randrange(5, 40), "ACGTN") for name in names]
    return "".join(f"@{one.name}\n{one.bases}\n+\n{one.qualities}\n" for one in reads).encode()


class Pairs(Fastq):
    """The second mates of pairs, with a FASTQ of first mates."""

    name, suffix = "pairs", ".fastq"
    interleaved = False

    def valid(self, folder: Path) -> list[bytes]:
        """Write the first mates; return second mates."""
        read_without_threads()
        names = [f"read{n}" for n in range(9)]
        self._other = folder / "other.fastq"
        self._other.write_bytes(fastq_text(1, [f"{name}/1" for name in names]))
        text = fastq_text(2, [f"{name}/2" for name in names])
        return [text, text, member(text, 8)]

    def files(self, path: Path) -> ReadFiles:
        """Return the files of a unit."""
        return ReadFiles(fq1=[self._other], fq2=[path])

    def read(self, path: Path) -> Answer:
        """Return all first mates, then all second mates."""
        mates: tuple[Answer, Answer] = [], []
        for batch in self.files(path).batches(4, RecordCounts(), None, path.parent, 1):
            assert batch.mate2 is not None
            mates[0].extend(batch_reads(batch.mate1))
            mates[1].extend(batch_reads(batch.mate2))
        return [*mates[0], *mates[1]]

    def judge(self, path: Path) -> Answer:
        """Return the same by plain Python."""
        return _mates(fastq_reads(self._other.read_bytes()), fastq_reads(text_of(path)))

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept nothing else."""
        return False


class Interleaved(Pairs):
    """A FASTQ of interleaved mates."""

    name = "interleaved"

    def valid(self, folder: Path) -> list[bytes]:
        """Return interleaved mates."""
        read_without_threads()
        text = fastq_text(3, [f"read{n // 2}/{1 + n % 2}" for n in range(18)])
        return [text, text, gzip.compress(text)]

    def files(self, path: Path) -> ReadFiles:
        """Return the files of a unit."""
        return ReadFiles(fq1=[path], interleaved=True)

    def judge(self, path: Path) -> Answer:
        """Return the same by plain Python."""
        reads = fastq_reads(text_of(path))
        return _mates(reads[::2], reads[1::2])


def _mates(first: Answer, second: Answer) -> Answer:
    """Return all reads; raise Refused unless they are pairs."""
    if [read[0] for read in first] != [read[0] for read in second]:
        raise Refused("not pairs")
    return [*first, *second]


class Umis(Pairs):
    """A FASTQ of UMIs, with a FASTQ of single reads; the answer is the names and the UMIs."""

    name = "umis"

    def valid(self, folder: Path) -> list[bytes]:
        """Write the reads; return the UMIs."""
        read_without_threads()
        names = [f"read{n}" for n in range(9)]
        self._other = folder / "other.fastq"
        self._other.write_bytes(fastq_text(4, names))
        text = fastq_text(5, names)
        return [text, text, gzip.compress(text)]

    def read(self, path: Path) -> Answer:
        """Return name, UMI and nothing for each read."""
        found: Answer = []
        given = ReadFiles(fq1=[self._other], fq_umi=[path])
        for batch in given.batches(4, RecordCounts(), None, path.parent, 1):
            assert batch.umis is not None
            assert batch.umi_offsets is not None
            letters = batch.umis.tobytes().decode()
            for number, (name, _, _) in enumerate(batch_reads(batch.mate1)):
                found.append((name, letters[batch.umi_offsets[number] : batch.umi_offsets[number + 1]], ""))
        return found

    def judge(self, path: Path) -> Answer:
        """Return the same by plain Python."""
        umis = fastq_reads(text_of(path))
        _mates(fastq_reads(self._other.read_bytes()), umis)
        if not all(bases for _, bases, _ in umis):
            raise Refused("no bases")
        return [(name, bases, "") for name, bases, _ in umis]


class QueriesFile(TextTarget):
    """Queries of maximal exact matches, FASTA or FASTQ; the answer is names and bases, N for other codes."""

    name, suffix, compressed, separator = "queries", ".fa", True, b" "
    texts = (
        ">one first\nACGTN\nACGRY\nacgtn\n>chr2\n" + "ACGTT\n" * 30 + ">one\nUUAC\n>empty\n>X;y z\nAC GT\n",
        "\n>one\r\nACGT\r\nAC\r\n>two x\r\nNNNN\r\nAC",
        fastq_text(6, [f"read{n}/1 comment" for n in range(5)]).decode(),
    )

    def read(self, path: Path) -> object:
        """Return the queries."""
        require_sequences(str(path), "mems 1, queries")
        found = []
        with patch.multiple(queries_cpu, BATCH_BASES=60, CHUNK_BYTES=40):
            batches = list(read_queries(path))
        for batch in batches:
            letters = np.frombuffer(b"ACGTN", np.uint8)[batch.queries.codes].tobytes().decode()
            names = batch.names.tobytes().decode("latin-1")
            for n in range(len(batch)):
                name = names[batch.name_offsets[n] : batch.name_offsets[n + 1]]
                found.append((name, letters[batch.queries.offsets[n] : batch.queries.offsets[n + 1]]))
        return found

    def judge(self, path: Path) -> object:
        """Return the queries by plain Python."""
        text = text_of(path).removeprefix(b"\xef\xbb\xbf").lstrip()
        if text.startswith(b"@"):
            return [read[:2] for read in fastq_reads(text_of(path).removeprefix(b"\xef\xbb\xbf"))]
        found: list[tuple[str, str]] = []
        for line in text.split(b"\n"):  # bytes: white space is that of ASCII alone
            if line.startswith(b">"):
                if not line[1:2].strip():
                    raise Refused("no name")
                found.append((line[1:].split(maxsplit=1)[0].decode("latin-1"), ""))
            elif not found:
                raise Refused("no title")
            else:
                bases = b"".join(line.split()).decode("latin-1").upper().replace("U", "T")
                if not IUPAC.issuperset(bases):
                    raise Refused("letters")
                found[-1] = found[-1][0], found[-1][1] + "".join(base if base in "ACGT" else "N" for base in bases)
        if not any(bases for _, bases in found):
            raise Refused("no bases")
        return found
