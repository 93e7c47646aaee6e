"""gVCFs and joint genotyping against GATK, on the reads and expected files of GATK's own regression test.

The sample's gVCF of chr20:10,000,000-10,100,000 is compared with GATK's. Joint genotyping reads GATK's gVCF and
Quire's; GATK's GenotypeGVCFs also reads both, if GATK is found (--gatk). Every field is compared with GATK's, and every
position if both write all sites.
"""

import json
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pysam
from quire import reference
from quire.rescore.parameters import BANDS

from bench.calling import GATK
from bench.common import (
    Timing,
    add_figures,
    arguments,
    calling_settings,
    print_setting,
    print_table,
    run,
    write_measurement,
)

CONTIG, START, END = "20", 9_999_999, 10_100_000
SAMPLE = "NA12878"
VARIANT = -1
# GATK prints three or four digits, by size; it replaces QD above 35 by a random number, Quire by 35.
RELATIVE, ABSOLUTE = 0.005, 0.0011
RANDOM_QD = 35.0


class Site(NamedTuple):
    """A record of a variant, with a genotype of spelled alleles, so that their order does not matter.

    Attributes:
        alleles: all alleles of the record.
        genotype: alleles of the sample, sorted.
        values: FORMAT values by key.
    """

    alleles: frozenset[str]
    genotype: tuple[str, ...]
    values: dict[str, str]


def records(path: Path) -> list[list[str]]:
    """Return the fields of all records."""
    with pysam.BGZFile(str(path), "rb", None) as stream:
        return [line.decode().split("\t") for line in stream if line and not line.startswith(b"#")]


def states(path: Path) -> dict[int, int]:
    """Return for every position the band of its block's GQ, or VARIANT."""
    found: dict[int, int] = {}
    for fields in records(path):
        start = int(fields[1])
        if fields[4] == "<NON_REF>":
            end = int(dict(item.partition("=")[::2] for item in fields[7].split(";"))["END"])
            quality = int(dict(zip(fields[8].split(":"), fields[9].split(":"), strict=True))["GQ"])
            found |= dict.fromkeys(range(start, end + 1), bisect_right(BANDS, quality) - 1)
        else:
            found = dict.fromkeys(range(start, start + len(fields[3])), VARIANT) | found
            found[start] = VARIANT
    return found


def variants(path: Path) -> dict[int, Site]:
    """Return the records of variants by position, with the first sample's genotype."""
    found = {}
    for fields in records(path):
        if fields[4] == "<NON_REF>":
            continue
        alleles = [fields[3], *fields[4].split(",")]
        values = dict(zip(fields[8].split(":"), fields[9].split(":"), strict=False))
        numbers = values["GT"].replace("|", "/").split("/")
        genotype = tuple(sorted("." if number == "." else alleles[int(number)] for number in numbers))
        found[int(fields[1])] = Site(frozenset(alleles), genotype, values)
    return found


def agreement(name: str, ours: dict[int, Site], peers: dict[int, Site]) -> list[Any]:
    """Return a row: records of each, records of both with the same alleles, and equal values in these."""
    both = [p for p in ours.keys() & peers.keys() if ours[p].alleles == peers[p].alleles]
    same = [sum(ours[p].values.get(key) == peers[p].values.get(key) for p in both) for key in ("AD", "GQ", "PL")]
    genotypes = sum(ours[p].genotype == peers[p].genotype for p in both)
    return [name, len(ours), len(peers), len(both), genotypes, *same]


def call(mode: str, output: Path, packed: Path, fasta: Path, alignment: Path) -> None:
    """Call the region in a mode of `quire.rescore.job.Output`, in a timed process."""
    sample = {"sample": SAMPLE, "ploidy": 2, "bam": str(alignment)}
    interval = (CONTIG, START, END)
    code = "from quire.rescore.caller import call_interval as call; "
    code += "from quire.rescore.job import CallingRequest, Output; "
    code += f"call(CallingRequest(Output.{mode}, {str(packed)!r}, [{sample!r}], [{interval!r}], "
    code += f"{str(output)!r}, {calling_settings()!r}, {str(output) + '.json'!r}, {str(fasta)!r}))"
    run(f'{sys.executable} -c "{code}"')


def joint(output: Path, packed: Path, gvcfs: list[Path], all_sites: bool = False) -> Timing:
    """Genotype gVCFs together in a timed process."""
    paths, stores = output.with_suffix(".json"), output.with_suffix(".stores")
    stores.mkdir(exist_ok=True)
    paths.write_text(json.dumps([(str(path), f"{stores}/{number}") for number, path in enumerate(gvcfs)]))
    code = "import json; from quire.rescore.joint import JointRequest, genotype_interval; "
    code += "from quire.rescore.joint.store import import_gvcf; "
    code += f"files = json.load(open({str(paths)!r})); [import_gvcf({str(packed)!r}, *each) for each in files]; "
    code += f"genotype_interval(JointRequest({str(packed)!r}, [store for _, store in files], "
    code += f"[{(CONTIG, START, END)!r}], {str(output)!r}, 30.0, all_sites={all_sites!r}))"
    return run(f'{sys.executable} -c "{code}"')


class Agreement(NamedTuple):
    """Agreement of one key.

    Attributes:
        both: number of records where both files have a value.
        equal: number of these with the same value.
        ours, peers: number of records where only one file has a value.
        examples: position, Quire's and the peer's value of the first differing records.
    """

    both: int
    equal: int
    ours: int
    peers: int
    examples: list[str]


def fields_of(path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield contig, position and alleles, and the fields of each variant, with FORMAT of the first sample."""
    with pysam.BGZFile(str(path), "rb", None) as stream:
        for line in stream:
            columns = line.decode().split("\t")
            if line.startswith(b"#") or not line or columns[4] in (".", "<NON_REF>"):
                continue
            values = {"QUAL": columns[5]}
            for item in columns[7].split(";"):
                key, _, value = item.partition("=")
                values[key] = value
            for key, value in zip(columns[8].split(":"), columns[9].split(":"), strict=False):
                name = f"{key} of the sample" if key == "DP" else key
                values[name] = "/".join(sorted(value.replace("|", "/").split("/"))) if key == "GT" else value
            yield (*columns[:2], *columns[3:5]), values


def is_equal(key: str, ours: str, peers: str) -> bool:
    """Return True if two values are equal, numbers to the digits that both files print."""
    if ours == peers:
        return True
    mine, theirs = ours.split(","), peers.split(",")
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs, strict=True):
        try:
            first, second = float(a), float(b)
        except ValueError:
            return False
        if key == "QD" and first == RANDOM_QD:
            continue
        if abs(first - second) > max(ABSOLUTE, RELATIVE * abs(second) if abs(second) < 10 else 0.011):
            return False
    return True


def compare_fields(ours: Path, peer: Path) -> dict[str, Agreement]:
    """Return the agreement by key over the records that both files have."""
    mine, theirs = dict(fields_of(ours)), dict(fields_of(peer))
    both, equal, only_ours, only_peers = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    examples: dict[str, list[str]] = {}
    for site in sorted(mine.keys() & theirs.keys(), key=lambda s: (s[0], int(s[1]))):
        a = {key: value for key, value in mine[site].items() if value.strip("./,|")}
        b = {key: value for key, value in theirs[site].items() if value.strip("./,|")}
        for key in a.keys() | b.keys():
            both[key] += key in a and key in b
            only_ours[key] += key not in b
            only_peers[key] += key not in a
            same = key in a and key in b and is_equal(key, a[key], b[key])
            equal[key] += same
            if not same:
                examples.setdefault(key, []).append(f"{site[1]} {a.get(key, '-')} {b.get(key, '-')}")
    keys = sorted(both | only_ours | only_peers, key=str.lower)
    return {
        key: Agreement(both[key], equal[key], only_ours[key], only_peers[key], examples.get(key, [])) for key in keys
    }


def print_fields(ours: Path, peer: Path, examples: int = 3) -> None:
    """Print a row for each key."""
    rows = []
    for key, found in compare_fields(ours, peer).items():
        share = f"{found.equal / found.both:.1%}" if found.both else ""
        rows.append(
            [key, found.both, found.equal, share, found.ours, found.peers, "; ".join(found.examples[:examples])]
        )
    print_table(["field", "in both", "equal", "share", "ours alone", "peer's alone", "position, ours, peer's"], rows)


def main() -> None:
    """Call, compare and join."""
    parser = arguments(__doc__)
    parser.add_argument("--gatk", default=GATK, help="command of GATK; empty to do without")
    given = parser.parse_args()
    print_setting(())
    given.work.mkdir(parents=True, exist_ok=True)
    folder, data = given.work / "gvcf", given.data / "gatk_haplotypecaller"
    folder.mkdir(exist_ok=True)
    fasta = data / "human_g1k_v37.20.21.fasta.gz"
    packed = folder / "reference"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    alignment = data / "CEUTrio.HiSeq.WGS.b37.NA12878.20.21.v3.0.samtools.cram"
    ours, theirs = folder / "ours.g.vcf.gz", folder / "gatk.g.vcf.gz"
    call("VARIANTS", folder / "at_once.vcf.gz", packed, fasta, alignment)
    call("GVCF", ours, packed, fasta, alignment)
    pysam.tabix_compress(str(data / "expected.testGVCFMode.gatk4.g.vcf"), str(theirs), force=True)
    for path in (ours, theirs):
        pysam.tabix_index(str(path), preset="vcf", force=True)
    print_states(states(ours), states(theirs))
    joint(folder / "joint_ours.vcf.gz", packed, [ours])
    joint(folder / "joint_gatk.vcf.gz", packed, [theirs])
    found = {path.name: variants(path) for path in (ours, theirs)}
    rows = [agreement("gVCF: Quire, GATK's expected", *found.values())]
    joined = {name: variants(folder / f"joint_{name}.vcf.gz") for name in ("ours", "gatk")}
    if given.gatk:
        peers = genotype_by_gatk(given.gatk, folder, fasta, {"ours": ours, "gatk": theirs})
        rows += [
            agreement("GATK's gVCF genotyped: Quire, GATK", joined["gatk"], peers["gatk"]),
            agreement("Quire's gVCF genotyped: Quire, GATK", joined["ours"], peers["ours"]),
            agreement("each its own: Quire, GATK", joined["ours"], peers["gatk"]),
        ]
    print_table(["", "records", "peer's", "same alleles", "same GT", "same AD", "same GQ", "same PL"], rows)
    expected = folder / "gatk.vcf.gz"
    pysam.tabix_compress(str(data / "expected.testVCFMode.gatk4.vcf"), str(expected), force=True)
    print("## plain calling: Quire, GATK's expected VCF")
    print_fields(folder / "at_once.vcf.gz", expected)
    print("## gVCF: Quire, GATK's expected")
    print_fields(ours, theirs)
    if given.gatk:
        print("## GATK's gVCF genotyped: Quire, GATK's GenotypeGVCFs")
        print_fields(folder / "joint_gatk.vcf.gz", folder / "gatk_gatk.vcf")
        print_every_site(given.gatk, folder, packed, theirs)
    write_measurement()


def print_every_site(gatk: str, folder: Path, packed: Path, gvcf: Path) -> None:
    """Print the number of positions at which both agree, if both write every position of GATK's gVCF."""
    ours, theirs = folder / "every_ours.vcf.gz", folder / "every_gatk.vcf"
    joint(ours, packed, [gvcf], all_sites=True)
    region = f"{CONTIG}:{START + 1}-{END}"
    options = f"-R {folder}/genome.fa -V {gvcf} -O {theirs} -L {region} --include-non-variant-sites"
    run(f"{gatk} GenotypeGVCFs {options} > {theirs}.log 2>&1")
    found = []
    for path in (ours, theirs):
        sites = {}
        for fields in records(path):
            values = dict(zip(fields[8].split(":"), fields[9].split(":"), strict=False))
            genotype = tuple(sorted(values["GT"].replace("|", "/").split("/")))
            keys = ("AD", "DP", "PL") if fields[4] != "." else ("DP", "RGQ")
            sites[fields[1]] = (*fields[3:5], genotype, *(values.get(key, ".") for key in keys))
        found.append(sites)
    same = sum(found[1].get(position) == site for position, site in found[0].items())
    header = ["every position: Quire's, GATK's", "the same alleles, GT, DP and RGQ or AD and PL"]
    print_table(header, [[f"{len(found[0])}, {len(found[1])}", same]])


def print_states(ours: dict[int, int], theirs: dict[int, int]) -> None:
    """Print the shares of bases in the same state and in the same band."""
    positions = ours.keys() | theirs.keys()
    both = ours.keys() & theirs.keys()
    state = sum((ours[p] == VARIANT) == (theirs[p] == VARIANT) for p in both)
    blocks = [p for p in both if VARIANT not in (ours[p], theirs[p])]
    band = sum(ours[p] == theirs[p] for p in blocks)
    add_figures(
        {
            "bases in the same state": round(100 * state / len(positions), 4),
            "bases of blocks in the same band of GQ": round(100 * band / len(blocks), 4),
        }
    )
    print_table(
        ["bases", "same state", "same band, of those in blocks"],
        [[len(positions), f"{state / len(positions):.4%}", f"{band / len(blocks):.4%}"]],
    )


def genotype_by_gatk(gatk: str, folder: Path, fasta: Path, gvcfs: dict[str, Path]) -> dict[str, dict[int, Site]]:
    """Run GATK's GenotypeGVCFs on each gVCF."""
    plain = folder / "genome.fa"
    if not plain.exists():
        run(f"samtools faidx {fasta} 20 21 > {plain} && samtools faidx {plain}")
        run(f"samtools dict {plain} -o {folder}/genome.dict")
    found = {}
    for name, gvcf in gvcfs.items():
        output = folder / f"gatk_{name}.vcf"
        region = f"{CONTIG}:{START + 1}-{END}"
        run(f"{gatk} GenotypeGVCFs -R {plain} -V {gvcf} -O {output} -L {region} > {output}.log 2>&1")
        found[name] = variants(output)
    return found


if __name__ == "__main__":
    main()
