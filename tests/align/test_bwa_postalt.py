"""Alternate contigs with alignments: Quire's records against bwa mem's with the rules of bwa-postalt."""

import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pysam
import pytest
from quire.align.parameters import MOST_QUALITY

from tests.align.test_alternate import by_read, place
from tests.oracles.lift_over import ContigAlignment, PlacedHit, lift_over
from tests.support.alternate_genomes import AlternateGenome, drawn_pairs, make_alternate_genome, write_genome
from tests.support.builders import random_bases
from tests.support.read_builders import build_index, map_files, write_pairs

pytestmark = pytest.mark.full

PAIRS = 700
ELEMENT = re.compile(r"(\d+)([MIDSH])")


class Peer:
    """bwa mem's records of a read as hits, and the results of lifting them over."""

    def __init__(self, genome: AlternateGenome) -> None:
        self.names = list(genome.contigs)
        self.alternate = [self.names.index(name) for name in genome.listed]
        self.alignments: dict[int, list[ContigAlignment]] = {}
        for line in genome.lines:
            name, flag, target, position, _, cigar = line.split("\t")[:6]
            if target != "*":
                elements = [(int(length), operation) for length, operation in ELEMENT.findall(cigar)]
                found = ContigAlignment(self.names.index(target), bool(int(flag) & 16), int(position) - 1, elements)
                self.alignments.setdefault(self.names.index(name), []).append(found)

    def hit(self, name: str, start: int, reverse: bool, cigar: str, distance: int, rank: int) -> PlacedHit:
        """Return the hit that a record, or an entry of XA, describes."""
        elements = [(int(length), operation) for length, operation in ELEMENT.findall(cigar)]
        sums = Counter(dict.fromkeys("MIDSH", 0))
        for length, operation in elements:
            sums[operation] += length
        gaps = sum(operation in "ID" for _, operation in elements)
        score = sums["M"] - 5 * (distance - sums["I"] - sums["D"]) - 6 * gaps - sums["I"] - sums["D"]
        clips = [length if operation in "SH" else 0 for length, operation in (elements[0], elements[-1])]
        length = sums["M"] + sums["I"] + sums["S"] + sums["H"]
        begin, end = clips[reverse], length - clips[not reverse]
        contig = self.names.index(name)
        return PlacedHit(contig, start, start + sums["M"] + sums["D"], reverse, score, begin, end, rank)

    def rows(self, records: list[pysam.AlignedSegment]) -> list[tuple]:
        """Return contig, position, strand, quality, presence of om, and lt of the records of a mapped read."""
        reported, others = [], []
        for record in records:
            on_primary = self.names.index(record.reference_name) not in self.alternate
            rank = len(reported) + (0 if on_primary else 1000)
            reported.append(
                (
                    self.hit(
                        record.reference_name, record.reference_start, record.is_reverse, record.cigarstring,
                        record.get_tag("NM"), rank,
                    ),
                    record.mapping_quality,
                )
            )  # fmt: skip
        known = {(hit.contig, hit.start, hit.reverse) for hit, _ in reported}
        for record in records:
            for entry in (record.get_tag("XA") if record.has_tag("XA") else "").split(";")[:-1]:
                name, start, cigar, distance = entry.rsplit(",", 3)
                rank = 100 + len(others) + (1000 if self.names.index(name) in self.alternate else 0)
                hit = self.hit(name, abs(int(start)) - 1, start[0] == "-", cigar, int(distance), rank)
                if (hit.contig, hit.start, hit.reverse) not in known:
                    others.append(hit)
        length = records[0].query_length
        return [
            (
                (self.names[row.hit.contig], row.hit.start, row.hit.reverse), row.quality, row.original_quality >= 0,
                "".join(f"{self.names[to.contig]},{to.start},{to.end},{'+-'[to.reverse]};" for to in row.lifted),
            )
            for row in lift_over(reported, others, length, self.alternate, self.alignments)
        ]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[AlternateGenome, Path, Path, list[Path], Path]:
    """Return the genome, its FASTA, its list, the reads, and Quire's records of them."""
    folder = tmp_path_factory.mktemp("postalt")
    generator = random.Random(8)
    genome = make_alternate_genome(generator, random_bases(generator, 60_000), random_bases(generator, 40_000))
    fasta, listed = write_genome(folder, genome)
    mates = write_pairs(folder, drawn_pairs(generator, genome, PAIRS, errors=0.004))
    bam = map_files(folder, build_index(folder, fasta), mates, alternate=listed).bam
    return genome, fasta, listed, mates, bam


def told(record: pysam.AlignedSegment) -> tuple:
    """Return the same fields of one of Quire's records."""
    text = record.get_tag("lt") if record.has_tag("lt") else ""
    return place(record), record.mapping_quality, record.has_tag("om"), text


@pytest.mark.skipif(shutil.which("bwa") is None, reason="compares with bwa")
def test_qualities_tags_and_added_records_are_bwa_postalts(run) -> None:
    genome, fasta, _, mates, bam = run
    peer, sam = Peer(genome), fasta.parent / "bwa.sam"
    subprocess.run(f"bwa index {fasta} 2> /dev/null", shell=True, check=True)
    subprocess.run(f"bwa mem {fasta} {mates[0]} {mates[1]} > {sam} 2> /dev/null", shell=True, check=True)
    ours, theirs = by_read(bam), by_read(sam)
    assert set(ours) == set(theirs)
    same: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for read, records in theirs.items():
        if records[0].is_unmapped:
            continue
        own, wanted = [told(record) for record in ours[read]], peer.rows(records)
        same["place"] += own[0][0] == wanted[0][0]
        same["certain"] += (own[0][1] >= 20) == (wanted[0][1] >= 20)
        same["om"] += own[0][2] == wanted[0][2]
        same["lt"] += own[0][3] == wanted[0][3]
        same["all places and lt"] += Counter((row[0], row[3]) for row in own) == Counter((r[0], r[3]) for r in wanted)
        qualities = {row[0]: row[1] for row in own}
        same["all certain"] += all((qualities.get(r[0], r[1]) >= 20) == (r[1] >= 20) for r in wanted)
        seen["changed"] += any(
            row[1] != record.mapping_quality for row, record in zip(wanted, records, strict=False) if row[2]
        )
        seen["added"] += len(wanted) > len(records)
        seen["all"] += 1
    shares = {name: count / seen["all"] for name, count in same.items()}
    assert min(shares[name] for name in ("certain", "all certain", "lt", "om")) >= 0.985, shares
    assert min(shares["place"], shares["all places and lt"]) >= 0.96, shares  # 4 kb copies, random ties
    assert min(seen["changed"], seen["added"]) > 0.1 * seen["all"], seen


def test_alternate_records_are_certain_and_whole(run) -> None:
    """A read's hit on another version of a place does not lower its quality, and contains the whole read."""
    genome, _, _, _, bam = run
    added = 0
    for (name, _), records in by_read(bam).items():
        for record in records[1:]:
            if record.reference_name not in genome.listed:
                continue
            assert record.is_supplementary
            assert "H" not in record.cigarstring
            assert not record.has_tag("SA") or "pa" in dict(records[0].get_tags())
            added += not record.has_tag("SA")
        if name.startswith("HLA-A"):
            assert any(record.mapping_quality == MOST_QUALITY for record in records)
    assert added > 200
