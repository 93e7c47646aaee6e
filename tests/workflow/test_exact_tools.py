"""The exact tools in a Snakemake run without samples, and by their command lines: the answers are the same."""

import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import edlib
import parasail
import pysam
import pytest

from tests.workflow.runs import REPOSITORY, SMALL, Run, errors_of
from tests.workflow.test_road import finished_rules, planned, records

pytestmark = pytest.mark.full

GENOME = str(SMALL / "genome.fa.gz")
READ_LENGTH, DIFFERENCES, MIN_LENGTH = 50, 2, 25
TARGET = (500, 4000)  # 0-based
OTHER_SETTINGS = {
    "few": {"max_differences": 1, "report": "best", "max_hits": 1},
    "unique": {"min_length": 30, "strands": "forward", "unique": "both"},
}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Inputs(NamedTuple):
    """Inputs of the searches.

    Attributes:
        genome: letters of the only contig.
        reads: origin of each read by name, None for a read that was not drawn from the genome.
        pair: the query of the alignment.
    """

    genome: str
    reads: dict[str, int | None]
    pair: str


def edited(bases: str, generator: random.Random, count: int) -> str:
    """Substitute, insert or delete some bases, away from the ends."""
    letters = list(bases)
    for place in generator.sample(range(5, len(bases) - 5), count):
        kind = generator.randrange(3)
        letters[place] = ("", "ACGT"["CGTA".index(letters[place])], letters[place] + "A")[kind]
    return "".join(letters)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    """Return the genome of the small set, and sequences drawn from it."""
    generator = random.Random(11)
    genome = "".join(gzip.decompress((SMALL / "genome.fa.gz").read_bytes()).decode().split("\n")[1:]).upper()
    reads: dict[str, int | None] = {f"read{number}": generator.randrange(0, 39_900) for number in range(60)}
    return Inputs(genome, {**reads, "random1": None, "random2": None}, edited(genome[1000:3000], generator, 60))


@pytest.fixture(scope="module")
def searched(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """Run all three tools without sheets, with small pages; return the run and Snakemake's output."""
    run = Run(tmp_path_factory.mktemp("searched"))
    generator = random.Random(12)
    with (run.folder / "reads.fq").open("w") as stream:
        for name, start in inputs.reads.items():
            if start is None:
                bases = "".join(generator.choices("ACGT", k=READ_LENGTH))
            else:
                bases = edited(
                    inputs.genome[start : start + READ_LENGTH], generator, generator.randrange(DIFFERENCES + 1)
                )
            if generator.random() < 0.5:
                bases = bases.translate(COMPLEMENT)[::-1]
            stream.write(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n")
    other = edited(inputs.genome[5000:25_000], generator, 300)
    turned = inputs.genome[30_000:31_000].translate(COMPLEMENT)[::-1]
    (run.folder / "other.fa").write_text(f">other\n{other}\n>turned\n{turned.lower()}\n>short\nACGT\n")
    (run.folder / "pair.fa").write_text(f">pair\n{inputs.pair}\n")
    run.config = {
        "reference": {"fasta": GENOME, "page_size": 10_000},
        "output": "out",
        "complete": [
            {"name": "reads", "reads": "reads.fq", "max_differences": DIFFERENCES},
            {"name": "few", "reads": "reads.fq", **OTHER_SETTINGS["few"]},
        ],
        "mems": [
            {"name": "other", "queries": "other.fa", "min_length": MIN_LENGTH},
            {"name": "unique", "queries": "other.fa", **OTHER_SETTINGS["unique"]},
        ],
        "pairwise": [
            {
                "name": "pair",
                "query": "pair.fa",
                "target": f"{GENOME}:chr22:{TARGET[0] + 1}-{TARGET[1]:,}",
                "mode": "glocal",
            }
        ],
    }
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    return run, result.stdout


def test_a_run_without_samples_ends_with_its_report(searched: tuple[Run, str]) -> None:
    """The run ends with each tool's files, their report and the last words; no step from FASTQ to VCF runs."""
    run, printed = searched
    assert finished_rules(printed) == {
        *("pack_reference", "index_page", "compile_kernels", "write_report"),
        *("search_complete", "find_mems", "align_pairwise"),
    }
    for name in (
        *("complete/reads.bam", "complete/reads.counts.tsv", "complete/reads.json"),
        *("mems/other.mems", "mems/other.json"),
        *("pairwise/pair.paf", "pairwise/pair.bam", "pairwise/pair.dots.json", "pairwise/pair.json"),
        *("report/report.html", "logs/find_mems/other.log", "benchmarks/align_pairwise/pair.tsv"),
    ):
        assert (run.output / name).stat().st_size > 0, name
    assert not (run.output / "align").exists()
    summary = json.loads((run.output / "report/summary.json").read_text())
    assert [(search["tool"], search["name"]) for search in summary["searches"]] == [
        ("complete", "reads"),
        ("complete", "few"),
        ("mems", "other"),
        ("mems", "unique"),
        ("pairwise", "pair"),
    ]
    for tool, name in (("complete", "few"), ("mems", "unique")):  # each key reaches its search
        settings = json.loads((run.output / tool / f"{name}.json").read_text())["settings"]
        assert OTHER_SETTINGS[name].items() <= settings.items()
    for line in (
        r"mems +out/mems/other\.mems",
        r"pairwise +out/pairwise/pair\.paf",
        r"report +out/report/report\.html",
    ):
        assert re.search(f"^{line}", printed, re.MULTILINE), line
    assert "Nothing to be done" in run.snakemake().stdout


def test_every_drawn_read_is_found(searched: tuple[Run, str], inputs: Inputs) -> None:
    """Each read is found at its origin, the counts equal the number of records, and edlib confirms each record."""
    run, _ = searched
    found: dict[str, list[pysam.AlignedSegment]] = {}
    with pysam.AlignmentFile(str(run.output / "complete/reads.bam"), check_sq=False) as bam:
        for record in bam.fetch(until_eof=True):
            found.setdefault(record.query_name, []).append(record)
    assert list(found) == list(inputs.reads)
    for name, start in inputs.reads.items():
        placed = [record for record in found[name] if not record.is_unmapped]
        if start is not None:
            assert any(abs(record.reference_start - start) <= DIFFERENCES for record in placed), name
        for record in placed:
            bases = inputs.genome[record.reference_start : record.reference_end]
            distance = edlib.align(
                found[name][0].get_forward_sequence()
                if not record.is_reverse
                else found[name][0].get_forward_sequence().translate(COMPLEMENT)[::-1],
                bases,
            )["editDistance"]
            assert distance == record.get_tag("NM") <= DIFFERENCES
        assert sum(not record.is_secondary for record in found[name]) == 1
    with (run.output / "complete/reads.counts.tsv").open() as stream:
        rows = {row["read"]: row for row in csv.DictReader(stream, delimiter="\t")}
    assert list(rows) == list(inputs.reads)


def test_matches_are_maximal_and_complete(searched: tuple[Run, str], inputs: Inputs) -> None:
    """Every shared word of the minimal length is in a match, and no match can be extended on either side."""
    run, _ = searched
    queries = dict(re.findall(r">(\w+)\n(\w+)", (run.folder / "other.fa").read_text()))
    found: dict[tuple[str, bool], set[tuple[int, int, int]]] = {}
    for line in (run.output / "mems/other.mems").read_text().splitlines():
        if line.startswith(">"):
            name, *turned = line[1:].split()
            here = found.setdefault((name, bool(turned)), set())
        else:
            *_, on_genome, on_query, length = line.split()
            here.add((int(on_genome) - 1, int(on_query) - 1, int(length)))
    assert set(found) == {(name, turned) for name in queries for turned in (False, True)}
    words: dict[str, list[int]] = {}
    for start in range(len(inputs.genome) - MIN_LENGTH + 1):
        words.setdefault(inputs.genome[start : start + MIN_LENGTH], []).append(start)
    for name, letters in queries.items():
        for turned in (False, True):
            query = letters.upper().translate(COMPLEMENT)[::-1] if turned else letters.upper()
            expected = set()
            for start in range(len(query) - MIN_LENGTH + 1):
                for place in words.get(query[start : start + MIN_LENGTH], ()):
                    if start and place and query[start - 1] == inputs.genome[place - 1]:
                        continue
                    length = MIN_LENGTH
                    while query[start : start + length + 1] == inputs.genome[
                        place : place + length + 1
                    ] and start + length < len(query):
                        length += 1
                    expected.add((place, start, length))
            assert found[(name, turned)] == expected
    assert len(found[("other", False)]) > 100
    assert len(found[("turned", True)]) >= 1


def test_the_alignment_is_optimal(searched: tuple[Run, str], inputs: Inputs) -> None:
    """The score is parasail's, and the CIGAR of the PAF has the same score."""
    run, _ = searched
    (line,) = (run.output / "pairwise/pair.paf").read_text().splitlines()
    fields = line.split("\t")
    tags = {tag[:2]: tag[5:] for tag in fields[12:]}
    target = inputs.genome[slice(*TARGET)]
    matrix = parasail.matrix_create("ACGT", 1, -4)
    expected = parasail.sg_dx_striped_32(inputs.pair, target, 7, 1, matrix).score
    assert int(tags["AS"]) == expected
    on_query, on_target, score = int(fields[2]), int(fields[7]), 0
    assert (on_query, int(fields[3])) == (0, len(inputs.pair))
    for length, operation in ((int(number), letter) for number, letter in re.findall(r"(\d+)([MID=X])", tags["cg"])):
        if operation in "M=X":
            pairs = zip(
                inputs.pair[on_query : on_query + length], inputs.genome[on_target : on_target + length], strict=True
            )
            score += sum(1 if a == b else -4 for a, b in pairs)
        else:
            score -= 6 + length
        on_query += length if operation != "D" else 0
        on_target += length if operation != "I" else 0
    assert (score, on_query, on_target) == (expected, len(inputs.pair), int(fields[8]))


def command(run: Run, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool's command line in the folder of a run."""
    return subprocess.run(
        [sys.executable, "-m", "quire", tool, *arguments],
        cwd=run.folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_lines_give_the_answers_of_the_run(searched: tuple[Run, str], tmp_path: Path) -> None:
    """Command lines with one thread, and an index of one page built on demand, give the run's answers."""
    run, _ = searched
    index = ["--reference", GENOME, "--index-directory", str(tmp_path / "index"), "--threads", "1"]
    (pair,) = run.config["pairwise"]
    for tool, output, arguments in (
        ("complete", "reads.bam", [*index, "--reads", "reads.fq"]),
        ("mems", "other.mems", [*index, "--queries", "other.fa", "--min-length", str(MIN_LENGTH)]),
        ("pairwise", "pair.paf", ["--query", "pair.fa", "--target", pair["target"], "--mode", "glocal"]),
    ):
        result = command(run, tool, *arguments, "--output", str(tmp_path / output))
        assert result.returncode == 0, result.stderr
        if tool == "complete":
            assert records(tmp_path / output) == records(run.output / tool / output)
        else:
            assert (tmp_path / output).read_bytes() == (run.output / tool / output).read_bytes()
        content = json.loads((tmp_path / output).with_suffix(".json").read_text())
        of_run = json.loads((run.output / tool / output).with_suffix(".json").read_text())
        assert content["counts"] == of_run["counts"]
        assert f"{next(iter(content['counts'])).replace('_', ' ')} " in result.stdout
    assert len(list((tmp_path / "index").glob("page_*"))) == 1
    result = command(run, "mems", *index, "--queries", "none.fa", "--output", str(tmp_path / "none.mems"))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("quire: error: --queries: none.fa does not exist")


def test_more_output_than_the_disk_holds(searched: tuple[Run, str], small_disk: Path) -> None:
    """A full disk gives one sentence, and no partial file of matches."""
    run, _ = searched
    genome = ["--reference", GENOME, "--index-directory", str(run.output / "index"), "--queries", GENOME]
    result = command(run, "mems", *genome, "--min-length", "8", "--output", str(small_disk / "self.mems"))
    assert result.returncode == 1, result.stderr
    assert "No space left on device" in result.stderr.splitlines()[-1]
    assert not list(small_disk.iterdir())


def test_targets(searched: tuple[Run, str]) -> None:
    """Each tool is a target; a tool without searches gives a message."""
    run, _ = searched
    forced = planned(run.snakemake("--dry-run", "--forceall", "mems").stdout)
    assert {"find_mems", "mems"} <= forced
    assert not forced & {"search_complete", "align_pairwise", "write_report", "map_unit"}
    result = run.snakemake("--dry-run", "--config", "pairwise=[]", "--", "pairwise")
    assert result.returncode != 0
    (error,) = errors_of(result.stdout)
    assert error == "quire: error: configuration: pairwise names no search; add one (config/README.md shows how)."


def test_bad_inputs_of_searches(searched: tuple[Run, str], tmp_path: Path) -> None:
    """Mistakes that only the stages can detect give one sentence each, and no file under a final name."""
    finished, _ = searched
    run = Run(tmp_path / "run")
    (run.folder / "short.fq").write_text("@short\nACGTA\n+\nIIIII\n")
    (run.folder / "protein.fa").write_text(">p\nMKVLAEFQPLIWERTYHS\n")
    run.config = {
        "reference": {"fasta": GENOME, "page_size": 10_000, "index_directory": str(finished.output / "index")},
        "output": "out",
        "complete": [{"name": "short", "reads": "short.fq"}],
        "mems": [{"name": "protein", "queries": "protein.fa"}],
        "pairwise": [{"name": "nowhere", "query": f"{GENOME}:chr23", "target": f"{GENOME}:chr22:1-500"}],
    }
    run.write()
    result = run.snakemake("--keep-going")
    assert result.returncode != 0
    errors = errors_of(result.stdout)
    assert result.stdout.splitlines()[-3:] == errors
    for word in ("short.fq", "protein.fa", "chr23"):
        assert sum(word in error for error in errors) == 1, errors
    assert "unexpected failure" not in result.stdout
    for tool in ("complete", "mems", "pairwise"):
        assert not list(run.output.glob(f"{tool}/*")), tool
