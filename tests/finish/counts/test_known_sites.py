"""Reads of both alleles at known sites, compared with pysam, and used to detect mixtures."""

import gzip
import json
import random
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError, QuireError
from quire.finish.counts.known_sites_cpu import FREQUENCY_BINS, count_known_sites
from quire.finish.counts.sample import FinishedSample
from quire.io.frequencies import read_known_sites
from quire.reference import build
from quire.report.contamination import from_known_sites
from quire.report.counts import read_known_sites as read_cells

from tests.support.builders import random_bases, write_bam, write_fasta

LENGTHS = {"1": 60_000, "X": 2000, "2": 3000}
READ = 100
HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
Sites = list[tuple[str, int, str, str, float]]


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Build a packed reference in a folder; return the folder and the bases."""
    folder = tmp_path_factory.mktemp("known")
    generator = random.Random(2)
    contigs = {name: random_bases(generator, length) for name, length in LENGTHS.items()}
    build(write_fasta(folder / "genome.fa", contigs), folder / "reference", 1 << 20)
    return folder, contigs


def known_sites(contigs: dict[str, str], every: int, seed: int) -> Sites:
    """Return sites at regular distances on all contigs: contig, position, both alleles, frequency."""
    generator = random.Random(seed)
    sites = []
    for name, bases in contigs.items():
        for at in range(50, len(bases) - 50, every):
            other = generator.choice([base for base in "ACGT" if base != bases[at]])
            sites.append((name, at, bases[at], other, generator.uniform(0.06, 0.94)))
    return sites


def write_sites(path: Path, sites: Sites) -> Path:
    """Write the sites as a VCF, with other records that must be skipped."""
    lines = [
        f"{name}\t{at + 1}\t.\t{one}\t{other}\t.\tPASS\tAC=1;AF={frequency}\n"
        for name, at, one, other, frequency in sites
    ]
    lines += [
        "1\t7\t.\tA\tC,G\t.\t.\tAF=0.3,0.2\n",
        "1\t8\t.\tAC\tA\t.\t.\tAF=0.3\n",
        "1\t9\t.\tA\tC\t.\t.\tAF=0.001\n",
    ]
    lines += ["1\t10\t.\tA\tC\t.\t.\tAF=.\n", "elsewhere\t11\t.\tA\tC\t.\t.\tAF=0.5\n"]
    random.Random(1).shuffle(lines)
    path.write_bytes(gzip.compress((HEAD + "".join(lines)).encode()))
    return path


def counted(folder: Path, genome: Path, bam: Path, sites: Path) -> dict:
    """Count a BAM and return the content of the JSON."""
    sample = FinishedSample("S", bam, genome / "reference", genome / "genome.fa")
    count_known_sites(sample, sites, folder / "known.json", 1)
    return json.loads((folder / "known.json").read_text())


def test_reads_are_those_that_a_walk_finds(genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    generator = random.Random(5)
    lines = []
    for number in range(3000):
        name = generator.choice(["1", "1", "X", "2"])
        at = generator.randrange(min(4000, LENGTHS[name]) - 200)
        cigar = generator.choice(["100M", "10S90M", "40M3I57M", "50M5D50M", "30=20X50M", "5H100M", "60M200N40M"])
        letters = "".join(generator.choice("ACGTN") for _ in range(READ))
        quality = "".join(chr(33 + generator.choice((2, 19, 20, 37))) for _ in range(READ))
        flag = generator.choice((0, 0, 16, 256, 1024, 512, 2048, 4))
        place = f"{name}\t{at + 1}\t{generator.choice((0, 19, 20, 60))}\t{cigar if flag != 4 else '*'}"
        lines.append(f"r{number}\t{flag}\t{place}\t*\t0\t0\t{letters}\t{quality}")
    plain, bam = write_bam(tmp_path / "plain.bam", LENGTHS, lines), tmp_path / "sorted.bam"
    pysam.sort("-o", str(bam), str(plain))
    sites = known_sites(genome[1], 7, seed=3)
    content = counted(tmp_path, genome[0], bam, write_sites(tmp_path / "sites.vcf.gz", sites))
    reads = {(name, at): [0, 0] for name, at, *_ in sites if name != "X"}
    alleles = {(name, at): (one, other) for name, at, one, other, _ in sites}
    with pysam.AlignmentFile(str(bam)) as stream:
        for record in stream:
            if record.flag & (4 | 256 | 512 | 1024 | 2048) or record.mapping_quality < 20:
                continue
            assert record.query_sequence is not None
            assert record.query_qualities is not None
            for base, position in record.get_aligned_pairs(matches_only=True):
                place = str(record.reference_name), position
                letter = record.query_sequence[base]
                if place in reads and record.query_qualities[base] >= 20 and letter in alleles[place]:
                    reads[place][alleles[place].index(letter)] += 1
    expected: dict[tuple[int, int, int], int] = {}
    for name, at, _, _, frequency in sites:
        one, other = reads.get((name, at), (0, 0))
        if one + other:
            cell = int(frequency * FREQUENCY_BINS), one, other
            expected[cell] = expected.get(cell, 0) + 1
    assert content["cells"] == [[*cell, expected[cell]] for cell in sorted(expected)]
    assert max(one + other for _, one, other in expected) > 5
    assert (content["sites"], content["covered"]) == (len(reads), sum(expected.values()))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_two_people_mixed(genome: tuple[Path, dict[str, str]], tmp_path: Path, share: float) -> None:
    """Estimate a known percentage of reads with another person's haplotypes."""
    generator = random.Random(int(100 * share))
    bases = genome[1]["1"]
    sites = [site for site in known_sites(genome[1], 25, seed=8) if site[0] == "1"]
    haplotypes = []
    for _ in range(4):
        letters = list(bases)
        for _, at, _, other, frequency in sites:
            if generator.random() < frequency:
                letters[at] = other
        haplotypes.append("".join(letters))
    starts = sorted(generator.randrange(len(bases) - READ) for _ in range(30 * len(bases) // READ))
    lines = []
    for number, at in enumerate(starts):
        person = haplotypes[2:] if generator.random() < share else haplotypes[:2]
        letters = generator.choice(person)[at : at + READ]
        letters = "".join(generator.choice("ACGT") if generator.random() < 0.003 else letter for letter in letters)
        lines.append(f"r{number}\t0\t1\t{at + 1}\t60\t{READ}M\t*\t0\t0\t{letters}\t{'F' * READ}")
    bam = write_bam(tmp_path / "mixed.bam", LENGTHS, lines, order="coordinate")
    counted(tmp_path, genome[0], bam, write_sites(tmp_path / "sites.vcf.gz", sites))
    estimate = from_known_sites(*read_cells(tmp_path / "known.json"))
    assert estimate is not None
    assert estimate.share == pytest.approx(share, rel=0.15)
    assert 0 < estimate.low <= estimate.share <= estimate.high


def test_files_that_cannot_be_used(genome: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "sites.vcf"
    for text, sentence in (
        ("no VCF\n", r"sites\.vcf: is not a VCF"),
        (HEAD + "1\t7\t.\tA\tC\t.\t.\tAF=often\n", r"sites\.vcf: line 3 is not a VCF record"),
        (HEAD + "1\t7\t.\tA\tC\t.\t.\tX=K\udce4se;AF=K\udce4se\n", r"sites\.vcf: line 3 is not a VCF record"),
        (HEAD + "1\t7\t.\tA\tC\n", r"sites\.vcf: line 3 is not a VCF record"),
        (HEAD + "1\t7\t.\tA\tC\t.\t.\tAC=3\n", r"sites\.vcf: has no SNV with AF from 0\.05"),
        (HEAD + "chr1\t7\t.\tA\tC\t.\t.\tAF=0.3\n", "are the names of its contigs those of the FASTA"),
        (HEAD + "1\t90000\t.\tA\tC\t.\t.\tAF=0.3\n", r"sites\.vcf: has no SNV"),
    ):
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(InputError, match=sentence):
            read_known_sites(path, LENGTHS)
    path.write_bytes(
        (HEAD + "1\t7\t.\tA\tC\t.\t.\tX=").encode() + b"K\xe4se;AF=0.3\n"
    )  # other fields need not be UTF-8
    assert read_known_sites(path, LENGTHS).positions.tolist() == [6]
    rows = "".join(f"1\t{position}\t.\tA\tC\t.\t.\tAF=0.{position}\n" for position in range(1, 4000))
    whole = gzip.compress((HEAD + rows).encode())
    spoiled = whole[:2000] + bytes(255 - byte for byte in whole[2000:2100]) + whole[2100:]
    for packed, sentence in ((whole[:60], "ends too early"), (spoiled, "is damaged")):
        path.write_bytes(packed)
        with pytest.raises(InputError, match=rf"sites\.vcf: the gzip stream {sentence}"):
            read_known_sites(path, LENGTHS)
    write_sites(path, known_sites(genome[1], 100, seed=1))
    other = write_bam(tmp_path / "other.bam", {"elsewhere": 100}, [])
    with pytest.raises(QuireError, match=r"other\.bam: its contigs are not those of"):
        counted(tmp_path, genome[0], other, path)
    assert not (tmp_path / "known.json").exists()
