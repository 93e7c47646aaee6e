"""Complete search against Columba, RazerS 3, Yara in all-mode and `bwa aln -N`: equal places, and a core's speed.

Reads are drawn as `bench.complete_search` draws them. Every program is one process with one thread and writes its
records; its index exists before. Programs that are not installed are left out. Peers get fewer reads (--peer-reads).
`bwa aln -N` does not finish if gaps may open anywhere, so it searches less: `bwa_substitutions` finds places without
gaps, which are compared with Quire's ungapped places, and `bwa_one_gap` allows one opened gap, at least five bases from
the read's ends; only its places are looked up in Quire's.

Programs define a place differently. A peer's place with n differences is *same* if Quire has one with the same begin
and strand and at most n differences; else *beside* if Quire has one with at most n differences that begins at most 2k
bases away (both align the same bases, with gaps or ends placed differently); else *missing*. Quire's places are
compared likewise; those without a peer's place are *more*.
"""

import shutil
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pysam
from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.index import SearchInputs
from quire.reads import ReadBatch
from quire.reference import Reference
from quire.sam import FLAG_REVERSE, FLAG_UNMAPPED

from bench.common import Inputs, add_figures, arguments, print_setting, print_table, python, run, write_measurement
from bench.complete_search import draw_reads

Places = dict[str, dict[int, int]]  # by read: places (`place_of`) with their differences
SHOWN = 3  # number of printed places that only one program has
NEVER = 99  # more differences than any place has
COMPILING = 500  # number of reads for a first run, which compiles kernels
CONTIGS: list[str] = []  # names by number
PLACES_HEADER = ("case", "peer", "reads", "peer's places", "same", "beside", "missing", "quire's places", "same",
                 "beside", "more")  # fmt: skip


@dataclass
class Case:
    """The inputs of a search: a genome with its indexes, reads as FASTQ, and k."""

    fasta: Path
    index: Path
    reads: Path
    length: int
    differences: int
    folder: Path


def write_reads(path: Path, batch: ReadBatch) -> None:
    """Write a batch as FASTQ."""
    with path.open("w") as stream:
        for read in range(len(batch)):
            bases = "".join("ACGTN"[code] for code in batch.bases[batch.offsets[read] : batch.offsets[read + 1]])
            stream.write(f"@r{batch.name(read)}\n{bases}\n+\n{'I' * len(bases)}\n")


def razers3(case: Case, reads: Path) -> tuple[str, Path]:
    """Return the command of RazerS 3 at full sensitivity, with the identity that allows k; and its output."""
    output = case.folder / "razers3.sam"
    identity = 100 - 100 * case.differences / case.length - 1e-4
    return f"razers3 -i {identity:.4f} -rr 100 -m 10000000 -tc 1 -o {output} {case.fasta} {reads} > /dev/null", output


def yara(case: Case, reads: Path) -> tuple[str, Path]:
    """Return Yara's command for all strata at full sensitivity, and its output; the rate is the least percent for k."""
    output = case.folder / "yara.sam"
    rate = -(-100 * case.differences // case.length)
    options = f"-e {rate} -s {rate} -y full -sa record -t 1"
    return f"yara_mapper {options} -o {output} {case.fasta}.yara {reads} > /dev/null 2>&1", output


def bwa(case: Case, reads: Path, gaps: str) -> tuple[str, Path]:
    """Return bwa's command for all hits with these gap options, and its output; `-m` raises its queue's limit."""
    output = case.folder / "bwa.sam"
    options = f"-N -n {case.differences} -l 1024 -m 100000000 {gaps}"
    aligned = f"bwa aln {options} {case.fasta} {reads} 2> /dev/null > {output}.sai"
    return f"{aligned} && bwa samse -n 10000000 {case.fasta} {output}.sai {reads} 2> /dev/null > {output}", output


def bwa_substitutions(case: Case, reads: Path) -> tuple[str, Path]:
    """Return bwa's command for hits without gaps, and its output."""
    return bwa(case, reads, "-o 0")


def bwa_one_gap(case: Case, reads: Path) -> tuple[str, Path]:
    """Return bwa's command with its default of one opened gap, each base of which is a difference; and its output."""
    return bwa(case, reads, "-o 1 -e -1 -i 5")


def columba(case: Case, reads: Path) -> tuple[str, Path]:
    """Return Columba's command for all places by edit distance, and its output."""
    output = case.folder / "columba.sam"
    options = f"-a all -e {case.differences} -t 1 -nU -r {case.fasta}.columba"
    return f"columba {options} -f {reads} -o {output} > /dev/null", output


PEERS = {
    "columba": ("columba", columba),
    "razers3": ("razers3", razers3),
    "yara": ("yara_mapper", yara),
    "bwa_substitutions": ("bwa", bwa_substitutions),
    "bwa_one_gap": ("bwa", bwa_one_gap),
}


def make_indexes(fasta: Path, peers: str) -> None:
    """Make the indexes of the peers next to the FASTA."""
    if "columba" in peers and shutil.which("columba_build") and not Path(f"{fasta}.columba.bwt").exists():
        run(f"columba_build -f {fasta} -r {fasta}.columba > /dev/null")
    if "yara" in peers and shutil.which("yara_indexer") and not Path(f"{fasta}.yara.sa.val").exists():
        run(f"yara_indexer {fasta} -o {fasta}.yara > /dev/null 2>&1")
    if "bwa" in peers and shutil.which("bwa") and not Path(f"{fasta}.sa").exists():
        run(f"bwa index {fasta} 2> /dev/null")


def place_of(contig: str, reverse: bool, begin: int) -> int:
    """Encode a place as a number (a run has millions); the next base of the strand is two higher."""
    if contig not in CONTIGS:
        CONTIGS.append(contig)
    return CONTIGS.index(contig) << 40 | begin << 1 | reverse


def read_places(path: Path, gaps: bool = True) -> Places:
    """Return all places of a SAM or BAM file, including XA tags and records without CIGAR, such as some of Yara's.

    With `gaps` false, return only places without gaps.
    """
    places: Places = defaultdict(dict)
    with pysam.AlignmentFile(str(path), check_sq=False) if path.suffix == ".bam" else path.open() as stream:
        for line in map(_text, stream):
            if line.startswith("@"):
                continue
            name, flag, contig, begin, _, cigar, *_ = line.split("\t", 6)
            if int(flag) & FLAG_UNMAPPED:
                continue
            tags = dict(item.split(":", 2)[::2] for item in line.rstrip("\n").split("\t")[11:])
            found = []
            if gaps or not {"I", "D"} & set(cigar):
                found.append((place_of(contig, bool(int(flag) & FLAG_REVERSE), int(begin) - 1), int(tags["NM"])))
            for other in tags.get("XA", "").split(";")[:-1]:
                contig, place, _, distance = other.rsplit(",", 3)
                found.append((place_of(contig, place[0] == "-", int(place[1:]) - 1), int(distance)))
            for key, distance in found:
                places[name][key] = min(distance, places[name].get(key, NEVER))
    return places


def _text(record: str | pysam.AlignedSegment) -> str:
    return record if isinstance(record, str) else str(record.to_string())


def compare(ours: Places, theirs: Places, reach: int, limit: int) -> tuple[list[int], list[str]]:
    """Count the peer's places that are same, beside and missing in Quire's, and describe some missing ones."""
    counts, shown = [0, 0, 0], []
    for name, places in theirs.items():
        have = ours.get(name, {})
        for place, distance in places.items():
            if distance > limit:
                continue
            if have.get(place, NEVER) <= distance:
                counts[0] += 1
            elif any(have.get(place + 2 * i, NEVER) <= distance for i in range(-reach, reach + 1)):
                counts[1] += 1
            else:
                counts[2] += 1
                where = f"{CONTIGS[place >> 40]}:{((place & (1 << 40) - 1) >> 1) + 1}"
                shown.append(f"{name} {where} {'+-'[place & 1]} {distance}")
    return counts, shown[:SHOWN]


def quire(case: Case, reads: Path, output: Path, report: str = "all") -> str:
    """Return the command of Quire's search."""
    what = f"{case.index} {reads} {case.differences} {report} {output}"
    return python(f"bench.complete --search {what}")


def search(index: str, reads: str, differences: str, report: str, output: str) -> None:
    """Run one search with one thread in this process."""
    folder, bam = Path(index), Path(output)
    pages = sorted(folder.glob("page_*"), key=lambda page: int(page.name.split("_")[1]))
    outputs = CompleteOutputs(bam, bam.with_suffix(".tsv"), bam.with_suffix(".json"))
    settings = CompleteSettings(bam.stem, int(differences), report=report, backend="cpu")
    search_reads(SearchInputs(folder / "reference", pages, None, Path(reads)), outputs, settings)


def first_reads(path: Path, count: int) -> Path:
    """Write the first reads of a FASTQ to another file, and return its path."""
    few = path.with_suffix(f".{count}.fq")
    run(f"head -n {4 * count} {path} > {few}")
    return few


def measure(case: Case, given: Namespace) -> tuple[list[list[object]], list[list[object]]]:
    """Return rows of speeds and of places."""
    speeds: list[list[object]] = []
    places: list[list[object]] = []
    name = f"{case.fasta.stem}, {case.length} bases, k = {case.differences}"
    few, none = first_reads(case.reads, given.peer_reads), first_reads(case.reads, 10)
    output = case.folder / "quire.bam"
    run(quire(case, first_reads(case.reads, COMPILING), output))  # compiles the kernels
    empty = run(quire(case, none, output))  # the start-up time
    taken = run(quire(case, case.reads, output)).cpu_seconds - empty.cpu_seconds
    speeds.append([name, "quire", given.reads, f"{taken:.2f}", f"{given.reads / taken:,.0f}"])
    run(quire(case, few, case.folder / "few.bam"))
    ours, gapless = read_places(case.folder / "few.bam"), read_places(case.folder / "few.bam", gaps=False)
    for peer in given.peers.split(","):
        program, command_of = PEERS[peer]
        if shutil.which(program) is None:
            print(f"# {program} is not installed and left out")
            continue
        empty = run(command_of(case, none)[0])
        command, output = command_of(case, few)
        taken = max(run(command).cpu_seconds - empty.cpu_seconds, 1e-3)
        speeds.append([name, peer, given.peer_reads, f"{taken:.2f}", f"{given.peer_reads / taken:,.0f}"])
        theirs = read_places(output)
        reach = 2 * case.differences
        there, missing = compare(ours, theirs, reach, case.differences)
        comparable = {"bwa_substitutions": gapless, "bwa_one_gap": {}}.get(peer, ours)
        back, more = compare(theirs, comparable, reach, case.differences)
        places.append([name, peer, given.peer_reads, sum(there), *there, sum(back), *back])
        print_lines(f"# {peer} alone", missing)
        print_lines("# quire alone", more)
    return speeds, places


def print_lines(title: str, lines: Iterable[str]) -> None:
    """Print places that only one program has."""
    for line in lines:
        print(f"{title}: {line}")


def main() -> None:
    """Parse the command line and measure."""
    parser = arguments(__doc__)
    parser.add_argument("--genomes", default="ecoli,chr20")
    parser.add_argument("--lengths", default="47,100")
    parser.add_argument("--differences", default="3")
    parser.add_argument("--reads", type=int, default=100_000)
    parser.add_argument("--peer-reads", type=int, default=2000)
    parser.add_argument("--peers", default=",".join(PEERS))
    if sys.argv[1:2] == ["--search"]:
        search(*sys.argv[2:])
        return
    given = parser.parse_args()
    print_setting(["bwa"])
    inputs = Inputs(given.data, given.work)
    fastas = {
        "ecoli": lambda: inputs.plain("ecoli", given.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz"),
        "chr20": inputs.chromosome_20,
    }
    speeds, places = [], []
    for genome in given.genomes.split(","):
        fasta = fastas[genome]()
        index = inputs.quire_index(fasta)
        make_indexes(fasta, given.peers)
        reference = Reference.open(index / "reference", verify=False)
        for length in map(int, given.lengths.split(",")):
            reads = fasta.parent / f"complete_{length}_{given.reads}.fq"
            if not reads.exists():
                write_reads(reads, draw_reads(reference, given.reads, length))
            for k in map(int, given.differences.split(",")):
                rows = measure(Case(fasta, index, reads, length, k, fasta.parent), given)
                speeds += rows[0]
                places += rows[1]
    print_table(("case", "program", "reads", "processor s", "reads/s"), speeds)
    print_table(PLACES_HEADER, places, "places")
    add_figures({"places of a peer that are missing": sum(int(row[6]) for row in places)})
    write_measurement()


if __name__ == "__main__":
    main()
