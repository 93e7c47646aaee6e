"""Deep samples and low complexity: correct calls in little time, and counts of everything that was left out."""

import json
import logging
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.rescore.assembly import RegionAssembly, TriedGraph
from quire.rescore.tally import Tally, sentence

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_gvcf, call_variants
from tests.support.defaults import default_settings
from tests.support.gvcf import lines_of, sample_of
from tests.support.simulation import Genome, Variant, indexed_bam

LENGTH, READ, DEPTH = 2000, 150, 5000
SETTINGS = default_settings("rescore")
MOST_SECONDS = 60  # of CPU time; 13 were measured


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Variant], int]:
    """Make a virus with a second strain in a tenth of its reads; return folder, variants and number of reads."""
    root = tmp_path_factory.mktemp("world")
    generator = random.Random(7)
    letters = random_bases(generator, LENGTH)
    write_fasta(root / "genome.fa", {"virus": letters})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)

    def substitution(p: int) -> Variant:
        return p, letters[p], "ACGT"["ACGT".index(letters[p]) - 1]

    # Indels are left-aligned: the base before them differs from their last one.
    at = next(p for p in range(620, 700) if letters[p] != letters[p + 2])
    inserted = "ACGTTGC" + next(base for base in "AC" if base != letters[1200])
    real = [substitution(300), (at, letters[at : at + 3], letters[at]), substitution(900), substitution(905)]
    real += [(1200, letters[1200], letters[1200] + inserted), substitution(1600)]
    minor = sorted([*real, substitution(450), substitution(1400)])
    pairs = LENGTH * DEPTH // (2 * READ)
    genome = Genome("virus", letters, [real] * 9 + [minor])
    indexed_bam(root / "virus.bam", {"virus": LENGTH}, genome.sam_lines(generator, pairs, READ, 300))
    return root, real, 2 * pairs


@pytest.mark.full
@pytest.mark.parametrize("call", [call_variants, call_gvcf])
def test_a_virus_at_five_thousand_times(world: tuple[Path, list[Variant], int], tmp_path: Path, call) -> None:
    root, real, reads = world
    row = {"sample": "virus", "ploidy": 1, "bam": root / "virus.bam"}
    output, ledger = tmp_path / "all.vcf.gz", tmp_path / "ledger.json"
    begun = time.process_time()
    call(root / "reference", [row], [("virus", 0, LENGTH)], output, SETTINGS, ledger)
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


def test_what_is_given_up_at_ten_thousand_times_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Call a repeat longer than any k-mer, with more haplotypes than are kept and 125 reads per start."""
    generator = random.Random(5)
    letters = random_bases(generator, 500) + "AC" * 200 + random_bases(generator, 500)
    write_fasta(tmp_path / "genome.fa", {"c": letters})
    reference_stage.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    seen = 300, letters[300], "ACGT"["ACGT".index(letters[300]) - 1]
    lines = Genome("c", letters, [[seen]]).sam_lines(generator, 375, READ, 300)
    repeated = [line.replace("pair", f"copy{copy}_", 1) for line in lines for copy in range(125)]
    indexed_bam(tmp_path / "deep.bam", {"c": len(letters)}, repeated)
    row = {"sample": "deep", "ploidy": 1, "bam": tmp_path / "deep.bam"}
    output, ledger = tmp_path / "all.vcf.gz", tmp_path / "ledger.json"
    begun = time.process_time()
    with caplog.at_level(logging.INFO, "quire.rescore"):
        call_variants(tmp_path / "reference", [row], [("c", 0, len(letters))], output, SETTINGS, ledger)
    assert time.process_time() - begun < MOST_SECONDS
    assert [int(fields[1]) - 1 for fields in lines_of(output)] == [seen[0]]
    content = json.loads(ledger.read_text())
    counts, regions = content["reads"]["deep"], content["regions"]
    starts = Counter(line.split("\t")[3] for line in repeated)
    assert counts["thinned"] == sum(max(0, count - SETTINGS["maximum_reads_per_start"]) for count in starts.values())
    assert regions["active"] > regions["too_many_haplotypes"] >= 1
    assert sentence(regions) in caplog.text


def test_regions_are_counted_once() -> None:
    """A region is counted once, in the interval that holds its start; any usable graph counts as assembled."""
    tally = Tally([], [("c", 100, 200), ("c", 300, 400)])
    graphs = [(True, False), (False, True), (True, False), (True, True)]
    assemblies = [
        RegionAssembly([], [TriedGraph(10, False, True, 0), TriedGraph(25, serves, complete, 1)])
        for serves, complete in graphs
    ]
    for starts in ([50, 150, 310, 360], [150, 400]):
        for start, assembly in zip(starts, assemblies, strict=False):
            tally.count_region("c", start, assembly)
    tally.count_region("d", 150, assemblies[0])
    assert tally.regions == {"active": 3, "not_assembled": 1, "too_many_haplotypes": 1}
    assert sentence(tally.regions).startswith("3 active regions; 1 could not be assembled, and of 1 only")
    tally.count_region("c", 101, assemblies[1])
    tally.count_region("c", 106, assemblies[3])
    assert tally.regions == {"active": 5, "not_assembled": 2, "too_many_haplotypes": 1}
