"""Check the stage against the oracle and against MUMmer, for any pages, threads and pieces."""

import errno
import json
import random
import shutil
import subprocess

import pytest
from quire.errors import InputError, QuireError
from quire.mems import search
from quire.mems.engines import MemsCpuEngine

from tests.support.mems_text import build, expected_text, find, write_fasta

MODES = [
    (8, "both", "none"), (12, "forward", "none"), (30, "both", "none"), (8, "both", "reference"),
    (15, "reverse", "reference"), (8, "both", "both"), (15, "reverse", "both"), (2000, "both", "none"),
]  # fmt: skip
COMPLEMENT = str.maketrans("ACGTacgt", "TGCAtgca")


def letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


def changed(rng: random.Random, text: str, count: int) -> str:
    """Replace letters of a text, also by ambiguous ones, and convert a part of it to lower case."""
    drawn = list(text)
    for place in rng.sample(range(len(drawn)), count):
        drawn[place] = rng.choice("ACGTNR")
    middle = len(drawn) // 2
    return "".join(drawn[:middle]).lower() + "".join(drawn[middle:])


@pytest.fixture(scope="module")
def records():
    """Return contigs with repeats, short and long runs of N, other ambiguous letters and lower case."""
    rng = random.Random(3)
    repeat = letters(rng, 120)
    first = letters(rng, 900) + repeat + "NNN" + letters(rng, 300) + "N" * 40 + repeat + letters(rng, 500) + "ACAC" * 30
    return [
        ("chrI with a comment", changed(rng, first, 9)),
        ("two", "NN" + repeat[20:] + letters(rng, 150) + repeat.translate(COMPLEMENT)[::-1]),
        ("a_long_name", "A" * 70),
        ("nothing", "N" * 30),
    ]


@pytest.fixture(scope="module")
def queries(records):
    rng = random.Random(4)
    first, second = records[0][1], records[1][1]
    return [
        ("same", first), ("turned round", second.translate(COMPLEMENT)[::-1]), ("empty", ""), ("short", "ACGT"),
        ("changed", changed(rng, first[400:1500], 25)), ("twice", second[60:200] + second[30:170]), ("A", "A" * 40),
        ("twice", changed(rng, second, 6)), ("N", "N" * 50), ("foreign", letters(rng, 200)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def built(records, tmp_path_factory):
    return build(tmp_path_factory.mktemp("mems") / "whole", records)


@pytest.fixture(scope="module")
def paged(records, tmp_path_factory):
    return build(tmp_path_factory.mktemp("mems") / "paged", records, 1024)


@pytest.fixture(scope="module")
def fasta(queries, tmp_path_factory):
    return write_fasta(tmp_path_factory.mktemp("queries") / "queries.fa", queries)


@pytest.mark.full
@pytest.mark.parametrize(("min_length", "strands", "unique"), MODES[::3])
def test_the_text_of_the_oracle(built, records, queries, tmp_path, min_length, strands, unique):
    queries = [(name, text[:250]) for name, text in queries]
    fasta = write_fasta(tmp_path / "queries.fa", queries)
    found = find(built, fasta, tmp_path / "out", min_length=min_length, strands=strands, unique=unique)
    assert found.decode() == expected_text(records, queries, min_length, strands, unique)


@pytest.mark.skipif(shutil.which("mummer") is None, reason="mummer is not installed")
@pytest.mark.parametrize(("min_length", "strands", "unique"), MODES)
@pytest.mark.parametrize("contigs", [1, 4])
def test_the_text_of_mummer(records, fasta, tmp_path, contigs, min_length, strands, unique):
    """Equal byte for byte, except for the order of matches with one start in a query if letters may be repeated."""
    reference = build(tmp_path / "reference", records[:contigs])
    mode = {"none": "-maxmatch", "reference": "-mumreference", "both": "-mum"}[unique]
    strand = {"forward": [], "reverse": ["-r"], "both": ["-b"]}[strands]
    command = ["mummer", mode, "-n", "-l", str(min_length), *strand, str(reference.fasta), str(fasta)]
    theirs = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    ours = find(reference, fasta, tmp_path / "out", min_length=min_length, strands=strands, unique=unique).splitlines()
    assert sorted(ours) == sorted(theirs)
    if unique != "none":
        assert ours == theirs


@pytest.mark.parametrize("unique", ["none", "reference", "both"])
def test_pages_threads_and_pieces_do_not_show(built, paged, fasta, tmp_path, monkeypatch, unique):
    wanted = find(built, fasta, tmp_path / "out", min_length=8, unique=unique)
    assert len(paged.pages) > 1
    assert find(paged, fasta, tmp_path / "out", min_length=8, unique=unique, threads=3) == wanted
    monkeypatch.setattr(MemsCpuEngine, "bases_per_task", 300)
    assert find(built, fasta, tmp_path / "out", min_length=8, unique=unique, threads=2) == wanted
    monkeypatch.setattr(search, "MOST_MATCHES", 20)
    assert find(paged, fasta, tmp_path / "out", min_length=8, unique=unique) == wanted


def test_reads_as_their_fasta(built, records, tmp_path):
    """FASTQ gives the same text as FASTA, except that names lose /1 and /2."""
    rng = random.Random(5)
    text = records[0][1]
    reads = [(f"r{i}", text[start : start + 50]) for i in range(40) for start in [rng.randrange(len(text) - 50)]]
    fasta = write_fasta(tmp_path / "reads.fa", reads)
    fastq = tmp_path / "reads.fq"
    fastq.write_text("".join(f"@{name}/1 x\n{read}\n+\n{'I' * len(read)}\n" for name, read in reads))
    assert find(built, fastq, tmp_path / "q", min_length=14) == find(built, fasta, tmp_path / "a", min_length=14)


def test_the_summary_counts_what_was_written(built, fasta, queries, tmp_path):
    text = find(built, fasta, tmp_path / "out", min_length=12, unique="both").decode()
    summary = json.loads((tmp_path / "out.json").read_text())
    counts = summary["counts"]
    assert (summary["tool"], summary["name"], summary["settings"]["min_length"]) == ("mems", "test", 12)
    assert summary["backend"]["name"] == "cpu"
    assert set(summary["identity"]) == set(summary["inputs"]) == {"queries", "reference"}
    assert counts["queries"] == len(queries) == counts["queries_with_matches"] + counts["queries_without_matches"]
    assert counts["bases"] == sum(len(letters) for _, letters in queries)
    blocks = text.split("> ")[1:]
    reverse = sum(block.count("\n") - 1 for block in blocks if " Reverse\n" in block)
    assert counts["matches_reverse"] == reverse > 0
    assert counts["matches"] == counts["matches_forward"] + reverse == text.count("\n") - 2 * len(queries)
    assert counts["bytes"] == len(text)
    assert counts["not_unique_in_query"] > 0
    with_matches = sum(blocks[i].count("\n") + blocks[i + 1].count("\n") > 2 for i in range(0, len(blocks), 2))
    assert counts["queries_with_matches"] == with_matches


def test_a_reference_of_one_letter(tmp_path, monkeypatch):
    """All matches are found although few fit at a time."""
    records, queries = [("A", "A" * 3000)], [("A", "A" * 200), ("some", "A" * 30 + "C" + "A" * 2999)]
    reference = build(tmp_path / "reference", records, 1024)
    fasta = write_fasta(tmp_path / "queries.fa", queries)
    monkeypatch.setattr(search, "MOST_MATCHES", 500)
    lines = find(reference, fasta, tmp_path / "out", min_length=20, strands="forward").decode().splitlines()
    # A match begins at the first A of the reference or of a run of the query: one for each diagonal longer than 19.
    assert [int(line.split()[-1]) for line in lines[1:] if line.startswith(" ") or line[0] != ">"][:2] == [200, 200]
    runs = [(200,), (30, 2999)]
    assert len(lines) == 2 + sum(3000 + run - 1 - 2 * (20 - 1) for query in runs for run in query)


def test_bad_queries_behind_good_ones(built, tmp_path):
    """No unfinished output has its final name."""
    queries = write_fasta(tmp_path / "queries.fa", [("good", "ACGT" * 20), ("bad", "ACGTMKVLF")])
    with pytest.raises(InputError, match=r"queries.fa: line 5: the record 'bad' \(2\) looks like protein: 'L'"):
        find(built, queries, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["queries.fa"]


def test_a_full_disk(built, fasta, tmp_path, monkeypatch):
    """It gives one sentence, and no output."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("quire.mems.tasks.Writer.write", full)
    with pytest.raises(QuireError, match=r"out: cannot be written \(No space left on device\)"):
        find(built, fasta, tmp_path / "out")
    assert not list(tmp_path.iterdir())
