"""Spoiled samples through the whole workflow: planted faults are flagged, and a clean sample of the same run is not."""

import gzip
import json
import random

import pytest

from tests.support.spoiled_reads import (
    DEMO,
    another_genome,
    demo_pairs,
    dimers,
    pairs_of_genome,
    with_random_bases,
    write_pairs,
)
from tests.workflow.runs import Run

pytestmark = pytest.mark.full

SHARE = 0.33  # share of the demo's 52x
OTHER = 0.35
SEX_CONTIGS = {"chrX": 30_000, "chrY": 20_000}
# The sheet's sex, and copies of X and Y per two copies of the autosomes: the mixture's tube was swapped.
SEXES = {"clean": ("female", 2, 0), "mixture": ("male", 2, 0), "noisy": ("male", 1, 1)}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Return the summaries of three samples: clean, a mixture as in issue 14, and one with 4 % random bases."""
    folder = tmp_path_factory.mktemp("spoiled")
    generator = random.Random(14)
    clean = demo_pairs(generator, SHARE)
    number = len(clean)
    own = [pair for pair in clean if generator.random() < 1 - OTHER - 0.05]
    other = pairs_of_genome(generator, another_genome(generator), round(OTHER * number), clean)
    mixture = [*with_random_bases(generator, [*own, *other], 0.02 / 0.75), *dimers(round(0.05 * number), 101)]
    generator.shuffle(mixture)
    samples = {"clean": clean, "mixture": mixture, "noisy": with_random_bases(generator, clean, 0.04)}
    contigs = {name: "".join(generator.choices("ACGT", k=length)) for name, length in SEX_CONTIGS.items()}
    genome = gzip.decompress((DEMO / "hg19.chr20.masked.fa.gz").read_bytes())
    known = sum(map(genome.count, b"ACGTacgt"))  # mostly without reads, so that the mean depth is low
    for sample, (_, *copies) in SEXES.items():
        for (name, sequence), copy in zip(contigs.items(), copies, strict=True):
            pairs = round(number * copy / 2 * len(sequence) / known)
            samples[sample] = [*samples[sample], *pairs_of_genome(generator, [sequence], pairs, clean, name)]
    fasta = folder / "genome.fa"
    more = "".join(f">{name}\n{sequence}\n" for name, sequence in contigs.items())
    fasta.write_bytes(genome + more.encode())
    # The truth's SNVs as common sites: their frequencies hardly matter where the other person has none of them.
    sites = folder / "sites.vcf"
    lines = gzip.decompress((DEMO / "giab_v3.3.2.vcf.gz").read_bytes()).decode().splitlines()
    known = [line.split("\t")[:7] for line in lines if not line.startswith("#")]
    sites.write_text("##fileformat=VCFv4.2\n" + "".join("\t".join([*row, "AF=0.4"]) + "\n" for row in known))
    target = folder / "target.bed"
    target.write_text("chr20\t10000000\t10060000\n")
    run = Run(
        folder,
        config={
            "reference": {"fasta": str(fasta)},
            "rescore": {"intervals": str(target)},
            "report": {"known_sites": str(sites)},
            "align": {"low_depth": 12},
        },
        samples=[{"sample": name, "ploidy": "2", "sex": SEXES[name][0]} for name in samples],
        units=[write_pairs(folder, name, pairs) for name, pairs in samples.items()],
    )
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    summary = json.loads((run.output / "report/summary.json").read_text())
    return {sample["sample"]: sample for sample in summary["samples"]}


def verdicts(sample: dict) -> dict[str, str]:
    """Return verdicts by criterion."""
    return {check["criterion"]: check["verdict"] for check in sample["checks"]}


def test_a_clean_sample_is_not_failed(judged: dict[str, dict]) -> None:
    assert judged["clean"]["verdicts"]["fail"] == 0
    found = verdicts(judged["clean"])
    # GC bias is not judged on a target, mixtures are those of haploid samples, and there is no pedigree.
    not_judged = {key for key, verdict in found.items() if verdict == "not judged"}
    assert not_judged == {"gc_bias", "mixture", "mendelian", "pedigree"}
    assert {key for key, verdict in found.items() if verdict == "look"} <= {"same_person"}
    assert judged["clean"]["contamination"]["percent"] < 1


def test_a_mixture_is_flagged(judged: dict[str, dict]) -> None:
    """35 % reads of another genome, 5 % dimers and 2 % errors are each detected by the corresponding checks."""
    found = verdicts(judged["mixture"])
    assert found["contamination"] == found["het_hom"] == "fail"
    assert found["mismatches"] in ("look", "fail")
    assert found["adapters"] == "look"
    assert 4 < judged["mixture"]["reads"]["adapter_percent"] < 6
    assert judged["mixture"]["contamination"]["from"] == "known sites"
    assert judged["mixture"]["contamination"]["low_percent"] > 25


def test_random_bases_are_flagged(judged: dict[str, dict]) -> None:
    found = verdicts(judged["noisy"])
    assert found["mismatches"] == found["ti_tv"] == "fail"


def test_sex_is_told_by_the_depth_of_x_and_y(judged: dict[str, dict]) -> None:
    """The planted sex is found; only the sample whose sheet contradicts it is flagged."""
    seen = {name: sample["sex"]["seen"] for name, sample in judged.items()}
    assert seen == {"clean": "female", "mixture": "female", "noisy": "male"}
    assert {name: verdicts(sample)["sex"] for name, sample in judged.items()} == {
        "clean": "pass",
        "mixture": "fail",
        "noisy": "pass",
    }
    for name, (_, x, y) in SEXES.items():
        ratios = judged[name]["sex"]
        assert ratios["x_ratio"] == pytest.approx(x / 2, abs=0.15)
        assert ratios["y_ratio"] == pytest.approx(y / 2, abs=0.15)


def test_regions_of_low_depth_are_listed(judged: dict[str, dict]) -> None:
    low = judged["clean"]["low_coverage"]
    assert low["below"] == 12
    assert low["positions"] > low["regions"] > 0
