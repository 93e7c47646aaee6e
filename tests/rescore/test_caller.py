"""The whole caller on planted variants: each is found once, with the right genotype, however the genome is split."""

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.errors import InputError
from quire.io.vcf_parts import join
from quire.rescore import chunks, intervals

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_variants
from tests.support.defaults import default_settings
from tests.support.simulation import Genome, Variant, indexed_bam

LENGTH = 6000
SETTINGS = default_settings("rescore")


def planted(generator: random.Random, reference: str) -> list[Variant]:
    """Draw variants of every kind, 250 bases apart."""
    other = {base: "ACGT"["ACGT".index(base) - 1] for base in "ACGT"}
    found = []
    for number, position in enumerate(range(400, LENGTH - 400, 250)):
        before = reference[position]
        kind = number % 3
        if kind == 0:
            found.append((position, before, other[before]))
        elif kind == 1:
            found.append((position, before, before + other[before] + random_bases(generator, number % 12)))
        else:
            size = 2 + number % 20
            found.append((position, reference[position : position + size], before))
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Variant], list[Variant]]:
    """Make a reference of two contigs and the reads of a diploid, a haploid and a sample without reads."""
    root = tmp_path_factory.mktemp("world")
    generator = random.Random(1)
    first, second = random_bases(generator, LENGTH), random_bases(generator, 900)
    write_fasta(root / "genome.fa", {"HLA:1*01": first, "small": second})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    variants = planted(generator, first)
    both, one = variants[::2], variants
    contigs = {"HLA:1*01": LENGTH, "small": 900}
    diploid = Genome("HLA:1*01", first, [one, both])
    indexed_bam(root / "diploid.bam", contigs, diploid.sam_lines(generator, 900))
    haploid = Genome("HLA:1*01", first, [both])
    indexed_bam(root / "haploid.bam", contigs, haploid.sam_lines(generator, 600))
    indexed_bam(root / "empty.bam", contigs, [])
    return root, one, both


SAMPLES = (("diploid", 2), ("haploid", 1), ("empty", 2))


def run(
    root: Path, output: Path, intervals: list[list[tuple[str, int, int]]], samples=SAMPLES, threads: int = 1
) -> list[str]:
    """Return the lines of the gathered VCF of some pieces."""
    sheet = [{"sample": name, "ploidy": ploidy, "bam": root / f"{name}.bam"} for name, ploidy in samples]
    parts = []
    for i, piece in enumerate(intervals):
        part = output / f"{i}.vcf.gz"
        ledger = output / f"{i}.json"
        call_variants(root / "reference", sheet, piece, part, SETTINGS, ledger, root / "genome.fa", threads=threads)
        parts.append(part)
    join(parts, output / "all.vcf.gz", output / "all.vcf.gz.tbi")
    with pysam.BGZFile(str(output / "all.vcf.gz")) as stream:
        return [line.decode() for line in stream]


WHOLE = [[("HLA:1*01", 0, LENGTH), ("small", 0, 900)]]


def spelled(reference: str, calls: list[tuple[int, str, str]]) -> str:
    """Return the reference with calls applied."""
    text, at = "", 0
    for position, before, after in sorted(calls):
        assert reference[position : position + len(before)] == before
        text += reference[at:position] + after
        at = position + len(before)
    return text + reference[at:]


def test_planted_variants_are_found_with_their_genotypes(world, tmp_path: Path) -> None:
    root, one, both = world
    lines = run(root, tmp_path, WHOLE)
    assert f"##reference=file://{root}/genome.fa" in [line.strip() for line in lines]
    with pysam.VariantFile(str(tmp_path / "all.vcf.gz")) as file:
        records = list(file)
    assert len(records) == len(one)
    with pysam.FastaFile(str(root / "genome.fa")) as fasta:
        reference = fasta.fetch("HLA:1*01")
    either, every = [], []
    for record in records:
        assert record.alts is not None
        genotype = record.samples["diploid"].allele_indices
        assert genotype in ((0, 1), (1, 1))
        assert record.samples["haploid"].allele_indices == (int(genotype == (1, 1)),)
        assert record.samples["empty"].allele_indices == (None, None)
        call = (record.start, record.ref, record.alts[0])
        either.append(call)
        if genotype == (1, 1):
            every.append(call)
    # The spelled haplotypes do not depend on where in a repeat an indel is placed.
    assert spelled(reference, either) == spelled(reference, one)
    assert spelled(reference, every) == spelled(reference, both)


def test_calls_do_not_depend_on_how_the_genome_is_shared_out(world, tmp_path: Path, monkeypatch) -> None:
    root, _, _ = world
    whole = run(root, tmp_path / "whole", WHOLE)
    generator = random.Random(5)
    cuts = sorted([0, LENGTH, *(generator.randrange(LENGTH) for _ in range(9))])
    pieces = [[("HLA:1*01", a, b)] for a, b in pairwise(cuts) if a < b] + [[("small", 0, 900)]]
    assert run(root, tmp_path / "cut", pieces) == whole
    monkeypatch.setattr(intervals, "UNIT_BASES", 700)
    assert run(root, tmp_path / "units", WHOLE) == whole
    assert run(root, tmp_path / "processes", WHOLE, threads=3) == whole
    ledgers = [(tmp_path / name / "0.json").read_text() for name in ("whole", "units", "processes")]
    assert ledgers[0] == ledgers[1] == ledgers[2]
    for name in ("FIRST_TILES", "TILES_PER_CHUNK", "BASES_PER_BATCH"):
        monkeypatch.setattr(chunks, name, 1)
    assert run(root, tmp_path / "chunks", WHOLE) == whole


def test_intervals_give_what_the_whole_gives_there(world, tmp_path: Path, monkeypatch) -> None:
    root, _, _ = world
    whole = run(root, tmp_path / "whole", WHOLE)
    spans = [(0, 150), (400, 401), (650, 700), (900, 1150), (3000, 3001), (4150, 5500)]
    expected = [line for line in whole if line[0] == "#" or any(a < int(line.split("\t")[1]) <= b for a, b in spans)]
    assert len(expected) < len(whole)
    pieces = [[("HLA:1*01", a, b) for a, b in spans] + [("small", 5, 10)]]
    assert run(root, tmp_path / "together", pieces) == expected
    monkeypatch.setattr(chunks, "NEAR", 100)
    assert run(root, tmp_path / "apart", pieces) == expected


def test_cram_gives_what_bam_gives(world, tmp_path: Path) -> None:
    """An index of another FASTA beside the reference is neither used nor written."""
    root, _, _ = world
    fasta, cram = tmp_path / "genome.fa", tmp_path / "reads.cram"
    fasta.write_bytes((root / "genome.fa").read_bytes())
    pysam.samtools.view("-C", "-T", str(fasta), "-o", str(cram), str(root / "diploid.bam"), catch_stdout=False)
    pysam.index(str(cram))
    index = tmp_path / "genome.fa.fai"
    index.write_text("another\t1\t1\t1\t2\n")
    texts = []
    for path in (root / "diploid.bam", cram):
        sheet = [{"sample": "diploid", "ploidy": 2, "bam": path}]
        part = tmp_path / f"{path.suffix}.vcf.gz"
        call_variants(root / "reference", sheet, WHOLE[0], part, SETTINGS, tmp_path / "l.json", fasta=fasta)
        texts.append(gzip.decompress(part.read_bytes()).replace(str(path).encode(), b"reads"))  # in the command
    assert texts[0] == texts[1]
    assert index.read_text() == "another\t1\t1\t1\t2\n"


def test_the_ledger_counts_every_read_once(world, tmp_path: Path) -> None:
    root, _, _ = world
    run(root, tmp_path, [[("HLA:1*01", 0, 2222)], [("HLA:1*01", 2222, LENGTH), ("small", 0, 900)]])
    ledgers = [json.loads((tmp_path / f"{i}.json").read_text()) for i in range(2)]
    for sample, reads in (("diploid", 1800), ("haploid", 1200), ("empty", 0)):
        assert sum(ledger["reads"][sample]["reads"] for ledger in ledgers) == reads
        assert sum(ledger["reads"][sample]["used"] for ledger in ledgers) == reads
    assert ledgers[0]["intervals"] == [["HLA:1*01", 0, 2222]]
    whole = tmp_path / "whole"
    whole.mkdir()
    run(root, whole, WHOLE)
    regions = json.loads((whole / "0.json").read_text())["regions"]
    assert regions["active"] > 10
    assert regions == {key: sum(ledger["regions"][key] for ledger in ledgers) for key in regions}


def test_only_samples_without_reads(world, tmp_path: Path) -> None:
    root, _, _ = world
    lines = run(root, tmp_path, WHOLE, [("empty", 2)])
    assert lines[-1].split("\t")[-1] == "empty"


def test_reads_of_another_reference_are_refused(world, tmp_path: Path) -> None:
    root, _, _ = world
    indexed_bam(tmp_path / "other.bam", {"chrX": 500}, [])
    sheet = [{"sample": "s", "ploidy": 2, "bam": tmp_path / "other.bam"}]
    with pytest.raises(InputError, match=r"other\.bam: its contig 'chrX' \(500 bases\) is not in the reference"):
        call_variants(root / "reference", sheet, WHOLE[0], tmp_path / "p.vcf.gz", SETTINGS, tmp_path / "l.json")
    assert not (tmp_path / "p.vcf.gz").exists()


def test_support_of_all_samples_together(tmp_path: Path) -> None:
    """An allele that each of ten samples shows in one read is found if their reads count together."""
    reference = random_bases(random.Random(7), 600)
    changed = reference[:300] + "ACGT"["ACGT".index(reference[300]) - 1] + reference[301:]
    write_fasta(tmp_path / "genome.fa", {"c": reference})
    reference_stage.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    for number in range(10):
        start = 170 + 12 * number
        line = f"r\t0\tc\t{start + 1}\t60\t150M\t*\t0\t0\t{changed[start : start + 150]}\t{'I' * 150}"
        indexed_bam(tmp_path / f"{number}.bam", {"c": 600}, [line])
    sheet = [{"sample": str(number), "ploidy": 2, "bam": tmp_path / f"{number}.bam"} for number in range(10)]
    found = []
    for pooled in (False, True):
        settings, part = SETTINGS | {"pool_support": pooled}, tmp_path / "part.vcf.gz"
        call_variants(tmp_path / "reference", sheet, [("c", 0, 600)], part, settings, tmp_path / "ledger.json")
        with gzip.open(part, "rt") as lines:
            found.append([line.split("\t")[1:5] for line in lines if not line.startswith("#")])
    assert found == [[], [["301", ".", reference[300], changed[300]]]]
