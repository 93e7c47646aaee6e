"""The arena: Quire and its newest peers on one host with the same reads: speed, cost in core-seconds, and answers.

Build the peers from their sources outside this tree, as their own instructions say, at the versions of `PEERS`, and
name a folder with their programs (or links to them):

    python -m bench.arena --data FOLDER --peers FOLDER [--contests mapping ...] [--only minibwa ...]

bwa and MUMmer may also come from the PATH. A peer that is missing or says another version is left out with a sentence.
Contests:

- mapping: FASTQ.gz of simulated pairs of chr20 to an unsorted BAM at level 1 with --threads threads; peers write SAM
  into `samtools view -1`. The fastest of --repeats runs in turns counts. The time for ten pairs is the start-up;
  speeds are without it. Placement is that of `bench.place`.
- finishing: mapped reads to the sorted, marked and indexed BAM (`bench.finishing`).
- complete: all places of reads of 100 bases with up to k differences in chr20, one thread (`bench.complete`). A place
  that another program finds with at most as many differences within 2k bases counts as found by it.
- mems: all maximal exact matches of at least 50 bases of chr21 in chr20, one thread (`bench.mems`). Peers make their
  index in each run.
"""

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from quire.kernels import compile_stage
from quire.reference import Reference

from bench import complete, finishing, mems
from bench.common import (
    Inputs,
    Timing,
    arguments,
    output_of,
    print_setting,
    print_table,
    python,
    quire_command,
    run,
    write_measurement,
)
from bench.complete_search import draw_reads
from bench.place import place
from bench.simulate import SETS

FEW = 10  # number of pairs for the measurement of the start-up
LENGTH, LEAST = 100, 50  # bases of a read of `complete`, of a match of `mems`
OURS, SAMTOOLS = "quire", "samtools"


class Peer(NamedTuple):
    """A program of the arena.

    Attributes:
        source: owner and name of its repository on GitHub.
        version: release or commit.
        says: what the program of that version prints as its version.
        ask: shell command that prints it.
    """

    source: str
    version: str
    says: str
    ask: str


class Mapper(NamedTuple):
    """Shell commands of a mapper that writes SAM; its index lies beside the FASTA."""

    index: str
    map: str


PEERS = {
    "samtools": Peer("samtools/samtools", "1.23.1", "1.23.1", "samtools --version | sed -n '1s/samtools //p'"),
    "bwa": Peer("lh3/bwa", "0.7.17", "0.7.17-r1188", "bwa 2>&1 | sed -n 's/^Version: //p'"),
    "bwa-mem2": Peer("bwa-mem2/bwa-mem2", "2.3", "2.2.1", "bwa-mem2 version 2> /dev/null"),  # 2.3 says so
    "minibwa": Peer("lh3/minibwa", "0.7", "0.7-r421", "minibwa version"),
    "strobealign": Peer("ksahlin/strobealign", "0.17.0", "0.17.0", "strobealign --version"),
    "columba": Peer("biointec/columba", "2.0.3", "2.0.3", "columba --help 2>&1 | sed -n 's/.*version //p' | head -1"),
    "mummer": Peer("mummer4/mummer", "3.23", "3.23", "dpkg-query -W -f '${Version}' mummer | sed 's/[+-].*//'"),
    "copmem2": Peer(
        "wbieniec/copmem2", "2.1 (8040165)", "2.1", "copmem2 2>&1 | sed -n 's/copMEM \\([0-9.]*\\),.*/\\1/p'"
    ),
}

MAPPERS = {
    "bwa": Mapper("bwa index {fasta}", "bwa mem -t {threads} {fasta} {mates}"),
    "bwa-mem2": Mapper("bwa-mem2 index {fasta}", "bwa-mem2 mem -t {threads} {fasta} {mates}"),
    "minibwa": Mapper("minibwa index -t{threads} {fasta}", "minibwa map -t{threads} {fasta} {mates}"),
    "strobealign": Mapper(
        "strobealign --create-index -t {threads} {fasta} {mates}",
        "strobealign --use-index -t {threads} {fasta} {mates}",
    ),
}

Column = dict[str, float]  # figures of a program by quantity, in the order of the table


def present(only: Sequence[str]) -> dict[str, str]:
    """Return the versions of the peers that take part; say of each other one why it is left out.

    Raises:
        SystemExit: samtools, which compresses the records of the other mappers, is left out.
    """
    found = {}
    for name, peer in PEERS.items():
        if name not in only and name != SAMTOOLS:
            continue
        says = output_of(peer.ask) if shutil.which(name) else ""
        if says == peer.says:
            found[name] = peer.version
        else:
            what = f"says version {says or 'nothing'}, not {peer.says}" if shutil.which(name) else "was not found"
            print(f"# {name} is left out: it {what} (github.com/{peer.source}, {peer.version})")
    if SAMTOOLS not in found:
        sys.exit(f"the arena needs samtools {PEERS[SAMTOOLS].version}: it compresses the records of the other mappers")
    return found


def mapping(given: Namespace, inputs: Inputs, peers: Sequence[str]) -> dict[str, Column]:
    """Index, map in turns, and compare the places with the true ones."""
    kind = SETS[given.reads]
    fasta = inputs.chromosome_20()
    few, whole = (
        inputs.simulated(fasta, "20", 1, kind.simulation(number))[: kind.mates] for number in (FEW, given.pairs)
    )
    table: dict[str, Column] = {}
    commands: dict[str, Callable[[Sequence[Path]], str]] = {}
    for name in (OURS, *(peer for peer in peers if peer in MAPPERS)):
        folder = given.work / "arena" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        commands[name] = _mapper(name, folder, fasta, given.threads)
        indexed = run(_index(name, folder, fasta, given.threads, few))
        table[name] = {"index, s": indexed.seconds, "index, core-seconds": indexed.cpu_seconds}
    started = {name: run(command(few)) for name, command in commands.items()}
    timings: dict[str, list[Timing]] = {name: [] for name in commands}
    for _ in range(given.repeats):
        for name, command in commands.items():
            started[name] = min(started[name], run(command(few)), key=_seconds)
            timings[name].append(run(command(whole)))
    for name, column in table.items():
        best, start = min(timings[name], key=_seconds), started[name]
        placed = place(given.work / "arena" / name / "mapped.bam")
        each = 1e6 / placed.reads
        column |= {
            "start-up, s": start.seconds,
            "1,000 reads/s": placed.reads / (best.seconds - start.seconds) / 1000,
            "core-seconds for a million reads": (best.cpu_seconds - start.cpu_seconds) * each,
            "peak MB": best.peak_megabytes,
            "reads": placed.reads,
            "right, %": 100 * placed.share_right(),
            "right at MAPQ 20, %": 100 * placed.share_right(20),
            "wrong at MAPQ 20, of a million": 1e6 * placed.share_wrong(20),
            "wrong at MAPQ 60, of a million": 1e6 * placed.share_wrong(60),
        }
    return table


def _seconds(timing: Timing) -> float:
    return timing.seconds


def _mapper(name: str, folder: Path, fasta: Path, threads: int) -> Callable[[Sequence[Path]], str]:
    """Return what makes a mapper's command for given reads."""
    output = folder / "mapped.bam"
    if name == OURS:
        return lambda mates: quire_command(folder / "index", mates, output, threads)

    def command(mates: Sequence[Path]) -> str:
        files = " ".join(map(str, mates))
        mapped = MAPPERS[name].map.format(threads=threads, fasta=folder / fasta.name, mates=files)
        return f"{mapped} 2> {output}.log | samtools view -1 -o {output} -"

    return command


def _index(name: str, folder: Path, fasta: Path, threads: int, few: Sequence[Path]) -> str:
    """Return the command of a mapper's index; peers find a link to the FASTA in their folder."""
    if name == OURS:
        return python(f"bench.build_index {fasta} {folder / 'index'} 2> {folder}/index.log")
    link = folder / fasta.name
    link.symlink_to(fasta.resolve())
    files = " ".join(map(str, few))
    return f"{MAPPERS[name].index.format(threads=threads, fasta=link, mates=files)} > {folder}/index.log 2>&1"


def _fastest(command: str, repeats: int) -> Timing:
    return min((run(command) for _ in range(repeats)), key=_seconds)


def finish(given: Namespace, inputs: Inputs, peers: Sequence[str]) -> dict[str, Column]:
    """Sort, mark and index the same mapped reads, and compare the records."""
    commands = finishing.commands(inputs, given.threads)
    table, digests = {}, {}
    for name, (command, output) in commands.items():
        if name in (OURS, *peers):
            timing = _fastest(command, given.repeats)
            digests[name] = finishing.digest(output)
            table[name] = {"s": timing.seconds, "core-seconds": timing.cpu_seconds, "peak MB": timing.peak_megabytes,
                           "MB of output": output.stat().st_size / 1e6}  # fmt: skip
    for name, column in table.items():
        column["programs whose records differ"] = sum(digest != digests[name] for digest in digests.values())
    return table


def search(given: Namespace, inputs: Inputs, peers: Sequence[str]) -> dict[str, Column]:
    """Find all places of reads in chr20 with each number of differences, and compare them."""
    folder = given.work / "arena" / "complete"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fasta = folder / "chr20.fa"
    fasta.symlink_to(inputs.chromosome_20().resolve())
    table = {OURS: _timed_index(python(f"bench.build_index {fasta} {folder / 'index'} 2> {folder}/index.log"))}
    if "columba" in peers:
        table["columba"] = _timed_index(f"columba_build -f {fasta} -r {fasta}.columba > {folder}/columba.log")
    reads = folder / "reads.fq"
    reference = Reference.open(folder / "index" / "reference", verify=False)
    complete.write_reads(reads, draw_reads(reference, given.searched_reads, LENGTH))
    none, few = complete.first_reads(reads, FEW), complete.first_reads(reads, given.compared_reads)
    for k in given.differences:
        case = complete.Case(fasta, folder / "index", reads, LENGTH, k, folder)
        places = {}
        for name, column in table.items():
            command, output = _search(case, name)
            start, whole = (_fastest(command(what), given.repeats) for what in (none, reads))
            run(command(few))
            places[name] = complete.read_places(output)
            column[f"1,000 reads/s of a core, k = {k}"] = (
                given.searched_reads / (whole.cpu_seconds - start.cpu_seconds) / 1000
            )
            column[f"peak MB, k = {k}"] = whole.peak_megabytes
            column[f"places, k = {k}"] = sum(map(len, places[name].values()))
        for name, column in table.items():
            missing = [complete.compare(places[name], other, 2 * k, k)[0][2] for other in places.values()]
            column[f"places of another that are missing, k = {k}"] = sum(missing)
    return table


def _timed_index(command: str) -> Column:
    timing = run(command)
    return {"index, s": timing.seconds, "index, core-seconds": timing.cpu_seconds}


def _search(case: complete.Case, name: str) -> tuple[Callable[[Path], str], Path]:
    """Return what makes the command for given reads, and its output."""
    if name == OURS:
        output = case.folder / "quire.bam"
        return lambda reads: complete.quire(case, reads, output), output
    return lambda reads: complete.columba(case, reads)[0], complete.columba(case, case.reads)[1]


def match(given: Namespace, inputs: Inputs, peers: Sequence[str]) -> dict[str, Column]:
    """Find the maximal exact matches of chr21 in chr20, and compare them."""
    case = mems.chromosomes(inputs)
    folder = given.work / "arena" / "mems"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    outputs = {name: folder / f"{name}.mems" for name in (OURS, "mummer", "copmem2") if name in (OURS, *peers)}
    index = folder / "index"
    commands = {
        OURS: mems.quire(case, index, 1, outputs[OURS]),
        **({"mummer": mems.mummer(case, outputs["mummer"])} if "mummer" in peers else {}),
        **({"copmem2": mems.copmem2(case, "copmem2", outputs["copmem2"])} if "copmem2" in peers else {}),
    }
    indexed = run(python(f"bench.build_index {case.reference} {index} 2> {folder}/index.log"))
    table: dict[str, Column] = {}
    for name, command in commands.items():
        timing = _fastest(command, given.repeats)
        made = indexed.cpu_seconds if name == OURS else 0.0
        run(f"grep -v '^>' {outputs[name]} | awk '{{ print $(NF - 2), $(NF - 1), $NF }}' | LC_ALL=C sort > "
            f"{outputs[name]}.sorted")  # fmt: skip
        table[name] = {
            "core-seconds, with an index as the program keeps it": timing.cpu_seconds,
            "core-seconds, index included": timing.cpu_seconds + made,
            "peak MB": timing.peak_megabytes,
            "matches": float(output_of(f"wc -l < {outputs[name]}.sorted")),
        }
    every = folder / "every.sorted"
    run(f"LC_ALL=C sort -mu {folder}/*.mems.sorted > {every}")
    for name, column in table.items():
        counted = f"LC_ALL=C comm -13 <(LC_ALL=C uniq {outputs[name]}.sorted) {every} | wc -l"
        column["matches of another that are missing"] = float(output_of(f"bash -c '{counted}'"))
    return table


CONTESTS = {"mapping": mapping, "finishing": finish, "complete": search, "mems": match}
SUBJECT = {"mapping": MAPPERS, "finishing": (SAMTOOLS,), "complete": ("columba",), "mems": ("mummer", "copmem2")}

STAGES = ("align", "complete", "mems")  # whose kernels are compiled before anything is timed


def main() -> None:
    """Run the contests, each of which leaves a line of JSON."""
    parser = arguments(__doc__)
    parser.add_argument("--peers", type=Path, help="folder of the peers' programs; otherwise those on the PATH")
    parser.add_argument("--contests", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), metavar="PEER", help="peers that run")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each program, of which the fastest counts")
    parser.add_argument("--reads", choices=SETS, default="2x150", metavar="SET", help="of mapping (bench.simulate)")
    parser.add_argument("--pairs", type=int, default=500_000, help="of mapping")
    parser.add_argument("--searched-reads", type=int, default=100_000, help="of complete")
    parser.add_argument("--compared-reads", type=int, default=2_000, help="whose places are compared, of complete")
    parser.add_argument("--differences", type=int, nargs="+", default=[1, 3, 5], help="of complete")
    given = parser.parse_args()
    if given.peers:
        os.environ["PATH"] = f"{given.peers.resolve()}:{os.environ['PATH']}"
    inputs = Inputs(given.data, given.work)
    found = present(given.only)
    for stage in STAGES:
        compile_stage(stage, given.threads)
    for contest in given.contests:
        needed = [*SUBJECT[contest], *([SAMTOOLS] if contest == "mapping" else [])]
        print_setting({name: version for name, version in found.items() if name in needed})
        table = CONTESTS[contest](given, inputs, [*found])
        rows = [(quantity, *(round(column[quantity], 4) for column in table.values())) for quantity in table[OURS]]
        print_table(("what", *table), rows)
        write_measurement(f"{contest}, {given.reads}" if contest == "mapping" else contest)


if __name__ == "__main__":
    main()
