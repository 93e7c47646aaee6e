"""Hard filters: the limits that a record exceeds, as written; the header; GATK's limits as defaults."""

import json
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.io.vcf import VariantRecord
from quire.rescore.filters import Filter, definitions, filtered, filters_of, kind_of
from quire.rescore.records import FIELDS
from quire.run.schema import complete_settings, read_schema

from tests.support.calling import call_variants
from tests.support.defaults import SCHEMA, default_settings
from tests.support.gvcf import REAL, lines_of

DEFAULTS = complete_settings({"reference": {"fasta": "f"}, "samples": "s", "units": "u"}, read_schema(SCHEMA))[
    "rescore"
]["filters"]


def record(alleles: tuple[str, ...], quality: float = 100.0, **info: float) -> VariantRecord:
    return VariantRecord("c", 9, alleles, quality, (), info, [])


def names(one: VariantRecord, limits: dict = DEFAULTS) -> tuple[str, ...]:
    """Return the filters that a record fails."""
    found = filtered(one, filters_of(limits), FIELDS).filters
    assert found is not None
    return found


def test_defaults_are_gatks_but_for_the_strand_bias_of_snvs() -> None:
    assert DEFAULTS == {
        "snv": {
            "minimum_QUAL": 30, "minimum_QD": 2, "maximum_FS": 40, "maximum_SOR": None, "minimum_MQ": 40,
            "minimum_MQRankSum": -12.5, "minimum_ReadPosRankSum": -8,
        },
        "indel": {"minimum_QUAL": 30, "minimum_QD": 2, "maximum_FS": 200, "minimum_ReadPosRankSum": -20},
    }  # fmt: skip


def test_each_limit_has_its_name() -> None:
    snv, deletion = ("A", "G"), ("AC", "A")
    limits = DEFAULTS | {"snv": DEFAULTS["snv"] | {"maximum_SOR": 3}}
    assert names(record(snv, QD=2.0, FS=40.0, SOR=3.0, MQ=40.0, MQRankSum=-12.5, ReadPosRankSum=-8.0), limits) == ()
    beyond = record(snv, 29.5, QD=1.9, FS=40.1, SOR=3.1, MQ=39.9, MQRankSum=-12.6, ReadPosRankSum=-8.1)
    assert names(beyond, limits) == (
        "SNV_QUAL", "SNV_QD", "SNV_FS", "SNV_SOR", "SNV_MQ", "SNV_MQRankSum", "SNV_ReadPosRankSum",
    )  # fmt: skip
    assert names(record(deletion, QD=2.5, FS=199.0, SOR=9.0, MQ=3.0, MQRankSum=-30.0, ReadPosRankSum=-19.0)) == ()
    assert names(record(deletion, 29.0, QD=1.0, FS=200.5, ReadPosRankSum=-20.5)) == (
        "INDEL_QUAL", "INDEL_QD", "INDEL_FS", "INDEL_ReadPosRankSum",
    )  # fmt: skip


def test_strands_of_the_reads_alone_filter_nothing() -> None:
    """Four reads of one strand, all with the alternate, have an SOR of 3.3 and an FS of 0."""
    assert names(record(("A", "G"), FS=0.0, SOR=3.258)) == ()
    assert names(record(("A", "G"), FS=49.5, SOR=5.7)) == ("SNV_FS",)


def test_values_count_as_they_are_written_and_missing_ones_do_not() -> None:
    assert names(record(("A", "G"), QD=1.996)) == ()  # 2.00
    assert names(record(("A", "G"), QD=1.994)) == ("SNV_QD",)
    assert names(record(("A", "G"))) == ()
    off = {"snv": {**DEFAULTS["snv"], "minimum_QD": None}, "indel": {}}
    assert names(record(("A", "G"), QD=0.5, MQ=1.0), off) == ("SNV_MQ",)
    assert names(record(("AC", "A"), 1.0, QD=0.5), off) == ()
    assert names(record(("A", "G"), 1.0), {}) == ()


def test_a_record_that_has_failed_already_stays_as_it_is() -> None:
    low = VariantRecord("c", 9, ("A", "*"), 0.0, ("LowQual",), {}, [])
    assert names(low) == ("LowQual",)


@pytest.mark.parametrize(
    ("alleles", "kind"),
    [(("A", "G", "T"), "snv"), (("A", "G", "*"), "snv"), (("AC", "GT"), "snv"), (("AC", "GC", "A"), "indel")],
)
def test_kinds(alleles: tuple[str, ...], kind: str) -> None:
    assert kind_of(record(alleles)) == kind


def test_the_header_says_the_expressions() -> None:
    lines = definitions(filters_of({"snv": {"minimum_MQRankSum": -12.5}, "indel": {"maximum_FS": 200}}))
    assert lines == [
        '##FILTER=<ID=SNV_MQRankSum,Description="SNV with MQRankSum < -12.5">',
        '##FILTER=<ID=INDEL_FS,Description="Record with an indel with FS > 200">',
    ]
    assert Filter("snv", "QD", "minimum_", 2.0).name == "SNV_QD"


def test_calls_stay_in_the_file(tmp_path: Path) -> None:
    """Filters change only the column FILTER of the calls of real reads."""
    reference_stage.build(REAL / "genome.fa.gz", tmp_path / "reference", 1 << 20)
    bam = tmp_path / "A.bam"
    bam.symlink_to(REAL / "A.bam")
    pysam.index(str(bam))
    found = []
    for limits in ({}, {"snv": {"minimum_QUAL": 200}}):
        part, settings = tmp_path / "part.vcf.gz", {**default_settings("rescore"), "filters": limits}
        sample = {"sample": "A", "ploidy": 2, "bam": str(bam)}
        piece = [("chr22_8kb", 0, 8000)]
        count = call_variants(tmp_path / "reference", [sample], piece, part, settings, tmp_path / "l.json")
        found.append(lines_of(part))
        assert count == len(found[-1]) == json.loads((tmp_path / "l.json").read_text())["variants"]
        with pysam.VariantFile(str(part)) as variants:
            assert ("SNV_QUAL" in variants.header.filters) == bool(limits)
    plain, judged = found
    assert {fields[6] for fields in plain} == {"PASS"}
    for before, after in zip(plain, judged, strict=True):
        low = len(before[3]) == len(before[4]) and float(before[5]) < 200
        assert after[6] == ("SNV_QUAL" if low else "PASS")
        assert before[:6] + before[7:] == after[:6] + after[7:]
    assert {fields[6] for fields in judged} == {"PASS", "SNV_QUAL"}
