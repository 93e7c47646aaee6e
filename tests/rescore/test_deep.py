"""Deep haploid samples, a virus at 5,000 times: right calls, no calls of what few reads carry, and in little time."""

import json
import random
import time
from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.rescore import call_gvcf_interval, call_interval

from tests.support.builders import random_bases, write_fasta
from tests.support.defaults import default_settings
from tests.support.gvcf import lines_of, sample_of
from tests.support.simulation import Genome, Variant, indexed_bam

LENGTH, READ, DEPTH = 2000, 150, 5000
SETTINGS = default_settings("rescore")
MOST_SECONDS = 60  # of a processor; 13 were measured


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Variant], int]:
    """A virus, its variants, and reads, one in ten of a second strain with variants of its own; the number of reads."""
    root = tmp_path_factory.mktemp("world")
    generator = random.Random(7)
    letters = random_bases(generator, LENGTH)
    write_fasta(root / "genome.fa", {"virus": letters})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)

    def substitution(p: int) -> Variant:
        return p, letters[p], "ACGT"["ACGT".index(letters[p]) - 1]

    # Indels are spelled leftmost: the base before them differs from their last one.
    at = next(p for p in range(620, 700) if letters[p] != letters[p + 2])
    inserted = "ACGTTGC" + next(base for base in "AC" if base != letters[1200])
    real = [substitution(300), (at, letters[at : at + 3], letters[at]), substitution(900), substitution(905)]
    real += [(1200, letters[1200], letters[1200] + inserted), substitution(1600)]
    minor = sorted([*real, substitution(450), substitution(1400)])
    pairs = LENGTH * DEPTH // (2 * READ)
    genome = Genome("virus", letters, [real] * 9 + [minor])
    indexed_bam(root / "virus.bam", {"virus": LENGTH}, genome.sam_lines(generator, pairs, READ, 300))
    return root, real, 2 * pairs


@pytest.mark.parametrize("road", [call_interval, call_gvcf_interval])
def test_a_virus_at_five_thousand_times(world: tuple[Path, list[Variant], int], tmp_path: Path, road) -> None:
    root, real, reads = world
    row = {"sample": "virus", "ploidy": 1, "bam": root / "virus.bam"}
    output, ledger = tmp_path / "all.vcf.gz", tmp_path / "ledger.json"
    begun = time.process_time()
    given = row if road is call_gvcf_interval else [row]
    road(root / "reference", given, [("virus", 0, LENGTH)], output, SETTINGS, ledger)
    taken = time.process_time() - begun
    assert taken < MOST_SECONDS
    found = [fields for fields in lines_of(output) if sample_of(fields)["GT"] not in ("0", ".")]
    assert [(int(f[1]) - 1, f[3], f[4].split(",")[0]) for f in found] == real
    for fields in found:
        values = sample_of(fields)
        assert (values["GT"], values["GQ"]) == ("1", "99")
        # Mates overlap, and a few starts have more than 50 reads.
        assert int(values["DP"]) > 0.8 * DEPTH
    counts = json.loads(ledger.read_text())["reads"]["virus"]
    assert counts["reads"] == counts["used"] + counts["thinned"] == reads
    assert 0 < counts["thinned"] < 0.1 * reads
