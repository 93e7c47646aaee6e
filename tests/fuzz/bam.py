"""Fuzzer of unmapped and mapped BAM files as reads of a unit, judged by `samtools view`."""

import random
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pysam
from quire.io.alignment_reads import read_alignments
from quire.io.bam.reads_cpu import RecordCounts
from quire.reads import ReadBatch

from tests.fuzz.mutations import bgzf, inflated_members, little_endian, mutate_bytes, number
from tests.fuzz.target import Refused, Target
from tests.support.builders import random_bases, reverse_complement

# Offset and size of the fixed fields of a record, from its block_size.
FIELDS = {
    "block_size": (0, 4), "refID": (4, 4), "pos": (8, 4), "l_read_name": (12, 1), "mapq": (13, 1), "bin": (14, 2),
    "n_cigar_op": (16, 2), "flag": (18, 2), "l_seq": (20, 4), "next_refID": (24, 4), "next_pos": (28, 4),
    "tlen": (32, 4),
}  # fmt: skip
CODES = "ACGT"
LINE = re.compile(r"[!-~]+\t\d+(\t[^\t]+){9}(\t[A-Za-z][A-Za-z0-9]:[ABHZfi]:[^\t]*)*")
Answer = list[tuple[str, str, str]]


class BamReads(Target):
    """Reads of a BAM file; the answer is name, bases and qualities of each read as sequenced."""

    name, suffix = "bam", ".bam"

    def valid(self, folder: Path) -> list[bytes]:
        """Return an unmapped file of single reads, one of pairs, and a mapped one with other records between."""
        return [_written(folder / f"{n}.bam", paired, mapped) for n, (paired, mapped) in enumerate(KINDS)]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change fields of records, of the header, or bytes, below or above BGZF."""
        if generator.random() < 0.1:
            return mutate_bytes(generator, content)
        plain = b"".join(inflated_members(content))
        return bgzf(mutate_plain(generator, plain), generator)

    def read(self, path: Path) -> Answer:
        """Return the reads in the order of the file."""
        return reads_of(path, None)

    def judge(self, path: Path) -> Answer:
        """Return the primary records of `samtools view`, first mates before second mates."""
        return primary(samtools_view(path))


def primary(lines: list[str]) -> Answer:
    """Return name, bases and qualities of the primary records as sequenced, first mates before second mates.

    A quality of 233 is printed as an end of line. Quire does not read qualities of other records than primary ones.

    Raises:
        Refused: a line has fewer fields, as after a name with a tab.
    """
    found: Answer = []
    mates: list[int] = []
    is_cut = False  # a line of another record that may go on
    for line in lines:
        fields = line.split("\t")
        if len(fields) < 11 or not fields[1].isdigit():
            if is_cut:
                continue
            raise Refused(f"a name has a tab or an end of line: {line!r:.80}")
        bits, bases, letters = int(fields[1]), fields[9], fields[10]
        is_cut = bits & 0x900 != 0 and bases != "*" != letters and len(letters) < len(bases)
        if bits & 0x900:
            continue
        if bases == "*":
            bases = letters = ""
        if bits & 16:
            bases, letters = reverse_complement(bases), letters[::-1]
        found.append((fields[0], _four(bases), letters))
        mates.append(bits & 0x81)
    for i in range(0, len(found) - 1, 2):
        if mates[i] == 0x81 and mates[i + 1] == 1:
            found[i : i + 2] = found[i + 1], found[i]
    return found


def reads_of(path: Path, fasta: Path | None) -> Answer:
    """Return the reads of a file in its order, first mates before second mates."""
    found: Answer = []
    for batch in read_alignments(path, 1000, RecordCounts(), fasta, path.parent, 1):
        mates = [batch_reads(mate) for mate in (batch.mate1, batch.mate2) if mate is not None]
        found += [read for pair in zip(*mates, strict=True) for read in pair]
    return found


KINDS = [(False, False), (True, False), (True, True)]


def samtools_view(path: Path, *options: str) -> list[str]:
    """Return the records of a file as SAM lines.

    Raises:
        Refused: samtools does not read the file to its end.
    """
    command = ["samtools", "view", "--no-PG", *options]
    done = subprocess.run([*command, path], capture_output=True, check=False)
    if done.returncode or b"EOF marker is absent" in done.stderr or b"[E::" in done.stderr:
        raise Refused(done.stderr.decode(errors="replace").strip().replace("\n", " "))
    lines = done.stdout.decode("latin-1").split("\n")[:-1]
    if all(map(LINE.fullmatch, lines)):
        return lines
    # Texts of tags have tabs or ends of lines.
    done = subprocess.run([*command, "--keep-tag", "ZZ", path], capture_output=True, check=True)
    return done.stdout.decode("latin-1").split("\n")[:-1]


def record_starts(plain: bytes) -> list[int]:
    """Return the offsets of the records in the content of a valid BAM file, and the offset of its end."""
    at = 8 + struct.unpack_from("<i", plain, 4)[0]
    (contigs,) = struct.unpack_from("<i", plain, at)
    at += 4
    for _ in range(contigs):
        at += 8 + struct.unpack_from("<i", plain, at)[0]
    starts = [at]
    while at < len(plain):
        at += 4 + struct.unpack_from("<i", plain, at)[0]
        starts.append(at)
    return starts


def mutate_plain(generator: random.Random, plain: bytes) -> bytes:
    """Change fields of a record, a tag, the header, whole records or any bytes."""
    starts = record_starts(plain)
    at = generator.randrange(len(starts) - 1)
    begin, end = starts[at], starts[at + 1]
    record, drawn = bytearray(plain[begin:end]), generator.random()
    if drawn < 0.5:
        for _ in range(generator.choice((1, 1, 2))):
            offset, size = FIELDS[generator.choice(list(FIELDS))]
            old = int.from_bytes(record[offset : offset + size], "little")
            new = number(generator) if generator.random() < 0.6 else old + generator.randrange(-3, 4)
            record[offset : offset + size] = little_endian(new, size)
    elif drawn < 0.7:
        changed = mutate_bytes(generator, bytes(record[36:]))
        size = struct.pack("<I", 32 + len(changed)) if generator.random() < 0.7 else bytes(record[:4])
        record = bytearray(size + record[4:36] + changed)
    elif drawn < 0.8:
        return mutate_bytes(generator, plain[: starts[0]]) + plain[starts[0] :]
    elif drawn < 0.9:
        record = generator.choice((bytearray(), record + record, bytearray(plain[starts[0] : starts[1]]) + record))
    else:
        return mutate_bytes(generator, plain)
    return plain[:begin] + bytes(record) + plain[end:]


def _written(path: Path, paired: bool, mapped: bool) -> bytes:
    generator = random.Random(len(path.name) + paired + 2 * mapped)
    header = {"HD": {"VN": "1.6"}, "SQ": [{"SN": "one", "LN": 3000}, {"SN": "two", "LN": 500}], "RG": [{"ID": "a"}]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for n in range(12):
            for mate in (0x41, 0x81) if paired else (0,):
                for more in (0, 0x100, 0x800) if mapped and n % 3 == 0 else (0,):
                    _write(generator, out, f"read{n}", mate | more, mapped)
    return path.read_bytes()


def _write(generator: random.Random, out: pysam.AlignmentFile, name: str, flag: int, mapped: bool) -> None:
    record = pysam.AlignedSegment(out.header)
    length = generator.randrange(1, 40)
    record.query_name = name
    record.flag = flag | (generator.choice((0, 16)) if mapped else 4)
    record.query_sequence = random_bases(generator, length, "ACGTN")
    record.query_qualities = pysam.qualitystring_to_array(
        "".join(chr(33 + generator.randrange(60)) for _ in range(length))
    )
    if mapped:
        record.reference_id, record.reference_start = generator.randrange(2), generator.randrange(400)
        record.cigarstring = f"{length}M"
    tags = {"RG": "a", "NM": 3, "XA": "text", "XF": 0.5, "XC": "c"}
    for tag in generator.sample(sorted(tags), 3):
        record.set_tag(tag, tags[tag])
    record.set_tag("XB", generator.choice(([1, 2, 3], [70000], [0.5, 1.5])))
    out.write(record)


def batch_reads(batch: ReadBatch) -> Answer:
    """Return name, bases and qualities of each read of a batch."""
    letters = np.frombuffer(b"ACGTN", np.uint8)[batch.bases].tobytes().decode()
    qualities = (batch.qualities + 33).tobytes().decode("latin-1")
    return [
        (
            batch.names[batch.name_offsets[i] : batch.name_offsets[i + 1]].tobytes().decode("latin-1"),
            letters[batch.offsets[i] : batch.offsets[i + 1]],
            qualities[batch.offsets[i] : batch.offsets[i + 1]],
        )
        for i in range(len(batch))
    ]


def _four(bases: str) -> str:
    """Return bases with N for every letter that is not A, C, G or T."""
    return "".join(base if base in CODES else "N" for base in bases)
