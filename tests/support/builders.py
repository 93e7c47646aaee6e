"""Builders of test data: FASTA, FASTQ, reads, alignment records and tiny BAM files.

All data come from a `random.Random` with a seed, mostly of the caller, or from the arguments; nothing uses the network.
"""

import gzip
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
from quire.io.bam.encode import RecordBatch
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reads import ReadBatch

CODES = {65: 0, 67: 1, 71: 2, 84: 3, 85: 3}
COMPLEMENT = str.maketrans("ACGTNacgtn", "TGCANtgcan")


@dataclass(frozen=True)
class Read:
    """A read as text: `name` may carry a comment, `qualities` are FASTQ characters."""

    name: str
    bases: str
    qualities: str


def reverse_complement(bases: str) -> str:
    """Return the reverse complement."""
    return bases.translate(COMPLEMENT)[::-1]


def random_bases(generator: random.Random, length: int, alphabet: str = "ACGT") -> str:
    """Return a random sequence."""
    return "".join(generator.choices(alphabet, k=length))


def random_read(generator: random.Random, name: str, length: int, alphabet: str = "ACGT") -> Read:
    """Return a read with random bases and qualities."""
    qualities = "".join(chr(33 + generator.randrange(42)) for _ in range(length))
    return Read(name, random_bases(generator, length, alphabet), qualities)


def write_text(path: Path, text: str | bytes, compression: str = "plain") -> Path:
    """Write `text` plain, as gzip ("gzip") or as bgzip ("bgzip").

    Returns:
        `path`, for use in expressions.
    """
    content = text.encode() if isinstance(text, str) else text
    if compression == "plain":
        path.write_bytes(content)
    elif compression == "gzip":
        path.write_bytes(gzip.compress(content, 1, mtime=0))
    else:
        with pysam.BGZFile(str(path), "w") as stream:
            stream.write(content)
    return path


def genomes() -> dict[str, dict[str, str]]:
    """Return random, repetitive and single-letter contigs, with islands and short runs of N."""
    generator = random.Random(11)
    unit = random_bases(generator, 37)
    return {
        "random": {
            "HLA-A*01:01": random_bases(generator, 3000) + "N" * 50 + random_bases(generator, 2500),
            "b": random_bases(generator, 700) + "NNNNN" + random_bases(generator, 900),
        },
        "repetitive": {"a": unit * 80 + random_bases(generator, 50) + unit * 40},
        "single": {"a": "A" * 2500, "t": "T" * 1500},
    }


def write_fasta(path: Path, contigs: dict[str, str], width: int = 60, compression: str = "plain") -> Path:
    """Write contigs with lines of `width` bases."""
    lines = []
    for name, sequence in contigs.items():
        lines.append(f">{name}")
        lines += [sequence[i : i + width] for i in range(0, len(sequence), width)]
    return write_text(path, "\n".join(lines) + "\n", compression)


def fastq_text(reads: Iterable[Read], line_end: str = "\n", repeat_name: bool = False, width: int = 0) -> str:
    """Format reads as FASTQ; `width` wraps sequence and qualities (a quality line may then start with '@')."""
    lines = []
    for read in reads:
        step = width or max(len(read.bases), 1)
        starts = range(0, max(len(read.bases), 1), step)
        lines.append("@" + read.name)
        lines += [read.bases[i : i + step] for i in starts]
        lines.append("+" + (read.name if repeat_name else ""))
        lines += [read.qualities[i : i + step] for i in starts]
    return "".join(line + line_end for line in lines)


def write_fastq(path: Path, reads: Iterable[Read], compression: str = "plain", **dialect: object) -> Path:
    """Write reads; `dialect` goes to `fastq_text`."""
    return write_text(path, fastq_text(reads, **dialect), compression)  # type: ignore[arg-type]


def read_batch(reads: Sequence[Read], first_ordinal: int = 0) -> ReadBatch:
    """Return the flat arrays that the FASTQ reader would make of the reads."""
    names, name_offsets = pack_bytes([_short_name(read.name).encode() for read in reads])
    bases = np.array([CODES.get(letter, 4) for read in reads for letter in read.bases.upper().encode()], np.uint8)
    qualities = np.array([ord(letter) - 33 for read in reads for letter in read.qualities], np.uint8)
    offsets = offsets_from_lengths([len(read.bases) for read in reads])
    return ReadBatch(names, name_offsets, bases, qualities, offsets, first_ordinal)


def _short_name(name: str) -> str:
    short = name.split()[0]
    return short[:-2] if len(short) > 2 and short.endswith(("/1", "/2")) else short


@dataclass(frozen=True)
class Record:
    """One alignment record for `record_batch`; the defaults are those of an unmapped single-end read."""

    read: int = 0
    mate: int = 0
    flag: int = 4
    contig: int = -1
    position: int = -1
    mapping_quality: int = 0
    cigar: tuple[tuple[int, int], ...] = ()  # (operation, length), as in pysam
    mate_contig: int = -1
    mate_position: int = -1
    template_length: int = 0
    alignment_score: int = -1
    suboptimal_score: int = -1
    edit_distance: int = -1
    md: str = ""
    mate_record: int = -1
    sa: str = ""
    hit_count: int = -1
    hit_index: int = -1
    all_hits: int = -1


def record_batch(records: Sequence[Record]) -> RecordBatch:
    """Return the records as flat arrays."""

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(record, name) for record in records], dtype)

    md, md_offsets = pack_bytes([record.md.encode() for record in records])
    sa, sa_offsets = pack_bytes([record.sa.encode() for record in records])
    return RecordBatch(
        mate=column("mate", np.uint8),
        read=column("read", np.int64),
        flag=column("flag", np.uint16),
        contig=column("contig", np.int32),
        position=column("position", np.int32),
        mapping_quality=column("mapping_quality", np.uint8),
        cigar=np.array([length << 4 | operation for r in records for operation, length in r.cigar], np.uint32),
        cigar_offsets=offsets_from_lengths([len(record.cigar) for record in records]),
        mate_contig=column("mate_contig", np.int32),
        mate_position=column("mate_position", np.int32),
        template_length=column("template_length", np.int32),
        alignment_score=column("alignment_score", np.int32),
        suboptimal_score=column("suboptimal_score", np.int32),
        edit_distance=column("edit_distance", np.int32),
        md=md,
        md_offsets=md_offsets,
        mate_record=column("mate_record", np.int64),
        sa=sa,
        sa_offsets=sa_offsets,
        hit_count=column("hit_count", np.int32),
        hit_index=column("hit_index", np.int32),
        all_hits=column("all_hits", np.int32),
    )


def write_bam(
    path: Path,
    contigs: dict[str, int],
    lines: Iterable[str],
    read_groups: Sequence[str] = (),
    order: str = "unsorted",
) -> Path:
    """Write a BAM from SAM lines (without header); `contigs` maps names to lengths, `order` is the header's SO."""
    header = f"@HD\tVN:1.6\tSO:{order}\n" + "".join(f"@SQ\tSN:{n}\tLN:{length}\n" for n, length in contigs.items())
    header += "".join(group + "\n" for group in read_groups)
    parsed = pysam.AlignmentHeader.from_text(header)
    with pysam.AlignmentFile(str(path), "wb", header=parsed) as stream:
        for line in lines:
            stream.write(pysam.AlignedSegment.fromstring(line, parsed))
    return path


def paired_lines(
    name: str, contig: str, starts: tuple[int, int], length: int, group: str, quality: str = "I"
) -> list[str]:
    """Return SAM lines of a mapped pair, forward then reverse, each `length` bases long; `starts` are 1-based."""
    span = starts[1] + length - starts[0]
    template = "{}\t{}\t{}\t{}\t60\t{}M\t=\t{}\t{}\t{}\t{}\tRG:Z:{}"
    bases, qualities = "ACGT" * length, quality * length
    return [
        template.format(name, flag, contig, here, length, there, size, bases[:length], qualities, group)
        for flag, here, there, size in ((99, *starts, span), (147, *starts[::-1], -span))
    ]
