"""Maximal exact matches on the CPU compared with MUMmer (and copMEM2) in the same run: output and processor time.

The searches are pairs of genomes, the shapes of queries of MUMmerGPU's paper (Trapnell and Schatz 2009, table 2, with
fewer queries), and hard cases: a genome against itself, one with Ns and lower case, a reference of one letter. Times
are processor times of whole programs that write their output. MUMmer's include building its suffix tree, which it does
not keep; Quire's do not include building the index, which is timed separately.
"""

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quire.index import SearchInputs
from quire.mems.search import MemsOutputs, MemsSettings, find_mems

from bench.common import Inputs, Timing, arguments, print_setting, print_table, python, run, write_measurement

MUMMER = {"none": "-maxmatch", "reference": "-mumreference", "both": "-mum"}
MUMMER_STRANDS = {"forward": "", "reverse": "-r", "both": "-b"}
COMPLEMENT = str.maketrans("ACGT", "TGCA")
# Name, min_length, bases of the reference, bases of a query and their standard deviation, queries.
SHAPES = (
    ("HSILL", 14, 16_000_000, 29, 0, 50_000),
    ("CBRIGG", 100, 13_000_000, 700, 80, 30_000),
    ("LMONO", 20, 2_900_000, 120, 20, 100_000),
    ("SSUIS", 10, 2_000_000, 36, 0, 50_000),
)


class Case(NamedTuple):
    """A search: `reference` and `queries` are FASTA files."""

    name: str
    reference: Path
    queries: Path
    min_length: int
    strands: str = "both"
    unique: str = "none"


def sequence_of(fasta: Path) -> str:
    """Return all letters of a FASTA in upper case."""
    lines = fasta.read_text().splitlines()
    return "".join(line for line in lines if not line.startswith(">")).upper()


def write_fasta(path: Path, records: Sequence[tuple[str, str]]) -> Path:
    """Write a FASTA unless it exists."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records))
    return path


def mutated(fasta: Path, path: Path) -> Path:
    """Write a genome with 1 % of its letters replaced (some by N), removed or doubled, and stretches in lower case."""
    rng, records = random.Random(1), []
    for record in fasta.read_text().split(">")[1:]:
        header, _, lines = record.partition("\n")
        letters = list(lines.replace("\n", "").upper())
        for place in rng.sample(range(len(letters)), len(letters) // 100):
            letters[place] = rng.choice(("A", "C", "G", "T", "N", "", "AC"))
        for start in range(0, len(letters), 10_000):
            letters[start : start + 3_000] = map(str.lower, letters[start : start + 3_000])
        records.append((header.split()[0], "".join(letters)))
    return write_fasta(path, records)


def shape(letters: str, number: int, path: Path, name: str) -> tuple[Path, Path]:
    """Write the reference and the queries of a shape of the paper: pieces of both strands with 1 % errors."""
    _, _, bases, length, deviation, count = SHAPES[number]
    rng, reads = random.Random(number), []
    reference = letters[:bases]
    for read in range(count):
        size = max(int(rng.gauss(length, deviation)), length // 2)
        start = rng.randrange(len(reference) - size)
        piece = list(reference[start : start + size])
        for place in range(size):
            if rng.random() < 0.01:
                piece[place] = rng.choice("ACGT")
        drawn = "".join(piece)
        reads.append((f"r{read}", drawn.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else drawn))
    folder = path / name
    return write_fasta(folder / "reference.fa", [(name, reference)]), write_fasta(folder / "queries.fa", reads)


def cases(inputs: Inputs) -> list[Case]:
    """Return all searches."""
    work, genomes = inputs.work / "mems", inputs.data / "genomes"
    coli = inputs.plain("ecoli_K12", genomes / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    other = inputs.plain("ecoli_DH1", genomes / "ecoli_DH1.fa.gz")
    yeast = inputs.plain("yeast", inputs.data / "yeast_100k" / "genome.fa.gz")
    found = [Case(f"E. coli K-12 and DH1, {unique}", coli, other, length, unique=unique)
             for length in (20, 50) for unique in MUMMER]  # fmt: skip
    found += [Case("E. coli and itself", coli, coli, 50)]
    changed = mutated(yeast, work / "yeast_mutated.fa")
    found += [Case(f"yeast and mutated, {unique}", yeast, changed, 20, unique=unique) for unique in MUMMER]
    twenty = inputs.chromosome_20()
    letters = {"HSILL": sequence_of(twenty).replace("N", ""), "CBRIGG": sequence_of(yeast)}
    for number, (name, length, *_) in enumerate(SHAPES):
        made = shape(letters.get(name, sequence_of(coli)), number, work, name)
        found += [Case(f"{name}'s shape", *made, length, "forward")]
    one = write_fasta(work / "one_letter" / "reference.fa", [("A", 100_000 * "A")])
    found += [Case("one letter and itself", one, one, 20, "forward")]
    return [*found, chromosomes(inputs)]


def chromosomes(inputs: Inputs) -> Case:
    """Return the search of all of chr21 in chr20."""
    extract = "import pysam, sys; sys.stdout.write(pysam.faidx(sys.argv[1], '21'))"
    both = inputs.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz"
    twenty_one = inputs.work / "chr21" / "chr21.fa"
    if not twenty_one.exists():
        twenty_one.parent.mkdir(parents=True, exist_ok=True)
        run(f'{python("").split()[0]} -c "{extract}" {both} > {twenty_one}')
    return Case("chr20 and chr21", inputs.chromosome_20(), twenty_one, 50, "forward")


def quire(case: Case, index: Path, threads: int, output: Path) -> str:
    """Return the command of Quire's search in an index of the reference."""
    options = f"{case.min_length} {case.strands} {case.unique} {threads}"
    return python(f"bench.mems --search {index} {case.queries} {output} {options} 2> {output}.log")


def search(index: str, queries: str, output: str, min_length: str, strands: str, unique: str, threads: str) -> None:
    """Run one search in this process; a summary (.json) is written next to the output."""
    folder, matches = Path(index), Path(output)
    pages = sorted(folder.glob("page_*"), key=lambda path: int(path.name.split("_")[1]))
    find_mems(
        SearchInputs(folder / "reference", pages, None, Path(queries)),
        MemsOutputs(matches, matches.with_suffix(".json")),
        MemsSettings("bench", int(min_length), strands, unique, int(threads), "cpu"),
    )


def mummer(case: Case, output: Path) -> str:
    """Return MUMmer's command."""
    mode = f"{MUMMER[case.unique]} -n {MUMMER_STRANDS[case.strands]} -l {case.min_length}"
    return f"mummer {mode} {case.reference} {case.queries} > {output} 2> {output}.log"


def copmem2(case: Case, program: str | Path, output: Path) -> str:
    """Return copMEM2's command, which finds all matches of at least 50 bases on the forward strand or on both."""
    strands = "-b" if case.strands == "both" else ""
    options = f"-q -t 1 {strands} -l {case.min_length} -o {output}"
    return f"{program} {options} {case.reference} {case.queries} > /dev/null"


def measure(case: Case, inputs: Inputs, threads: int, copmem: Path | None) -> list[str]:
    """Return one row of the table."""
    folder = inputs.work / "mems"
    ours, theirs = folder / "quire.mems", folder / "mummer.mems"
    search = quire(case, inputs.quire_index(case.reference), threads, ours)
    run(search)  # compiles kernels and reads files into the cache
    found = run(search)
    peer = run(mummer(case, theirs))
    same = "identical" if ours.read_bytes() == theirs.read_bytes() else _same_sorted(ours, theirs)
    counts = json.loads(ours.with_suffix(".json").read_text())["counts"]
    matches = counts["matches"]
    row = [case.name, case.min_length, case.strands, f"{matches:,}", same, f"{found.cpu_seconds:.2f}",
           f"{peer.cpu_seconds:.2f}", f"{peer.cpu_seconds / found.cpu_seconds:.1f}",
           f"{matches / found.cpu_seconds / 1e6:.2f}", f"{counts['bytes'] / max(matches, 1):.1f}"]  # fmt: skip
    rival = _copmem(case, copmem, folder / "copmem.mems")
    return [*map(str, row), f"{rival.cpu_seconds:.2f}" if rival else ""]


def _same_sorted(ours: Path, theirs: Path) -> str:
    command = f"cmp <(LC_ALL=C sort {ours}) <(LC_ALL=C sort {theirs}) > /dev/null && echo 1 > {ours}.same || true"
    Path(f"{ours}.same").unlink(missing_ok=True)
    run(command)
    return "identical sorted" if Path(f"{ours}.same").exists() else "DIFFERENT"


def _copmem(case: Case, program: Path | None, output: Path) -> Timing | None:
    """Time copMEM2 if it can make the search."""
    if program is None or case.min_length < 50 or case.strands == "reverse" or case.unique != "none":
        return None
    return run(copmem2(case, program, output))


def main() -> None:
    """Measure, compare and print one table."""
    parser = arguments(__doc__, threads=1)
    parser.add_argument("--copmem", type=Path, help="copMEM2's program, to be timed too")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    if sys.argv[1:2] == ["--search"]:
        search(*sys.argv[2:])
        return
    given = parser.parse_args()
    print_setting(("mummer",))
    inputs = Inputs(given.data, given.work)
    (given.work / "mems").mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases(inputs) if given.only in case.name]
    rows = []
    for case in chosen:
        rows.append(measure(case, inputs, given.threads, given.copmem))
        print(f"# {' | '.join(rows[-1])}", flush=True)
    header = ("search", "l", "strands", "matches", "output", "Quire s", "mummer s", "times", "M matches/s",
              "bytes/match", "copMEM2 s")  # fmt: skip
    print_table(header, rows)
    write_measurement()


if __name__ == "__main__":
    main()
