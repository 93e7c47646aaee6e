"""Templates for the records of simulated gVCFs, apart from their alleles: Quire's records of real reads.

NA12878 of GATK's regression test is called at five depths around 30x, 450 kb of chr20 and
chr21. `bench.cohort_samples` takes reference blocks and the values of variants from these gVCFs; a kernel writes the
lines.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from quire import reference
from quire.io.vcf import NON_REFERENCE
from quire.rescore.caller import call_interval
from quire.rescore.gvcf.blocks_cpu import BLOCK_CUT
from quire.rescore.job import CallingRequest, Output
from quire.simd.compiled import compiled

from bench.common import calling_settings
from bench.gvcf import records as lines_of

REGIONS = (("20", 10_000_000, 10_250_000), ("21", 10_000_000, 10_200_000))
DEPTHS = ((0.40, 0.27), (0.45, 0.30), (0.45, 0.31), (0.50, 0.34), (0.55, 0.38))
"""Shares of the reads of both regions, which are 75x and 110x deep, in each template."""
UNREAD_BLOCK = "0/0:0:0:0:0,0,0"
LINE_BYTES = 160  # more than any line of a block
BEFORE_ALTERNATE = np.frombuffer(b"\t.\t", np.uint8)
BEFORE_END = np.frombuffer(b"\t<NON_REF>\t.\t.\tEND=", np.uint8)


class Blocks(NamedTuple):
    """Reference blocks of windows of BLOCK_CUT bases, each covered completely.

    Attributes:
        windows: int64[windows + 1], first block of each window.
        starts: int64[blocks], first base in the window.
        values: int64[blocks], number of its text.
        offsets: int64[texts + 1], where a text begins.
        text: uint8[], FORMAT and the sample's column of every text, each with the end of the line.
    """

    windows: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    text: np.ndarray

    @classmethod
    def of(
        cls, windows: Sequence[int], starts: Sequence[int], values: Sequence[int], columns: Sequence[str]
    ) -> "Blocks":
        """Make blocks from their parts; `columns` are the sample's columns."""
        offsets, text = _ragged([f"\tGT:DP:GQ:MIN_DP:PL\t{column}\n" for column in columns])
        return cls(np.array(windows), np.array(starts), np.array(values), offsets, text)


class Places(NamedTuple):
    """A region: name of the contig, 0-based start and end (multiples of BLOCK_CUT), and letters from start on."""

    contig: np.ndarray
    start: int
    end: int
    letters: np.ndarray

    @classmethod
    def of(cls, contig: str, start: int, end: int, letters: str) -> "Places":
        """Cut a region from the letters of a contig."""
        name = np.frombuffer(contig.encode() + b"\t", np.uint8).copy()
        return cls(name, start, end, np.frombuffer(letters[start:end].encode(), np.uint8).copy())


def write_lines(
    places: Places, windows: np.ndarray, blocks: Blocks, starts: np.ndarray, ends: np.ndarray, records: Sequence[str]
) -> np.ndarray:
    """Return uint8[], the lines of a gVCF: records, and the blocks of the windows between them.

    Args:
        places: the region.
        windows: int64[windows], number of the window in `blocks` for each window of the region.
        blocks: blocks of all windows.
        starts: int64[records], ascending, 0-based.
        ends: int64[records], behind the last base that a record covers.
        records: lines.
    """
    offsets, text = _ragged(records)
    pieces = int((blocks.windows[windows + 1] - blocks.windows[windows]).sum()) + 2 * len(records)
    out = np.empty(pieces * LINE_BYTES + text.size, np.uint8)
    size = _write_lines(
        out, places.contig, places.start, places.letters, windows, *blocks, starts, ends, offsets, text,
        BEFORE_ALTERNATE.copy(), BEFORE_END.copy(),
    )  # fmt: skip
    return out[:size]


def _ragged(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return offsets, np.frombuffer(bytearray("".join(texts).encode()), np.uint8)


@compiled
def _write_lines(
    out, contig, first, letters, windows, window_blocks, block_starts, block_values, value_offsets, value_text,
    record_starts, record_ends, record_offsets, record_text, before_alternate, before_end,
):  # fmt: skip
    """Write the lines to `out` and return their size."""
    size, record, covered = 0, 0, 0
    for window in range(len(windows)):
        base = first + window * BLOCK_CUT
        end_block = window_blocks[windows[window] + 1]
        for block in range(window_blocks[windows[window]], end_block):
            place = base + block_starts[block]
            end = base + (block_starts[block + 1] if block + 1 < end_block else BLOCK_CUT)
            while place < end:
                while record < len(record_starts) and record_starts[record] <= place:
                    size = _put(out, size, record_text, record_offsets[record], record_offsets[record + 1])
                    covered = max(covered, record_ends[record])
                    record += 1
                stop = min(covered, end) if covered > place else end
                if record < len(record_starts) and record_starts[record] < stop:
                    stop = record_starts[record]
                if covered <= place:
                    size = _put(out, size, contig, 0, len(contig))
                    size = _put_number(out, size, place + 1)
                    size = _put(out, size, before_alternate, 0, len(before_alternate))
                    out[size] = letters[place - first]
                    size = _put(out, size + 1, before_end, 0, len(before_end))
                    size = _put_number(out, size, stop)
                    value = block_values[block]
                    size = _put(out, size, value_text, value_offsets[value], value_offsets[value + 1])
                place = stop
    return size


@compiled
def _put(out, size, text, begin, end):
    """Copy text[begin:end] to `out` at `size`; return the place behind it."""
    for i in range(begin, end):
        out[size + i - begin] = text[i]
    return size + end - begin


@compiled
def _put_number(out, size, number):
    """Write a positive number in decimal; return the place behind it."""
    digits, rest = 0, number
    while rest:
        digits += 1
        rest //= 10
    for i in range(size + digits - 1, size - 1, -1):
        out[i] = 48 + number % 10
        number //= 10
    return size + digits


class Entry(NamedTuple):
    """The values of a real record: QUAL and INFO, GT, and the values of FORMAT before and after those of a phase."""

    info: str
    genotype: str
    values: str
    strands: str


class Templates(NamedTuple):
    """Blocks and values of real gVCFs.

    Attributes:
        blocks: blocks of all windows; the last window has no reads.
        first: first window of each template, and the end of the last.
        entries: by kind (`snv`, `indel`) and number of alternate alleles; 3 for two different ones. None is a variant
            that was not found.
        false: alleles and entry of each record of a site that is not in the truth.
        head: header lines.
    """

    blocks: Blocks
    first: list[int]
    entries: dict[tuple[str, int], list[Entry | None]]
    false: list[tuple[str, str, Entry]]
    head: list[str]


def call_templates(data: Path, work: Path) -> list[Path]:
    """Call NA12878 at each depth; return the gVCFs."""
    work.mkdir(parents=True, exist_ok=True)
    folder = data / "gatk_haplotypecaller"
    fasta, packed = folder / "human_g1k_v37.20.21.fasta.gz", work / "reference"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    paths = []
    for number, shares in enumerate(DEPTHS):
        path = work / f"template_{number}.g.vcf.gz"
        paths.append(path)
        if path.exists():
            continue
        parts = []
        for share, (contig, start, end) in zip(shares, REGIONS, strict=True):
            part = work / f"template_{number}_{contig}.bam"
            given = [
                "--subsample",
                str(share),
                "--subsample-seed",
                str(number),
                "-T",
                str(fasta),
                "-b",
                "-o",
                str(part),
            ]
            alignment = next(folder.glob("*.cram"))
            pysam.view(*given, str(alignment), f"{contig}:{start - 1000}-{end + 1000}", catch_stdout=False)
            parts.append(str(part))
        bam = work / f"template_{number}.bam"
        pysam.cat("-o", str(bam), *parts)
        pysam.index(str(bam))
        what = {"sample": "NA12878", "ploidy": 2, "bam": str(bam)}
        given = (packed, [what], REGIONS, path, calling_settings(), f"{path}.json", fasta)
        call_interval(CallingRequest(Output.GVCF, *given))
    return paths


def read_templates(paths: list[Path], truth: Path) -> Templates:
    """Read blocks and records of gVCFs."""
    true = _true_genotypes(truth)
    texts: dict[str, int] = {}
    first, windows, starts, values = [], [0], [], []
    entries: dict[tuple[str, int], list[Entry | None]] = defaultdict(list)
    false = []
    for path in paths:
        first.append(len(windows) - 1)
        found: dict[int, list[tuple[list[str], Entry]]] = defaultdict(list)
        window = -1
        for fields in lines_of(path):
            start = int(fields[1]) - 1
            if fields[4] != NON_REFERENCE:
                if fields[0] == REGIONS[0][0]:
                    found[start].append(([fields[3], *fields[4].split(",")[:-1]], _entry(fields)))
                continue
            if start // BLOCK_CUT != window:
                window = start // BLOCK_CUT
                windows.append(windows[-1])
            starts.append(start % BLOCK_CUT if windows[-1] > windows[-2] else 0)
            values.append(texts.setdefault(fields[9], len(texts)))
            windows[-1] += 1
        for start, spelt in true.items():
            alleles, number = spelt
            if start not in found:
                entries[kind_of(alleles), number].append(None)
        for start, items in found.items():
            for alleles, entry in items:
                if true.get(start, ((), 0))[0] == tuple(alleles):
                    entries[kind_of(alleles), true[start][1]].append(entry)
                elif len(alleles) == 3 and entry.genotype == "1/2":
                    entries[kind_of(alleles), 3].append(entry)
                elif start not in true and len(alleles) == 2:
                    false.append((*alleles, entry))
    first.append(len(windows) - 1)
    starts.append(0)
    values.append(texts.setdefault(UNREAD_BLOCK, len(texts)))
    windows.append(windows[-1] + 1)
    blocks = Blocks.of(windows, starts, values, list(texts))
    with pysam.BGZFile(str(paths[0]), "rb", None) as stream:
        head = [line.decode() for line in stream if line.startswith(b"##")]
    return Templates(blocks, first, dict(entries), false, head)


def _true_genotypes(path: Path) -> dict[int, tuple[tuple[str, ...], int]]:
    """Return alleles and number of alternates of the biallelic true variants of the first region, by start."""
    found = {}
    with pysam.VariantFile(str(path)) as file:
        for record in file.fetch(*REGIONS[0]):
            alleles, genotype = record.alleles, record.samples[0].allele_indices
            if alleles is not None and len(alleles) == 2 and genotype is not None and None not in genotype:
                found[record.start] = alleles, sum(genotype)
    return found


def _entry(fields: list[str]) -> Entry:
    values = dict(zip(fields[8].split(":"), fields[9].split(":"), strict=True))
    genotype = "/".join(sorted(values["GT"].replace("|", "/").split("/")))
    main = ":".join(values[key] for key in ("AD", "DP", "GQ", "PL"))
    return Entry("\t".join(fields[5:8]), genotype, main, values["SB"])


def kind_of(alleles: list[str] | tuple[str, ...]) -> str:
    """Return `snv` if all alleles are single bases, else `indel`."""
    return "snv" if all(len(allele) == 1 for allele in alleles) else "indel"
