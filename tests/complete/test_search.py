"""The stage of complete search: records, counts and summary against the oracle, and one answer however it is run."""

import hashlib
import json
from contextlib import nullcontext
from itertools import product

import numpy as np
import pysam
import pytest
from quire.complete import search as stage
from quire.complete import streaming
from quire.complete.finders import CpuFinder
from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.device.backend import Backend
from quire.device.card import OutOfDeviceMemory
from quire.errors import InputError, QuireError
from quire.index import SearchInputs
from quire.reference import Reference

from tests.oracles import complete as oracle
from tests.oracles.ties import hash_name, tie_hash
from tests.support.builders import reverse_complement
from tests.support.complete_cases import edit
from tests.support.read_builders import build_index

DIFFERENCES = 2
BASES = "ACGT"


def letters(codes) -> str:
    return "".join("ACGTN"[code] for code in codes)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Two contigs with islands, copies of a unit and a run of As; reads of all kinds."""
    folder = tmp_path_factory.mktemp("complete")
    rng = np.random.default_rng(4)
    unit = rng.integers(0, 4, 60)
    copies = np.concatenate([np.append(edit(rng, unit, 1), rng.integers(0, 4, 9)) for _ in range(6)])
    first = letters(rng.integers(0, 4, 400)) + "N" * 30 + letters(copies) + "A" * 60 + letters(rng.integers(0, 4, 50))
    second = letters(rng.integers(0, 4, 900)) + "NN" + letters(rng.integers(0, 4, 100)) + letters(edit(rng, unit, 2))
    contigs = {"one": first, "two": second}
    fasta = folder / "genome.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    reads = {"polyA": "A" * 25, "none": letters(rng.integers(0, 4, 40)), "Ns": "N" * 20}
    for number in range(40):
        bases = contigs[rng.choice(["one", "two"])]
        start, length = int(rng.integers(0, len(bases) - 60)), int(rng.integers(20, 55))
        codes = np.array(["ACGTN".index(base) for base in bases[start : start + length]])
        read = letters(edit(rng, codes, int(rng.integers(0, DIFFERENCES + 2))))
        reads[f"r{number}"] = reverse_complement(read) if rng.random() < 0.5 else read
    path = folder / "reads.fq"
    path.write_text("".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in reads.items()))
    return folder, fasta, path, reads, build_index(folder, fasta)


def search(case, indexed=None, most_ends=1 << 20, reads_per_batch=2048, **settings):
    """Search the reads; returns the records, the lines of the table, and the summary."""
    folder, fasta, path, _, whole = case
    indexed = indexed or whole
    outputs = CompleteOutputs(folder / "out.bam", folder / "out.tsv", folder / "out.json")
    given = {"backend": "cpu", "max_differences": DIFFERENCES, **settings}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MOST_ENDS", most_ends)
        patch.setattr(CpuFinder, "reads_per_batch", reads_per_batch)
        search_reads(SearchInputs(indexed.directory, indexed.pages, fasta, path), outputs,
                     CompleteSettings("test", **given))  # fmt: skip
    with pysam.AlignmentFile(str(outputs.bam)) as stream:
        records = list(stream)
    return records, outputs.counts.read_text().splitlines(), json.loads(outputs.summary.read_text())


@pytest.fixture(scope="module")
def wanted(case):
    """For each read its hits as (differences, strand, contig, position, CIGAR), the first one in front."""
    reference = Reference.open(case[4].directory)
    axis, islands = reference.codes(0, reference.axis_length), reference.island_axis.tolist()
    answer = {}
    for name, bases in case[3].items():
        both = [["ACGTN".index(base) for base in strand] for strand in (bases, reverse_complement(bases))]
        hits = oracle.find(axis, islands, np.array(both, np.uint8), DIFFERENCES)[1]
        key = hash_name(name.encode())
        hits.sort(key=lambda hit: (hit.distance, tie_hash(key, hit.begin), hit.begin, hit.strand))
        rows = []
        for hit in hits:
            contig, position = reference.axis_to_contig(np.array([hit.begin]))
            cigar = "".join(f"{length}{'MID'[operation]}" for length, operation in hit.cigar)
            rows.append((hit.distance, hit.strand, reference.contig_names[contig[0]], int(position[0]), cigar))
        answer[name] = rows
    return answer


def rows_of(records) -> dict[str, list]:
    """Like `wanted`, in the order of the records."""
    rows: dict[str, list] = {}
    for record in records:
        found = rows.setdefault(record.query_name, [])
        if not record.is_unmapped:
            place = record.reference_name, record.reference_start, record.cigarstring
            found.append((record.get_tag("NM"), int(record.is_reverse), *place))
    return rows


def in_order(rows: list, reference: list[str]) -> list:
    """Return the first hit, then the others by differences, strand and place."""
    return rows[:1] + sorted(rows[1:], key=lambda row: (row[0], row[1], reference.index(row[2]), row[3]))


@pytest.mark.full
def test_every_hit_has_a_record(case, wanted):
    records, table, summary = search(case)
    assert rows_of(records) == {name: in_order(rows, ["one", "two"]) for name, rows in wanted.items()}
    assert max(map(len, wanted.values())) > 30
    with pysam.FastxFile(str(case[1])) as stream:
        contigs = {record.name: record.sequence for record in stream}
    number: dict[str, int] = {}
    for record in records:
        name = record.query_name
        hits = len(wanted[name])
        number[name] = number.get(name, 0) + 1
        assert record.is_secondary == (number[name] > 1)
        if record.is_secondary:
            assert record.query_sequence is None
        else:
            assert record.get_forward_sequence() == case[3][name]
        if record.is_unmapped:
            assert not record.tags
            continue
        assert (record.get_tag("NH"), record.get_tag("HI"), record.has_tag("th")) == (hits, number[name], False)
        if not record.is_secondary:  # pysam makes it from the bases and MD
            span = contigs[record.reference_name][record.reference_start : record.reference_end]
            assert record.get_reference_sequence().upper() == span
    assert table[0] == "read\t0\t1\t2\ttotal\tlisted"
    for line, (name, rows) in zip(table[1:], wanted.items(), strict=True):
        by_distance = [sum(row[0] == k for row in rows) for k in range(DIFFERENCES + 1)]
        assert line.split("\t") == [name, *map(str, [*by_distance, len(rows), len(rows)])]
    assert summary["identity"]["reads"]["bytes"] == case[2].stat().st_size
    text = "".join(f">{name}\n{bases.upper()}" for name, bases in contigs.items())
    assert summary["identity"]["reference"] == {
        "md5": hashlib.md5(text.encode()).hexdigest(), "contigs": 2, "bases": sum(map(len, contigs.values())),
    }  # fmt: skip
    counts = summary["counts"]
    assert counts["reads"] == len(wanted) == counts["reads_with_hits"] + counts["reads_without_hits"]
    assert counts["hits"] == counts["hits_with_record"] == sum(map(len, wanted.values()))


def test_one_answer_for_pages_batches_threads_and_memory(case, monkeypatch):
    folder, fasta, _, _, _ = case
    search(case)
    bam, table = (folder / "out.bam").read_bytes(), (folder / "out.tsv").read_bytes()
    pages = build_index(folder, fasta, page_size=1024, sa_sampling=4)
    assert len(pages.pages) == 2
    given = [
        {"threads": 3, "reads_per_batch": 7},
        {"most_ends": 5, "reads_per_batch": 20},  # batches in pieces, and one read in several searches
        {"most_ends": 35, "reads_per_batch": 30, "threads": 2},
        {"indexed": pages, "threads": 2},
    ]
    for settings in given:
        search(case, **settings)
        records = pysam.samtools.view("--no-PG", str(folder / "out.bam"))
        assert (folder / "out.tsv").read_bytes() == table
        (folder / "wanted.bam").write_bytes(bam)
        assert records == pysam.samtools.view("--no-PG", str(folder / "wanted.bam"))
    monkeypatch.setattr(stage, "MOST_BYTES", 0)  # the rest of a batch is made when it is written
    search(case, most_ends=8, threads=2)
    assert (folder / "out.tsv").read_bytes() == table
    assert pysam.samtools.view("--no-PG", str(folder / "out.bam")) == records


@pytest.mark.parametrize(
    ("report", "max_hits", "most_ends"), [*product(["all", "best", "count"], [0, 3], [1 << 20, 5])]
)
def test_reports_and_limits(case, wanted, report, max_hits, most_ends):
    records, table, summary = search(case, report=report, max_hits=max_hits, most_ends=most_ends)
    expected, all_of_report = {}, {}
    for name, rows in wanted.items():
        kept = [row for row in rows if report == "all" or row[0] == rows[0][0]]
        all_of_report[name] = len(kept)
        expected[name] = in_order(kept[:max_hits] if max_hits else kept, ["one", "two"])
    if report == "count":
        assert not records
        expected = {name: [] for name in wanted}
        all_of_report = expected | dict.fromkeys(wanted, 0)
    else:
        assert rows_of(records) == expected
        for record in records:
            name = record.query_name
            cut = all_of_report[name] > len(expected[name])
            assert record.has_tag("th") == cut
            if cut:
                assert record.get_tag("th") == all_of_report[name]
    for line, (name, rows) in zip(table[1:], wanted.items(), strict=True):
        assert line.split("\t")[-2:] == [str(len(rows)), str(len(expected[name]))]
    counts = summary["counts"]
    assert counts["hits_with_record"] == sum(map(len, expected.values()))
    assert counts["hits_cut"] == sum(all_of_report.values()) - counts["hits_with_record"]
    assert counts["hits"] == sum(map(len, wanted.values()))
    cut = sum(all_of_report[name] > len(rows) for name, rows in expected.items())
    told = [sentence for sentence in summary["warnings"] if sentence.startswith(f"{cut} reads have more places")]
    assert len(summary["warnings"]) == len(told) == bool(cut)


def test_a_read_that_is_too_short_is_refused_by_name(case, tmp_path):
    _, fasta, _, _, indexed = case
    path = tmp_path / "short.fq"
    path.write_text("@long\nACGTACGT\n+\nIIIIIIII\n@tiny\nACGTA\n+\nIIIII\n")
    outputs = CompleteOutputs(tmp_path / "x.bam", tmp_path / "x.tsv", tmp_path / "x.json")
    inputs = SearchInputs(indexed.directory, indexed.pages, fasta, path)
    with pytest.raises(
        InputError, match=r"record 2 \(tiny\) has 5 bases, and a search with 2 differences needs reads of 6"
    ):
        search_reads(inputs, outputs, CompleteSettings("x", max_differences=2, backend="cpu"))
    assert [item.name for item in tmp_path.iterdir()] == ["short.fq"]


def test_a_card_without_room_for_a_read(case, card, monkeypatch):
    """A sentence, and no file."""
    folder = case[0]
    monkeypatch.setattr(
        stage, "use_backend", lambda *_: nullcontext((Backend("gpu", "it was asked for."), lambda: card))
    )
    monkeypatch.setattr("quire.algorithms.complete.gpu.find_ends", no_room)
    before = sorted(folder.iterdir())
    with pytest.raises(QuireError, match=r"record 1 on has more places than fit .* device\.backend: cpu"):
        search(case)
    assert sorted(folder.iterdir()) == before


def no_room(*_):
    raise OutOfDeviceMemory("4 GB asked for")


def test_a_card_gives_the_same_answer(case, card, monkeypatch, tmp_path):
    """Few reads, since every kernel runs in the emulator; more hits than are held send some reads there twice."""
    folder, fasta, path, _, indexed = case
    few = tmp_path / "few.fq"
    few.write_text("".join(path.read_text().splitlines(keepends=True)[: 4 * 8]))

    def use_card(*_):
        return nullcontext((Backend("gpu", "it was asked for."), lambda: card))

    def use_cpu(*_):
        return nullcontext((Backend("cpu", "it was asked for."), None))

    answers = []
    for backend in (use_cpu, use_card):
        monkeypatch.setattr(stage, "use_backend", backend)
        search((folder, fasta, few, None, indexed), most_ends=20)
        answers.append((pysam.samtools.view(str(folder / "out.bam"), "--no-PG"), (folder / "out.tsv").read_bytes()))
    assert answers[0] == answers[1]
    assert answers[0][0].count("\n") > 30
