"""Files that the report reads (BED, VCF, BAM, benchmark tables), and the messages for unusable ones."""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire.errors import InputError, QuireError
from quire.finish.counts.outputs import TargetOutputs, count_target
from quire.finish.counts.sample import FinishedSample
from quire.io.files import write_json_atomic
from quire.reference import Reference
from quire.reference.regions import contains, islands_of, merge, read_regions, total_length
from quire.report.counts import median_of_histogram, read_sample_counts, read_variants
from quire.report.known_variants import (
    CallFilter,
    choose_sample,
    compare_files,
    open_indexed,
    require_known_contigs,
)
from quire.report.ledgers import (
    read_benchmarks,
    read_calling_ledger,
    read_insert_size_models,
    read_ledgers,
)
from quire.rescore.variant_counts import classify

from tests.support.report_files import CONTIGS, READ_LENGTH, count_bam, count_vcf, write_vcf

interval = st.tuples(st.integers(0, 60), st.integers(1, 9)).map(lambda pair: (pair[0], sum(pair)))


def write_bed(path, regions) -> None:
    lines = (f"{contig}\t{start}\t{end}\n" for contig, rows in regions.items() for start, end in rows.tolist())
    path.write_text("".join(lines))


@given(st.lists(interval, min_size=1))
def test_merged_intervals_hold_the_same_positions(pairs):
    merged = merge(np.array(pairs))
    inside = {position for start, end in pairs for position in range(start, end)}
    assert {position for start, end in merged.tolist() for position in range(start, end)} == inside
    assert (merged[1:, 0] > merged[:-1, 1]).all()
    for start in range(0, 70, 7):
        assert contains(merged, start, start + 2) == ({start, start + 1} <= inside)


def test_regions_round_trip_keeps_contigs_of_any_name(tmp_path):
    path = tmp_path / "regions.bed"
    path.write_text("# a comment\ntrack name=x\ntwo*:x\t5\t10\tname\r\none\t7\t9\none\t1\t3\none\t3\t4\n\n")
    regions = read_regions(path, CONTIGS)
    assert {name: rows.tolist() for name, rows in regions.items()} == {"one": [[1, 4], [7, 9]], "two*:x": [[5, 10]]}
    write_bed(tmp_path / "again.bed", regions)
    assert total_length(read_regions(tmp_path / "again.bed", CONTIGS)) == total_length(regions) == 10


def test_islands_leave_out_the_run_of_n(run):
    regions = islands_of(Reference.open(run.reference))
    assert regions["one"].tolist() == [[0, 1500], [1530, 3000]]
    assert regions["two*:x"].tolist() == [[0, 1000]]


def test_reads_are_counted_once(run):
    counted = read_sample_counts(run.counts)
    assert counted.reads["primary"] == 86
    assert counted.reads["primary mapped"] == 80
    assert counted.reads["primary duplicates"] == 4
    assert counted.insert_sizes[120] == 40 == counted.insert_sizes.sum()
    assert (counted.content["mapping_quality"][7], counted.content["mapping_quality"][60]) == (2, 74)


def test_depth_equals_a_naive_count(run, tmp_path):
    regions = {"one": np.array([[0, 37], [100, 700]]), "two*:x": np.array([[3, 140]])}
    bed = tmp_path / "target.bed"
    write_bed(bed, regions)
    naive = {name: np.zeros(length, dtype=int) for name, length in CONTIGS.items()}
    with pysam.AlignmentFile(str(run.bam)) as stream:
        for record in stream:
            if not record.is_duplicate and record.is_mapped:
                naive[record.reference_name][record.reference_start : record.reference_start + READ_LENGTH] += 1
    expected = np.concatenate([naive[name][start:end] for name, rows in regions.items() for start, end in rows])
    target = tmp_path / "target.json"
    sample = FinishedSample("sample", run.bam, run.reference, run.folder / "reference.fa")
    count_target(sample, bed, TargetOutputs(target, tmp_path / "low.bed.gz", 10), 1)
    depth = read_sample_counts(run.counts, target).depth
    assert depth.positions == expected.size
    assert depth.histogram[: expected.max() + 1].tolist() == np.bincount(expected).tolist()
    assert depth.mean == pytest.approx(expected.mean())
    assert depth.median == np.sort(expected)[(expected.size - 1) // 2]
    assert depth.breadth(5) == pytest.approx((expected >= 5).mean())
    bins = [expected[start : start + 2].mean() for start in range(0, expected.size, 2)]
    assert depth.profile == pytest.approx(bins)


@pytest.mark.parametrize("content", [{"stage": "align"}, {"format_version": 99}])
def test_counts_that_are_none_are_named(tmp_path, content):
    broken = tmp_path / "broken.json"
    write_json_atomic(broken, content)
    for read in (read_sample_counts, read_variants):
        with pytest.raises(QuireError, match=r"broken\.json: is not a file of counts of this version"):
            read(broken)
    broken.write_text("no JSON at all")
    with pytest.raises(QuireError, match=r"broken\.json: does not match its checksum"):
        read_variants(broken)


def test_a_pair_with_one_mapped_mate_has_no_insert_size(tmp_path, run):
    bam = tmp_path / "half.bam"
    with pysam.AlignmentFile(str(run.bam)) as source, pysam.AlignmentFile(str(bam), "wb", template=source) as target:
        for flag in (73, 133):
            record = pysam.AlignedSegment(target.header)
            record.query_name, record.flag, record.query_sequence = "pair", flag, "A" * READ_LENGTH
            record.reference_id = record.next_reference_id = 0
            record.reference_start = record.next_reference_start = 10
            record.cigartuples = [(0, READ_LENGTH)] if flag == 73 else None
            target.write(record)
    counted = read_sample_counts(count_bam(tmp_path / "counts", bam, run.reference))
    assert counted.reads["primary mapped"] == 1
    assert not counted.insert_sizes.any()


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_median_of_histogram_is_the_lower_median(values):
    assert median_of_histogram(np.bincount(values)) == sorted(values)[(len(values) - 1) // 2]


@pytest.mark.parametrize(
    ("genotype", "expected"),
    [
        ("0/1", {"snvs": 1, "transitions": 1, "A>G": 1, "heterozygous": 1}),
        ("1|1", {"snvs": 1, "transitions": 1, "A>G": 1, "homozygous": 1}),
        ("1", {"snvs": 1, "transitions": 1, "A>G": 1, "homozygous": 1}),
        ("1/2", {"snvs": 1, "transitions": 1, "A>G": 1, "indels": 1, "1": 1, "heterozygous": 1}),
        ("3/3", {"other": 1, "homozygous": 1}),
        ("0/0/0/4", {"other": 1, "heterozygous": 1}),
        ("0/0", {"reference": 1}),
        ("./.", {"missing": 1}),
        (".", {"missing": 1}),
        ("./1", {"missing": 1}),
    ],
)
def test_genotypes_are_classified(genotype, expected):
    assert dict(classify("A", "G,AT,*,<DEL>", genotype)) == expected


def test_substitutions_of_several_bases(run):
    assert dict(classify("ACG", "ATG", "0/1")) == {"snvs": 1, "transitions": 1, "C>T": 1, "heterozygous": 1}
    assert dict(classify("AC", "GT", "0/1")) == {"other": 1, "heterozygous": 1}


def test_variants_of_a_sample_are_counted(run):
    variants = read_variants(run.variants).samples["sample"]
    assert {name: count for name, count in variants["counts"].items() if count} == {
        **{"snvs": 1, "indels": 1, "transversions": 1, "heterozygous": 1, "homozygous": 1, "filtered": 1}
    }
    assert (sum(variants["qualities"]["snvs"]), sum(variants["qualities"]["others"])) == (1, 1)


def test_sites_without_a_variant_of_their_own_are_not_counted(tmp_path, run):
    """Skip the records of rescore.emit: all_sites that have only the reference, or lie inside a deletion."""
    path = tmp_path / "all_sites.vcf.gz"
    with pysam.VariantFile(str(run.vcf)) as variants:
        lines = [str(line) for line in (variants.header, *variants)]
    bases = run.sequences["one"]
    lines[1:1] = [f"one\t{p}\t.\t{bases[p - 1]}\t{alt}\t.\tPASS\t.\tGT\t./.\n" for p, alt in ((50, "."), (60, "*"))]
    with pysam.BGZFile(str(path), "wb") as stream:
        stream.write("".join(lines).encode())
    counts = read_variants(count_vcf(tmp_path / "all_sites.json", path)).samples["sample"]["counts"]
    assert counts == read_variants(run.variants).samples["sample"]["counts"]
    assert counts["missing"] == 0


def test_vcf_without_records_counts_nothing(tmp_path):
    empty = write_vcf(tmp_path / "empty.vcf.gz", [], ["sample"])
    variants = read_variants(count_vcf(tmp_path / "empty.json", empty)).samples["sample"]
    assert not any(variants["counts"].values())


def test_truth_files_that_cannot_be_used(tmp_path, run):
    foreign = write_vcf(tmp_path / "foreign.vcf.gz", [("chrone", 5, "A", ["C"], 50.0, (0, 1))], ["sample"])
    with pytest.raises(InputError, match=r"foreign\.vcf\.gz: contig chrone is not in the reference"):
        require_known_contigs(foreign, CONTIGS)
    bare = write_vcf(tmp_path / "bare.vcf.gz", [("one", 5, "A", ["C"], 50.0, (0, 1))], ["sample"], index=False)
    with pytest.raises(InputError, match=r"bare\.vcf\.gz: the VCF has no index"):
        open_indexed(bare)
    with pytest.raises(InputError, match=r"absent\.vcf\.gz: the VCF does not exist"):
        open_indexed(tmp_path / "absent.vcf.gz")
    with pytest.raises(InputError, match=r"sample\.bam: cannot be read as a VCF"):
        open_indexed(run.bam)
    gzipped = tmp_path / "gzipped.vcf.gz"
    gzipped.write_bytes(gzip.compress(gzip.decompress(Path(bare).read_bytes())))
    with pytest.raises(InputError, match=r"gzipped\.vcf\.gz: cannot be read as a VCF"):
        open_indexed(gzipped)
    nobody = write_vcf(tmp_path / "nobody.vcf.gz", [("one", 5, "A", ["C"], 50.0)], [])
    regions = {"one": np.array([[0, 3000]])}
    with pytest.raises(InputError, match=r"nobody\.vcf\.gz: the VCF has no sample"):
        compare_files(nobody, run.vcf, "sample", regions, CONTIGS, lambda *_: "")
    with pytest.raises(InputError, match=r"calls\.vcf\.gz: the VCF has no sample somebody"):
        compare_files(run.vcf, run.vcf, "somebody", regions, CONTIGS, lambda *_: "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\t0/1\n", b"\n"),
        (b"\t0/1\n", b"\t0/1:3:4\n"),
        (b"\t101\t", b"\t10x1\t"),
        (b"\tA\t", b"\t\xff\t"),
        (b"\tsample\n", b"\t\xff\n"),
        (b"\tFORMAT\tsample\n", b"\tsample\n"),
    ],
)
def test_a_malformed_truth_is_one_sentence(tmp_path, run, old, new):
    """Pysam raises OSError, ValueError, IndexError or UnicodeDecodeError, whatever is wrong."""
    good = write_vcf(tmp_path / "good.vcf.gz", [("one", 100, "A", ["C"], 50.0, (0, 1))], ["sample"])
    regions = {"one": np.array([[0, 3000]])}
    content = gzip.decompress(Path(good).read_bytes())
    assert old in content
    path = tmp_path / "wrong.vcf.gz"
    with pysam.BGZFile(str(path), "wb") as stream:
        stream.write(content.replace(old, new))
    shutil.copy(f"{good}.tbi", f"{path}.tbi")

    def compared():
        choose_sample(["sample"], {"vcf": str(path)})
        compare_files(path, run.vcf, "sample", regions, CONTIGS, lambda *_: "")

    with pytest.raises(InputError, match=r"wrong\.vcf\.gz: .*[;,] (correct|give|genotypes|copy).*\.$") as refused:
        compared()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("index", ["tbi", "csi"])
@pytest.mark.parametrize("cut", [b"one", b"one\t", b"one\t200\t.\tA\n"])
@pytest.mark.parametrize("records", [0, 1])
def test_a_truth_that_was_cut_in_its_last_line_is_one_sentence(tmp_path, run, index, cut, records):
    """Htslib leaves out of an index a line that is cut before its position."""
    good = write_vcf(tmp_path / "good.vcf.gz", [("one", 100, "A", ["C"], 50.0, (0, 1))] * records, ["sample"])
    path = tmp_path / "cut.vcf.gz"
    with pysam.BGZFile(str(path), "wb") as stream:
        stream.write(gzip.decompress(Path(good).read_bytes()) + cut)
    pysam.tabix_index(str(path), preset="vcf", csi=index == "csi")
    with pytest.raises(InputError, match=r"cut\.vcf\.gz: has a line with fewer than 8 columns at its end .*again\.$"):
        compare_files(path, run.vcf, "sample", {"one": np.array([[0, 3000]])}, CONTIGS, lambda *_: "")


def test_filtered_and_low_quality_calls_are_not_compared(run):
    regions = {"one": np.array([[0, 3000]])}

    def sequence(contig, start, end):
        return run.sequences[contig][start:end]

    counts = compare_files(run.vcf, run.vcf, "sample", regions, CONTIGS, sequence).counts
    assert (counts["snv"].truth_found, counts["snv"].missed, counts["indel"].truth_found) == (1, 1, 1)
    strict = compare_files(
        run.vcf, run.vcf, "sample", regions, CONTIGS, sequence, CallFilter(minimum_quality=100)
    ).counts
    assert (strict["snv"].truth_found, strict["indel"].truth_found) == (1, 0)


def test_benchmarks_are_summed_by_rule(tmp_path):
    head = "s\th:m:s\tmax_rss\tcpu_time\n"
    (tmp_path / "map_unit").mkdir()
    (tmp_path / "map_unit" / "a.tsv").write_text(head + "2.5\t0:00:02\t100.5\t4\n")
    (tmp_path / "map_unit" / "b.tsv").write_text(head + "1.5\t0:00:01\t300\t1\n")
    (tmp_path / "gather_variants.tsv").write_text(head + "0.1\t0:00:00\t-\tNA\n")
    (tmp_path / "odd.tsv").write_bytes(b"\xff\xfe\x00")
    uses = {use["rule"]: use for use in read_benchmarks(tmp_path)}
    assert uses["map_unit"] == {
        **{"rule": "map_unit", "jobs": 2, "seconds": 4.0, "longest_seconds": 2.5},
        **{"cpu_seconds": 5.0, "peak_megabytes": 300.0},
    }
    assert (uses["gather_variants"]["cpu_seconds"], uses["gather_variants"]["peak_megabytes"]) == (None, None)
    assert "odd" not in uses
    assert read_benchmarks(None) == read_benchmarks(tmp_path / "absent") == []


def test_what_earlier_stages_counted(tmp_path):
    write_json_atomic(tmp_path / "sample.lane.json", {"stage": "align", "unit": "sample.lane", "counts": {"reads": 3}})
    ledgers = read_ledgers("sample", [tmp_path / "sample.lane.json"])
    line = {"sample": "sample", "unit": "sample.lane", "stage": "align", "counts": {"reads": 3}, "warnings": []}
    assert ledgers == [line]
    write_json_atomic(tmp_path / "calling.json", {"stage": "rescore", "samples": {"sample": {"reads": 3, "used": 3}}})
    (called,) = read_calling_ledger(tmp_path / "calling.json")
    assert (called["stage"], called["sample"], called["counts"]) == ("rescore", "sample", {"reads": 3, "used": 3})
    assert read_calling_ledger(None) == []
    write_json_atomic(tmp_path / "sample.lane.insert_size.json", {"median": 300})
    assert read_insert_size_models([tmp_path / "sample.lane.insert_size.json"]) == {"sample.lane": {"median": 300}}
    write_json_atomic(tmp_path / "bad.json", {"unit": "sample.lane"})
    with pytest.raises(QuireError, match=r"bad\.json: is not a ledger"):
        read_ledgers("sample", [tmp_path / "bad.json"])
    with pytest.raises(QuireError, match=r"absent\.json"):
        read_ledgers("sample", [tmp_path / "absent.json"])


def test_a_truth_with_a_sample_that_is_not_utf_8(tmp_path):
    truth = tmp_path / "truth.vcf.gz"
    with pysam.BGZFile(str(truth), "wb", None) as stream:
        stream.write(b"##fileformat=VCFv4.2\n##contig=<ID=one,length=3000>\n")
        stream.write(b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tK\xe4se\n")
    pysam.tabix_index(str(truth), preset="vcf")
    with pytest.raises(InputError, match=r"truth\.vcf\.gz: cannot be read as a VCF \('utf-8' codec"):
        open_indexed(truth)
