"""Verdicts of the criteria: pass, look, fail, and not judged with the reason."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from quire.report.criteria import BY_KEY, CRITERIA, FAIL, LOOK, NOT_JUDGED, PASS, Setting, check_sample, count_verdicts
from quire.report.samples import _mixture, human_assembly, setting_of, summarise_sex

REPOSITORY = Path(__file__).parents[2]
GENOME = Setting(human="GRCh38", target=False, panel=False)
GOOD = {
    "sample": "good",
    "ploidy": 2,
    "reads": {
        **{"total": 9, "mapped": 9, "mapped_percent": 99.0, "properly_paired_percent": 97.0, "duplicates_percent": 9.0},
        **{"mismatches_per_base": 0.003, "adapter_percent": 0.1},
    },
    "insert_size": {"read_lengths": 2.5, "spread": 0.3},
    "gc_bias": {"at_dropout": 2.0, "gc_dropout": 1.0},
    "coverage": {"mean": 32.0, "breadth_10x_percent": 98.0, "fold_80": 1.2},
    "variants": {
        **{"snvs": 4_000_000, "indels": 800_000, "transitions": 2_700_000, "transversions": 1_300_000},
        **{"heterozygous": 2_900_000, "homozygous": 1_800_000, "reference": 0, "missing": 0},
    },
    "allele_balance": {"sites": 1000, "outside_percent": 0.5},
    "mixture": {"sites": 100, "mixed_percent": 1.0},
    "contamination": {"from": "known sites", "percent": 0.3, "low_percent": 0.2, "high_percent": 0.4, "sites": 1000},
    "sex": {"x_ratio": 0.99, "y_ratio": 0.01, "seen": "female", "sheet": "female", "reason": ""},
    "relatives": {"same_person": [], "reason": ""},
    "pedigree": {"father": "a", "mother": "b", "errors_percent": 0.5, "judged": 2, "contradictions": []},
}


def verdicts(changes: dict, setting: Setting = GENOME) -> dict[str, str]:
    """Return each criterion's verdict on the good sample with changes, given as block: keys (or a value)."""
    sample = copy.deepcopy(GOOD)
    for block, keys in changes.items():
        sample[block] = sample[block] | keys if isinstance(keys, dict) else keys
    return {check["criterion"]: check["verdict"] for check in check_sample(sample, setting)}


def test_a_good_genome_passes_everything() -> None:
    assert {key for key, verdict in verdicts({}).items() if verdict != PASS} == {"mixture"}  # of haploid samples
    assert count_verdicts(check_sample(GOOD, GENOME)) == {PASS: len(CRITERIA) - 1, LOOK: 0, FAIL: 0, NOT_JUDGED: 1}


@pytest.mark.parametrize(
    ("key", "changes", "verdict"),
    [
        ("mapped", {"reads": {"mapped_percent": 80.0}}, LOOK),
        ("mapped", {"reads": {"mapped_percent": 60.0}}, FAIL),
        ("proper_pairs", {"reads": {"properly_paired_percent": 50.0}}, FAIL),
        ("duplicates", {"reads": {"duplicates_percent": 40.0}}, LOOK),
        ("insert_size", {"insert_size": {"read_lengths": 0.9}}, FAIL),
        ("insert_spread", {"insert_size": {"spread": 0.9}}, LOOK),
        ("mismatches", {"reads": {"mismatches_per_base": 0.03}}, FAIL),
        ("adapters", {"reads": {"adapter_percent": 5.0}}, LOOK),
        ("gc_bias", {"gc_bias": {"gc_dropout": 12.0}}, LOOK),
        ("coverage", {"coverage": {"mean": 4.0}}, FAIL),
        ("breadth", {"coverage": {"breadth_10x_percent": 90.0}}, LOOK),
        ("evenness", {"coverage": {"fold_80": 2.0}}, LOOK),
        ("ti_tv", {"variants": {"transitions": 2_000_000, "transversions": 2_000_000}}, FAIL),
        ("ti_tv", {"variants": {"transitions": 2_500_000, "transversions": 1_400_000}}, LOOK),
        # The same ratio from few variants may be chance; a larger deviation is significant.
        ("ti_tv", {"variants": {"snvs": 78, "indels": 15, "transitions": 50, "transversions": 28}}, PASS),
        ("ti_tv", {"variants": {"snvs": 400, "indels": 80, "transitions": 204, "transversions": 196}}, FAIL),
        ("het_hom", {"variants": {"heterozygous": 390, "homozygous": 0}}, FAIL),
        ("het_hom", {"variants": {"heterozygous": 587, "homozygous": 3}}, FAIL),
        ("het_hom", {"variants": {"heterozygous": 0, "homozygous": 9}}, PASS),
        ("het_hom", {"variants": {"heterozygous": 0, "homozygous": 900}}, FAIL),
        ("het_hom", {"variants": {"heterozygous": 300, "homozygous": 900}}, FAIL),
        ("indel_snv", {"variants": {"indels": 1_600_000}}, LOOK),
        ("missing", {"variants": {"missing": 400_000}}, LOOK),
        ("allele_balance", {"allele_balance": {"outside_percent": 30.0}}, FAIL),
        ("mixture", {"ploidy": 1, "mixture": {"sites": 10, "mixed_percent": 20.0}}, FAIL),
        ("mixture", {"ploidy": 1, "mixture": {"sites": 10, "mixed_percent": 10.0}}, LOOK),
        ("contamination", {"contamination": {"percent": 3.0, "low_percent": 2.8}}, LOOK),
        ("contamination", {"contamination": {"percent": 3.0, "low_percent": 0.0}}, PASS),
        ("contamination", {"contamination": {"percent": 4.0, "low_percent": 0.0, "high_percent": 5.0}}, PASS),
        ("contamination", {"contamination": {"percent": 7.0, "low_percent": 2.1, "high_percent": 30.0}}, LOOK),
        ("sex", {"sex": {"sheet": "male"}}, FAIL),
        ("sex", {"sex": {"seen": "unclear"}}, LOOK),
        ("same_person", {"relatives": {"same_person": ["other"]}}, LOOK),
    ],
)
def test_what_is_out_of_range_is_seen_there_alone(key: str, changes: dict, verdict: str) -> None:
    found = verdicts(changes)
    assert {name for name, told in found.items() if told in (LOOK, FAIL)} == ({key} if verdict != PASS else set())
    assert found[key] == verdict


@pytest.mark.parametrize(
    ("keys", "changes", "setting", "reason"),
    [
        ("ti_tv het_hom indel_snv", {}, Setting(None, False, False), "the reference is not a known human assembly"),
        ("gc_bias ti_tv het_hom indel_snv", {}, Setting("GRCh38", True, True), "the target is a panel or an exome"),
        ("gc_bias", {}, Setting("GRCh38", True, False), "reads are expected on the target alone"),
        ("het_hom allele_balance contamination", {"ploidy": 1}, GENOME, "the sample's ploidy is 1"),
        ("ti_tv het_hom indel_snv", {"variants": {"snvs": 20}}, GENOME, "fewer than 50 SNVs"),
        ("allele_balance", {"allele_balance": {"sites": 3}}, GENOME, "fewer than 30 heterozygous SNVs"),
        (
            "het_hom allele_balance contamination mixture",
            {"ploidy": 1, "mixture": {"sites": 9}},
            GENOME,
            "fewer than 10 haploid SNVs",
        ),
        ("mixture", {"ploidy": 2}, GENOME, "the sample's ploidy is 2"),
        (
            "het_hom allele_balance contamination mixture",
            {"ploidy": 1},
            Setting("GRCh38", False, False, together=True),
            "samples that are called at once share their haplotypes",
        ),
        ("duplicates", {}, Setting("GRCh38", False, False, marked=False), "they are not marked"),
        ("contamination", {"contamination": None}, GENOME, "too few SNVs"),
        (
            "contamination",
            {"contamination": {"percent": 7.82, "low_percent": 0.0, "high_percent": 30.0}},
            GENOME,
            "too few reads at known sites",
        ),
        ("insert_size insert_spread", {"insert_size": None}, GENOME, "the reads have no mates"),
        ("sex", {"sex": {"sheet": ""}}, GENOME, "the sheet names no sex; by its depth the sample is female"),
        ("evenness", {"coverage": {"fold_80": None}}, GENOME, "a fifth of the target has no read"),
    ],
)
def test_what_cannot_be_judged_says_why(keys: str, changes: dict, setting: Setting, reason: str) -> None:
    sample = copy.deepcopy(GOOD)
    for block, value in changes.items():
        sample[block] = sample[block] | value if isinstance(value, dict) else value
    found = {check["criterion"]: check for check in check_sample(sample, setting)}
    expected = set(keys.split()) | ({"mixture"} if sample["ploidy"] == 2 else set())
    assert {key for key, check in found.items() if check["verdict"] == NOT_JUDGED} == expected
    assert any(found[key]["reason"].startswith(reason) for key in keys.split())


@pytest.mark.parametrize(
    ("marked", "gvcf", "samples", "together"),
    [(True, False, 2, True), (True, False, 1, False), (True, True, 2, False), (False, True, 2, False)],
)
def test_the_configuration_decides_what_is_judged(marked: bool, gvcf: bool, samples: int, together: bool) -> None:
    counted = SimpleNamespace(target={"positions": 900, "bed": None}, content={"contigs": {"known": [900]}})
    configuration = {"align": {"mark_duplicates": marked}, "rescore": {"gvcf": gvcf}}
    setting = setting_of(counted, None, configuration, samples)
    assert (setting.marked, setting.together) == (marked, together)


def test_many_duplicates_of_amplicons_have_a_remedy() -> None:
    assert "amplicons: then set align.mark_duplicates to false" in BY_KEY["duplicates"].advice


def test_a_ratio_without_denominator_is_shown_as_its_counts() -> None:
    """The table of samples shows no ratio, so the warning must not name one."""
    sample = GOOD | {"variants": GOOD["variants"] | {"heterozygous": 214, "homozygous": 0}}
    (check,) = (check for check in check_sample(sample, GENOME) if check["criterion"] == "het_hom")
    assert (check["verdict"], check["shown"]) == (FAIL, "214 to 0")


def test_a_sample_without_reads_is_not_judged() -> None:
    assert set(verdicts({"reads": {"total": 0}}).values()) == {NOT_JUDGED}


@pytest.mark.parametrize(
    ("x_ratio", "y_ratio", "seen"),
    [(0.98, 0.02, "female"), (0.51, 0.48, "male"), (1.0, 0.5, "unclear"), (0.5, 0.01, "unclear")],
)
def test_sex_by_depth(x_ratio: float, y_ratio: float, seen: str) -> None:
    ratios = {"autosomal_depth": 30.0, "x_ratio": x_ratio, "y_ratio": y_ratio}
    assert summarise_sex(ratios, "male", "GRCh38", panel=False)["seen"] == seen
    for given in (
        (ratios, "male", None, False),
        (ratios, "male", "GRCh38", True),
        (ratios | {"y_ratio": None}, "male", "GRCh38", False),
        (ratios | {"autosomal_depth": 0.2}, "male", "GRCh38", False),
    ):
        assert summarise_sex(*given)["seen"] is None
        assert summarise_sex(*given)["reason"]


def test_human_assemblies() -> None:
    assert human_assembly([("scaffold", 5), ("chr20", 63025520)]) == "GRCh37"
    assert human_assembly([("20", 64444167)]) == "GRCh38"
    assert human_assembly([("chr20", 40_001), ("chrI", 230218)]) is None


def test_the_documented_table_is_that_of_the_code() -> None:
    """The table in docs/verdicts.md equals the criteria of the code, line by line."""
    rows = re.findall(
        r"^\| (.*?) \| `(\w+)` \| (.*?) \| (.*?) \| (.*) \|$", (REPOSITORY / "docs/verdicts.md").read_text(), re.M
    )
    expected = [(c.title, key, c.usual, c.failing or "\N{EN DASH}", c.source) for key, c in BY_KEY.items()]
    assert rows == expected


def test_mixture_of_haploid_snvs() -> None:
    """Two reads of the reference, and 5 %, make an SNV mixed; SNVs with fewer than 10 reads do not count."""
    assert _mixture([]) == {"sites": 0, "mixed_percent": None}
    rows = [[0, 9, 3], [9, 0, 3], [1, 9, 3], [2, 8, 2], [4, 96, 4], [5, 95, 1]]
    assert _mixture(rows) == {"sites": 10, "mixed_percent": 30.0}
