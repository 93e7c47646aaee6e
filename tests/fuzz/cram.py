"""Fuzzers of CRAM files and of sorted BAM files as reads of a unit, judged by `samtools view`."""

import random
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pysam

from tests.fuzz.bam import Answer, BamReads, _written, primary, reads_of
from tests.fuzz.forked import forked_children
from tests.fuzz.memory import answers_differ
from tests.fuzz.mutations import bgzf, inflated_members, mutate_bytes
from tests.fuzz.target import Refused
from tests.support.builders import random_bases, write_fasta

FILE_DEFINITION = 26  # bytes before the first container
RAW, GZIP = 0, 1  # methods of compression of a block


class Sorted(BamReads):
    """Reads of a BAM file that says it is sorted, which samtools collates first."""

    name, suffix = "sorted", ".bam"

    def valid(self, folder: Path) -> list[bytes]:
        """Return files whose header says that they are sorted by coordinate."""
        return [
            bgzf(_sorted(b"".join(inflated_members(_written(folder / f"{n}.bam", n > 0, n > 1))))) for n in range(3)
        ]

    def read(self, path: Path) -> Answer:
        """Return the reads in the order of their names."""
        with forked_children():
            return sorted(super().read(path))

    def judge(self, path: Path) -> Answer:
        """Return the primary records of `samtools view` in the order of their names."""
        return sorted(super().judge(path))


def _sorted(content: bytes) -> bytes:
    """Return the content of a BAM file with a header that says it is sorted."""
    (size,) = struct.unpack_from("<i", content, 4)
    text = content[8 : 8 + size].replace(b"VN:1.6", b"VN:1.6\tSO:coordinate")
    return content[:4] + struct.pack("<i", len(text)) + text + content[8 + size :]


class Cram(BamReads):
    """Reads of a CRAM file, of versions 2.1, 3.0 and 3.1, decoded with a reference."""

    name, suffix = "cram", ".cram"

    def valid(self, folder: Path) -> list[bytes]:
        """Return files without positions and with them, with several codecs."""
        self._contigs = {"one": random_bases(random.Random(1), 3000), "two": random_bases(random.Random(2), 500)}
        self._fasta = write_fasta(folder / "genome.fa", self._contigs)
        pysam.faidx(str(self._fasta))
        return [
            self._made(folder, paired, mapped, version)
            for version in ("2.1", "3.0", "3.0,use_bzip2=1,use_lzma=1", "3.1,use_arith=1,use_tok=1")
            for paired, mapped in ((False, False), (True, True))
        ]

    def _made(self, folder: Path, paired: bool, mapped: bool, version: str) -> bytes:
        bam, cram = folder / "made.bam", folder / "made.cram"
        _written(bam, paired, mapped)
        kind = f"cram,version={version},seqs_per_slice=9"
        pysam.view("-O", kind, "-T", str(self._fasta), "-o", str(cram), str(bam), catch_stdout=False)
        return cram.read_bytes()

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change the content of a block or the header of a container, with right checksums; or any bytes."""
        if generator.random() < (0.5 if content[4] < 3 else 0.1):
            return mutate_bytes(generator, content)
        return changed_container(generator, content)

    def read(self, path: Path) -> Answer:
        """Return the reads in the order of the file."""
        with forked_children():
            return reads_of(path, self._fasta)

    def judge(self, path: Path) -> Answer:
        """Return the primary records of `samtools view`, first mates before second mates."""
        command = ["samtools", "view", "--no-PG", "-T", str(self._fasta), "--keep-tag", "ZZ", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=2)
        except subprocess.TimeoutExpired:
            raise Refused("samtools does not end") from None
        if done.returncode or b"EOF marker is absent" in done.stderr or b"[E::" in done.stderr:
            raise Refused(done.stderr.decode(errors="replace").strip().replace("\n", " "))
        return primary(done.stdout.decode("latin-1").split("\n")[:-1])

    def undefined(self, path: Path) -> bool:
        """See `tests.fuzz.memory`."""
        return answers_differ(["-T", str(self._fasta), str(path)])


def changed_container(generator: random.Random, content: bytes) -> bytes:
    """Return a valid file with a change of a container's header or of the content of one of its blocks."""
    containers = list(split(content))
    at = generator.randrange(len(containers) - 1)
    return content[:FILE_DEFINITION] + b"".join(
        joined(containers[i], generator if i == at else None, content[4]) for i in range(len(containers))
    )


class Block(NamedTuple):
    """A block of a container (CRAM specification, section 8)."""

    method: int
    kind: int
    number: bytes
    size: int
    content: bytes


class Container(NamedTuple):
    """A container (section 7): the fields of its header between length and landmarks, and its blocks."""

    fields: bytes
    blocks: list[Block]
    end: bytes


def itf8(value: int) -> bytes:
    """Return a number as ITF8."""
    for size, mark in ((1, 0), (2, 0x80), (3, 0xC0), (4, 0xE0)):
        if value < 1 << 7 * size:
            data = value.to_bytes(size, "big")
            return bytes([data[0] | mark]) + data[1:]
    return bytes([0xF0 | value >> 28 & 15]) + (value >> 4 & 0xFFFFFF).to_bytes(3, "big") + bytes([value & 15])


def read_itf8(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in ITF8 and the place after it."""
    first = data[at]
    size = next(n for n in range(5) if n == 4 or not first << n & 0x80)
    if size < 4:
        return int.from_bytes(data[at : at + size + 1], "big") & (1 << 7 * (size + 1)) - 1, at + size + 1
    return (first & 15) << 28 | int.from_bytes(data[at + 1 : at + 4], "big") << 4 | data[at + 4] & 15, at + 5


def split(content: bytes) -> Iterator[Container]:
    """Yield the containers of a valid file."""
    at, checksum = FILE_DEFINITION, 4 if content[4] >= 3 else 0
    while at < len(content):
        start, (length,) = at, struct.unpack_from("<i", content, at)
        at += 4
        for _ in range(4):
            _, at = read_itf8(content, at)
        for _ in range(2):  # LTF8: as many leading ones as further bytes
            at += 1 + next(n for n in range(9) if n == 8 or not content[at] << n & 0x80)
        before = content[start + 4 : at]
        count, after = read_itf8(content, at)
        landmarks, place = read_itf8(content, after)
        for _ in range(landmarks):
            _, place = read_itf8(content, place)
        at = place + checksum
        end = at + length
        blocks = []
        for _ in range(count):
            method, kind = content[at], content[at + 1]
            _, next_at = read_itf8(content, at + 2)
            packed, sizes = read_itf8(content, next_at)
            size, begin = read_itf8(content, sizes)
            blocks.append(Block(method, kind, content[at + 2 : next_at], size, content[begin : begin + packed]))
            at = begin + packed + checksum
        yield Container(before, blocks, content[at:end])
        at = end


def joined(container: Container, generator: random.Random | None, version: int) -> bytes:
    """Return the bytes of a container with right checksums, mutated if a generator is given."""
    blocks, fields = list(container.blocks), container.fields
    if generator is not None:
        at = generator.randrange(-1, len(blocks))
        if at < 0:
            fields = mutate_bytes(generator, fields)
        else:
            blocks[at] = changed(generator, blocks[at])
    parts, landmarks, place = [], [], 0
    for block in blocks:
        data = (
            bytes([block.method, block.kind])
            + block.number
            + itf8(len(block.content))
            + itf8(block.size)
            + block.content
        )
        data += struct.pack("<I", zlib.crc32(data)) if version >= 3 else b""
        if block.kind == 2:  # the header of a slice
            landmarks.append(place)
        parts.append(data)
        place += len(data)
    body = b"".join(parts) + container.end
    head = (
        struct.pack("<i", len(body))
        + fields
        + itf8(len(blocks))
        + itf8(len(landmarks))
        + b"".join(map(itf8, landmarks))
    )
    return head + (struct.pack("<I", zlib.crc32(head)) if version >= 3 else b"") + body


def changed(generator: random.Random, block: Block) -> Block:
    """Return a block with other content, method, kind or size."""
    content, method, size = block.content, block.method, block.size
    drawn = generator.random()
    if drawn < 0.75:
        if method == GZIP:
            content, method = zlib.decompressobj(31).decompress(content), RAW
        content = mutate_bytes(generator, content)
        size = len(content) if method == RAW else size
    elif drawn < 0.85:
        size = generator.choice((0, 1, size + 1, 2 * size, 1 << 20, (1 << 31) - 1, (1 << 32) - 1))
    elif drawn < 0.95:
        method = generator.randrange(10)
    else:
        return block._replace(kind=generator.randrange(7))
    return block._replace(content=content, method=method, size=size)
