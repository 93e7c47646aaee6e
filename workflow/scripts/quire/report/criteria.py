"""Table of the criteria by which samples are judged, each with its usual range and the source of the range.

A value within the usual range passes, a value outside it gets the verdict "look", and a value beyond the failing bound
fails. A ratio of small counts must be two standard errors beyond a bound. A criterion that cannot be judged states
why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

from quire.report.pedigree import FEWEST_SITES

PASS, LOOK, FAIL, NOT_JUDGED = "pass", "look", "fail", "not judged"
FEWEST_SNVS = 50
FEWEST_HETS = 30
LARGEST_PANEL_INTERVAL = 10_000
"""Mean interval length below which a target is a panel or an exome; the usual ranges of genomes do not apply there."""
LEAST_DEPTH_FOR_EVENNESS = 15.0
LEAST_DEPTH_FOR_SEX = 1.0
FEWEST_HAPLOID = 10
MALE, FEMALE, UNCLEAR = "male", "female", "unclear"
UNCLEAR_SEX = 0.5  # value of an unclear sex, which gets the verdict "look"
USUAL_CONTAMINATION, FAILING_CONTAMINATION = 2, 5
OWN = "Quire's choice"


@dataclass(frozen=True)
class Setting:
    """Properties of the run that decide whether a figure can be judged.

    `human` names the human assembly, or is None for another reference; `target` is True if the run has target
    intervals, `panel` if they are also short (a panel or an exome); `marked` if duplicates were marked, and `together`
    if the samples were called at once.
    """

    human: str | None
    target: bool
    panel: bool
    marked: bool = True
    together: bool = False


@dataclass(frozen=True)
class Measured:
    """A measured value in the criterion's unit, or the reason why it is not judged.

    `low` and `high` are two standard errors below and above a value of small counts; `shown` is displayed instead of
    the number.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Criterion:
    """One criterion of the table.

    Attributes:
        key, title, unit: stable key, displayed name, unit.
        digits: number of decimals to display.
        low, high: ends of the usual range; None if it is open at this end.
        fail_low, fail_high: bounds beyond which the sample fails; None for no bound.
        advice: most likely cause of a value out of range.
        advice_with_target: the same if the run has target intervals; empty if it does not differ.
        source: source of the range.
        measure: function of a sample of summary.json and the setting.
    """

    key: str
    title: str
    unit: str
    digits: int
    low: float | None
    high: float | None
    fail_low: float | None
    fail_high: float | None
    advice: str
    source: str
    measure: Callable[[Mapping[str, Any], Setting], Measured]
    advice_with_target: str = ""

    @property
    def usual(self) -> str:
        """Usual range in words."""
        low, high = (None if end is None else f"{end:g}" for end in (self.low, self.high))
        unit = f" {self.unit}" if self.unit else ""
        if low is not None and high is not None:
            return f"{low} to {high}{unit}"
        return f"at least {low}{unit}" if low is not None else f"at most {high}{unit}"

    def advice_for(self, target: bool) -> str:
        """Return the advice for a run with or without target intervals."""
        return (target and self.advice_with_target) or self.advice

    @property
    def failing(self) -> str:
        """Failing ranges in words."""
        ends = [f"below {self.fail_low:g}"] if self.fail_low is not None else []
        return " or ".join([*ends, *([f"above {self.fail_high:g}"] if self.fail_high is not None else [])])

    def judge(self, sample: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
        """Return the check in the form of summary.json; `reason` says why it is not judged."""
        measured = self.measure(sample, setting)
        verdict = NOT_JUDGED
        if measured.value is not None:
            low, high = (measured.value if end is None else end for end in (measured.low, measured.high))
            verdict = self._verdict(low, high)
        value = None if measured.value is None else round(measured.value, 6)
        shown = measured.shown or ("" if value is None else f"{value:,.{self.digits}f} {self.unit}".strip())
        return {
            "criterion": self.key,
            "value": value,
            "shown": shown,
            "usual": self.usual,
            "verdict": verdict,
            "reason": measured.reason,
        }

    def _verdict(self, least: float, most: float) -> str:
        def outside(low: float | None, high: float | None) -> bool:
            return (low is not None and most < low) or (high is not None and least > high)

        if outside(self.fail_low, self.fail_high):
            return FAIL
        return LOOK if outside(self.low, self.high) else PASS


def _figure(block: str, key: str, missing: str) -> Callable[[Mapping[str, Any], Setting], Measured]:
    """Return a function that takes a figure from the summary unchanged."""

    def measure(sample: Mapping[str, Any], _: Setting) -> Measured:
        value = (sample[block] or {}).get(key)
        return Measured(reason=missing) if value is None else Measured(float(value))

    return measure


def _duplicates(sample: Mapping[str, Any], setting: Setting) -> Measured:
    if not setting.marked:
        return Measured(reason="they are not marked (align.mark_duplicates)")
    return _figure("reads", "duplicates_percent", "no read is mapped")(sample, setting)


def _mismatches(sample: Mapping[str, Any], _: Setting) -> Measured:
    share = sample["reads"]["mismatches_per_base"]
    return Measured(reason="no read is mapped") if share is None else Measured(100 * share)


def _gc_bias(sample: Mapping[str, Any], setting: Setting) -> Measured:
    if setting.target:
        return Measured(reason="reads are expected on the target alone, not over the whole reference")
    bias = sample["gc_bias"]
    if not sample["reads"]["mapped"]:
        return Measured(reason="no read is mapped")
    return Measured(bias["at_dropout"] + bias["gc_dropout"])


def _evenness(sample: Mapping[str, Any], _: Setting) -> Measured:
    if sample["coverage"]["mean"] < LEAST_DEPTH_FOR_EVENNESS:
        return Measured(reason=f"coverage is uneven by chance below a mean of {LEAST_DEPTH_FOR_EVENNESS:g}")
    value = sample["coverage"]["fold_80"]
    return Measured(reason="a fifth of the target has no read") if value is None else Measured(value)


def _of_variants(sample: Mapping[str, Any], setting: Setting, diploid: bool) -> str:
    """Return why the usual ranges of human genomes do not apply to this sample, or an empty string."""
    if setting.human is None:
        return "the reference is not a known human assembly"
    if setting.panel:
        return "the target is a panel or an exome, where other values are usual"
    if diploid and sample["ploidy"] != 2:
        return f"the sample's ploidy is {sample['ploidy']}"
    if sample["variants"]["snvs"] < FEWEST_SNVS:
        return f"fewer than {FEWEST_SNVS} SNVs"
    return ""


def _ratio(above: int, below: int) -> Measured:
    """Return the ratio of two counts; the standard error is that of its logarithm, and a count of 0 is taken as 0.5."""
    value = above / (below or 0.5)
    factor = exp(2 * sqrt(1 / (above or 0.5) + 1 / (below or 0.5)))
    shown = "" if below else f"{above:,} to 0"
    return Measured(value, value / factor, (above or 0.5) / (below or 0.5) * factor, shown=shown)


def _ratio_of(above: str, below: str, diploid: bool = False) -> Callable[[Mapping[str, Any], Setting], Measured]:
    """Return a function that takes the ratio of two counts of variants."""

    def measure(sample: Mapping[str, Any], setting: Setting) -> Measured:
        if reason := _of_variants(sample, setting, diploid):
            return Measured(reason=reason)
        return _ratio(sample["variants"][above], sample["variants"][below])

    return measure


def _missing(sample: Mapping[str, Any], _: Setting) -> Measured:
    variants = sample["variants"]
    records = variants["missing"] + variants["heterozygous"] + variants["homozygous"] + variants["reference"]
    return Measured(100 * variants["missing"] / records) if records else Measured(reason="no variant was called")


def _balance(sample: Mapping[str, Any], _: Setting) -> Measured:
    balance = sample["allele_balance"]
    if sample["ploidy"] != 2:
        return Measured(reason=f"the sample's ploidy is {sample['ploidy']}")
    if balance["sites"] < FEWEST_HETS:
        return Measured(reason=f"fewer than {FEWEST_HETS} heterozygous SNVs with at least 10 reads")
    share = balance["outside_percent"] / 100
    margin = 200 * sqrt(share * (1 - share) / balance["sites"])
    return Measured(100 * share, 100 * share - margin, 100 * share + margin)


def _mixture(sample: Mapping[str, Any], setting: Setting) -> Measured:
    if sample["ploidy"] != 1:
        return Measured(reason=f"the sample's ploidy is {sample['ploidy']}")
    if setting.together:  # of diverged samples there are more haplotypes than are kept, and reads go to the nearest one
        return Measured(reason="samples that are called at once share their haplotypes; set rescore.gvcf to true")
    if sample["mixture"]["sites"] < FEWEST_HAPLOID:
        return Measured(reason=f"fewer than {FEWEST_HAPLOID} haploid SNVs with at least 10 reads")
    return Measured(sample["mixture"]["mixed_percent"])


def _contamination(sample: Mapping[str, Any], _: Setting) -> Measured:
    found = sample["contamination"]
    if sample["ploidy"] != 2:
        return Measured(reason=f"the sample's ploidy is {sample['ploidy']}")
    if found is None:
        return Measured(reason="too few SNVs")
    if found["low_percent"] <= USUAL_CONTAMINATION and found["high_percent"] > FAILING_CONTAMINATION:
        return Measured(reason=f"too few reads at {found['from']}")
    named = found.get("source") and found["low_percent"] > USUAL_CONTAMINATION
    shown = f"{found['percent']:.2f} %, likely of {found['source']}" if named else ""
    return Measured(found["percent"], found["low_percent"], found["high_percent"], shown=shown)


def _sex(sample: Mapping[str, Any], _: Setting) -> Measured:
    sex = sample["sex"]
    if sex["reason"]:
        return Measured(reason=sex["reason"])
    shown = f"{sex['seen']} (X {sex['x_ratio']:.2f}, Y {sex['y_ratio']:.2f})"
    if sex["seen"] == UNCLEAR:
        return Measured(UNCLEAR_SEX, shown=shown)
    if sex["sheet"] not in (MALE, FEMALE):
        return Measured(reason=f"the sheet names no sex; by its depth the sample is {sex['seen']}", shown=shown)
    return Measured(0.0 if sex["seen"] == sex["sheet"] else 1.0, shown=shown)


def _same_person(sample: Mapping[str, Any], _: Setting) -> Measured:
    if sample["relatives"]["reason"]:
        return Measured(reason=sample["relatives"]["reason"])
    same = sample["relatives"]["same_person"]
    return Measured(float(len(same)), shown=", ".join(same))


def _mendelian(sample: Mapping[str, Any], _: Setting) -> Measured:
    found = sample["pedigree"]
    if found is None or not (found["father"] and found["mother"]):
        return Measured(reason="no pedigree names both parents")
    if found["errors_percent"] is None:
        return Measured(reason=f"a parent is no sample, or fewer than {FEWEST_SITES} SNVs count")
    return Measured(found["errors_percent"])


def _pedigree(sample: Mapping[str, Any], _: Setting) -> Measured:
    found = sample["pedigree"]
    if found is None or not found["judged"]:
        return Measured(reason="no pedigree is given, or no close relative is a sample with enough sites")
    return Measured(float(len(found["contradictions"])), shown="; ".join(found["contradictions"]))


_SINGLE = "the reads have no mates"
CRITERIA = (
    Criterion("mapped", "Mapped reads", "%", 2, 90, None, 70, None,
        "the sample may be contaminated or belong to another reference",
        OWN, _figure("reads", "mapped_percent", "there are no reads")),
    Criterion("proper_pairs", "Properly paired", "% of paired", 2, 80, None, 60, None,
        "fragments may be damaged, or the library is of another kind",
        OWN, _figure("reads", "properly_paired_percent", _SINGLE)),
    Criterion("duplicates", "Duplicates", "% of mapped", 2, None, 30, None, 60,
        "the library may have had too little DNA, or it is of amplicons: then set align.mark_duplicates to false",
        OWN, _duplicates),
    Criterion("insert_size", "Insert size, median", "read lengths", 2, 1.5, None, 1, None,
        "mates overlap, and below 1 they read into the adapter",
        OWN, _figure("insert_size", "read_lengths", _SINGLE)),
    Criterion("insert_spread", "Insert size, quartile range over median", "", 2, None, 0.6, None, 1.2,
        "fragments are of very different length; was size selection left out?",
        OWN, _figure("insert_size", "spread", _SINGLE)),
    Criterion("mismatches", "Mismatches and gaps", "% of aligned bases", 2, None, 1, None, 2,
        "the run may have failed, or the sample is far from the reference",
        "1 %: Phred 20, and ten times the difference between two people; " + OWN,
        _mismatches),
    Criterion("adapters", "Reads with an adapter", "%", 2, None, 2, None, 10,
        "fragments are shorter than the reads, or adapters are ligated to each other",
        "FastQC, module Adapter Content: warns at 5 %, fails at 10 %",
        _figure("reads", "adapter_percent", "there are no reads")),
    Criterion("gc_bias", "GC bias (AT and GC dropout)", "%", 1, None, 10, None, 25,
        "parts of the genome are amplified less than others",
        "Picard CollectGcBiasMetrics: AT_DROPOUT and GC_DROPOUT; the bound is " + OWN, _gc_bias),
    Criterion("coverage", "Mean coverage", "", 1, 15, None, 5, None,
        "genotypes need more reads",
        "gnomAD v3 excludes genomes below 15 (release notes of 2019)", _figure("coverage", "mean", "")),
    Criterion("breadth", "Target at 10 or more reads", "%", 2, 95, None, 80, None,
        "if only part of the reference was sequenced, name it in rescore.intervals",
        OWN, _figure("coverage", "breadth_10x_percent", ""),
        "the sample's target.low_coverage.bed.gz lists positions of rescore.intervals with few reads"),
    Criterion("evenness", "Evenness (fold 80 penalty)", "", 2, None, 1.8, None, 3,
        "coverage is much deeper in some places than in others",
        "Picard, FOLD_80_BASE_PENALTY; 1.0 is ideal; the bound is " + OWN, _evenness),
    Criterion("ti_tv", "Ti/Tv", "", 2, 1.9, 2.2, 1.6, 2.6,
        "false calls pull it towards 0.5",
        "2.0 to 2.1 in whole genomes (GATK, Evaluating the quality of a germline short variant callset)",
        _ratio_of("transitions", "transversions")),
    Criterion("het_hom", "Het/hom", "", 2, 1, 2.5, 0.5, 5,
        "a mixture of samples has too many heterozygous genotypes, an inbred one too few",
        "1.4 to 2.0 by ancestry (Wang et al. 2015, Bioinformatics 31:318)",
        _ratio_of("heterozygous", "homozygous", diploid=True)),
    Criterion("indel_snv", "Indels per SNV", "", 3, 0.1, 0.3, 0.05, 0.6,
        "false indels come from repeats and errors of the polymerase",
        "0.13 in a person's genome (1000 Genomes Project 2015, Nature 526:68), 0.2 and more with local assembly",
        _ratio_of("indels", "snvs")),
    Criterion("missing", "Missing genotypes", "% of records", 2, None, 5, None, 20,
        "the sample has too few reads where others have variants",
        "PLINK excludes samples above 10 % by default (--mind 0.1)", _missing),
    Criterion("allele_balance", "Heterozygous SNVs with unbalanced alleles", "%", 2, None, 5, None, 15,
        "the reads may be of more than one sample",
        "0.2 to 0.8 at depth 10: gnomAD's filter of genotypes (Karczewski et al. 2020, Nature 581:434); the share: "
        + OWN,
        _balance),
    Criterion("mixture", "Haploid SNVs with reads of the reference", "%", 2, None, 5, None, 15,
        "the sample may be mixed with another strain", "2 reads and 5 % of them count; " + OWN, _mixture),
    Criterion("contamination", "Reads of another person", "%", 2, None, USUAL_CONTAMINATION, None,
        FAILING_CONTAMINATION,
        "DNA of another person may be in the sample",
        "gnomAD v3 excludes samples above 5 % (release notes of 2019); method after VerifyBamID (Jun et al. 2012)",
        _contamination),
    Criterion("sex", "Sex by X and Y (0: as in the sheet)", "", 0, None, 0, None, 0.5,
        "samples, or lines in the sheet, may have been swapped",
        "depth relative to the autosomes: X 1 and Y 0 in women, 0.5 each in men; bounds are halfway between", _sex),
    Criterion("same_person", "Other samples of the same person", "samples", 0, None, 0, None, None,
        "one sample may have been entered under two names",
        "kinship above 0.354 (Manichaikul et al. 2010, Bioinformatics 26:2867)", _same_person),
    Criterion("mendelian", "Mendelian errors", "% of sites", 2, None, 2, None, 5,
        "a parent may be another person, or genotypes need more reads", OWN, _mendelian),
    Criterion("pedigree", "Relatives unlike the pedigree", "relatives", 0, None, 0, None, 0.5,
        "samples, or lines of the pedigree, may have been swapped",
        "parents, children and siblings are of first degree: kinship 0.177 to 0.354 (Manichaikul et al. 2010)",
        _pedigree),
)  # fmt: skip
BY_KEY = {criterion.key: criterion for criterion in CRITERIA}


def check_sample(sample: Mapping[str, Any], setting: Setting) -> list[dict[str, Any]]:
    """Return all checks of a sample, in the order of the table; without reads, no criterion is judged."""
    if not sample["reads"]["total"]:
        empty = {"value": None, "shown": "", "verdict": NOT_JUDGED, "reason": "there are no reads"}
        return [{"criterion": criterion.key, "usual": criterion.usual, **empty} for criterion in CRITERIA]
    return [criterion.judge(sample, setting) for criterion in CRITERIA]


def count_verdicts(checks: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of checks with each verdict."""
    return {verdict: sum(check["verdict"] == verdict for check in checks) for verdict in (PASS, LOOK, FAIL, NOT_JUDGED)}
