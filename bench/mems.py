"""Maximal exact matches on the CPU compared with MUMmer (and copMEM2) in the same run: output and processor time.

The searches are those of two strains of E. coli, and of chr21 in chr20; tests compare hard cases with MUMmer, and
`bench.gpu_mems` has the shapes of queries of MUMmerGPU's paper. Times are processor times of whole programs that write
their output. MUMmer's include building its suffix tree, which it does not keep; Quire's do not include building the
index, which is timed separately.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

from quire.index import SearchInputs
from quire.mems.search import MemsOutputs, MemsSettings, find_mems

from bench.common import Inputs, Timing, arguments, print_setting, print_table, python, run, write_measurement

MUMMER = {"none": "-maxmatch", "reference": "-mumreference", "both": "-mum"}
MUMMER_STRANDS = {"forward": "", "reverse": "-r", "both": "-b"}


class Case(NamedTuple):
    """A search: `reference` and `queries` are FASTA files."""

    name: str
    reference: Path
    queries: Path
    min_length: int
    strands: str = "both"
    unique: str = "none"


def cases(inputs: Inputs) -> list[Case]:
    """Return all searches."""
    genomes = inputs.data / "genomes"
    coli = inputs.plain("ecoli_K12", genomes / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    other = inputs.plain("ecoli_DH1", genomes / "ecoli_DH1.fa.gz")
    found = [Case(f"E. coli K-12 and DH1, {unique}", coli, other, length, unique=unique)
             for length in (20, 50) for unique in MUMMER]  # fmt: skip
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
