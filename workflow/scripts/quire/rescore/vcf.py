"""VCF 4.2 text: the header, one line a call, parts of the genome put together and indexed."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pysam

from quire.errors import QuireError
from quire.io.files import atomic_path, write_json_atomic
from quire.ledger import require_balance
from quire.rescore.genotyping import NO_CALL, Call
from quire.rescore.sites import SPANNING

LETTERS = bytes.maketrans(bytes(range(5)), b"ACGTN")
_LONGEST_TABIX = 1 << 29  # contigs beyond need a CSI index

_DEFINITIONS = (
    '##FILTER=<ID=PASS,Description="All filters passed">',
    '##INFO=<ID=AC,Number=A,Type=Integer,Description="Copies of each alternate allele in called genotypes">',
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency of each alternate allele in called genotypes">',
    '##INFO=<ID=AN,Number=1,Type=Integer,Description="Number of alleles in called genotypes">',
    '##INFO=<ID=DP,Number=1,Type=Integer,Description="Reads over the site, all samples">',
    '##INFO=<ID=FS,Number=1,Type=Float,Description="Phred p-value of Fisher\'s exact test for strand bias">',
    '##INFO=<ID=MQ,Number=1,Type=Float,Description="Root mean square of the reads\' mapping qualities">',
    '##INFO=<ID=QD,Number=1,Type=Float,Description="QUAL by depth of the samples with the variant, at most 35">',
    '##INFO=<ID=SOR,Number=1,Type=Float,Description="Symmetric odds ratio of strand bias">',
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
    '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads that clearly support each allele">',
    '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Reads that clearly support any allele">',
    '##FORMAT=<ID=GQ,Number=1,Type=Integer,Description="Genotype quality, phred, at most 99">',
    '##FORMAT=<ID=PL,Number=G,Type=Integer,Description="Phred-scaled genotype likelihoods, the best at 0">',
)


def header(contigs: Iterable[tuple[str, int]], samples: Sequence[str], extras: Iterable[str] = ()) -> str:
    """Header text.

    Args:
        contigs: name and length, in the reference's order.
        samples: column names.
        extras: further `##key=value` lines.
    """
    lines = ["##fileformat=VCFv4.2", "##source=Quire", *extras, *_DEFINITIONS]
    lines += [f"##contig=<ID={name},length={length}>" for name, length in contigs]
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    return "\n".join(lines) + "\n"


def record(contig: str, call: Call, info: dict[str, str | int | list[int] | list[str]]) -> str:
    """One line of a call."""
    reference, *alternates = trim_right(call.site.alleles)
    fields = [
        contig,
        str(call.site.start + 1),
        ".",
        _text(reference),
        ",".join(_text(allele) for allele in alternates),
        f"{call.quality:.2f}",
        "PASS",
        ";".join(f"{key}={_join(value)}" for key, value in info.items()),
        "GT:AD:DP:GQ:PL",
    ]
    for s, genotype in enumerate(call.genotypes):
        depths = call.allele_depths[s].tolist()
        quality = call.genotype_qualities[s]
        fields.append(
            ":".join(
                [
                    "/".join("." if allele == NO_CALL else str(allele) for allele in genotype),
                    _join(depths),
                    str(sum(depths)),
                    "." if quality == NO_CALL else str(quality),
                    _join(call.phreds[s].tolist()),
                ]
            )
        )
    return "\t".join(fields) + "\n"


def trim_right(alleles: Sequence[bytes]) -> list[bytes]:
    """Alleles without the bases that all end with (one base always stays; SPANNING is left as it is)."""
    real = [allele for allele in alleles if allele != SPANNING]
    shared = 0
    while shared < min(map(len, real)) - 1 and len({allele[-1 - shared] for allele in real}) == 1:
        shared += 1
    return [allele if allele == SPANNING else allele[: len(allele) - shared] for allele in alleles]


def _text(allele: bytes) -> str:
    return "*" if allele == SPANNING else allele.translate(LETTERS).decode()


def _join(value: str | int | list[int] | list[str]) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def write_part(path: str | Path, head: str, lines: Iterable[str]) -> int:
    """Write a bgzip VCF under its final name; the number of lines."""
    count = 0
    with atomic_path(path) as temporary, pysam.BGZFile(str(temporary), "wb") as stream:
        stream.write(head.encode())
        for line in lines:
            stream.write(line.encode())
            count += 1
    return count


def gather(parts: Sequence[str | Path], output: str | Path, index: str | Path) -> int:
    """Join parts, given in genome order, to one indexed bgzip VCF.

    Args:
        parts: what `write_part` wrote, at least one; the header is the first's.
        output: the VCF (.vcf.gz).
        index: its index; .csi or .tbi by its name, and CSI content where a contig is too long for TBI.

    Returns:
        The number of variants.

    Raises:
        QuireError: parts of different samples, or not in genome order.
    """
    variants = 0
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        head = _read_head(parts[0])
        ranks = {line.split("ID=")[1].split(",length")[0]: i for i, line in enumerate(_contig_lines(head))}
        longest = max((int(line.rsplit("length=", 1)[1].rstrip(">\n")) for line in _contig_lines(head)), default=0)
        last = (-1, -1)
        with pysam.BGZFile(str(temporary), "wb") as stream:
            stream.write("".join(head).encode())
            for part in parts:
                if _read_head(part)[-1] != head[-1]:
                    raise QuireError(
                        f"{part}: its samples are not those of {parts[0]}; delete the parts and run again."
                    )
                for line in _body(part):
                    contig, position, _ = line.split(b"\t", 2)
                    here = (ranks[contig.decode()], int(position))
                    if here < last:
                        raise QuireError(
                            f"{part}: out of genome order at {contig.decode()}:{here[1]}; run rescore again."
                        )
                    last = here
                    stream.write(line + b"\n")
                    variants += 1
        csi = str(index).endswith(".csi") or longest > _LONGEST_TABIX
        pysam.tabix_index(
            str(temporary), preset="vcf", force=True, csi=csi, index=str(temporary_index), keep_original=True
        )
    return variants


def gather_ledgers(ledgers: Sequence[str | Path], output: str | Path) -> None:
    """Add the ledgers of the parts up to one of the stage: for each sample what became of its reads.

    Args:
        ledgers: JSON files of the parts.
        output: JSON with `stage`, `samples` (counts by sample) and `variants`.

    Raises:
        QuireError: a sample's counts do not balance.
    """
    samples: dict[str, dict[str, int]] = {}
    variants = 0
    for path in ledgers:
        ledger = json.loads(Path(path).read_text())
        variants += ledger["variants"]
        for sample, counts in ledger["reads"].items():
            total = samples.setdefault(sample, dict.fromkeys(counts, 0))
            for name, count in counts.items():
                total[name] += count
    for sample, counts in samples.items():
        require_balance(
            "rescore", sample, {"reads": counts["reads"]}, {name: n for name, n in counts.items() if name != "reads"}
        )
    write_json_atomic(output, {"stage": "rescore", "samples": samples, "variants": variants})


def _contig_lines(head: Sequence[str]) -> list[str]:
    return [line for line in head if line.startswith("##contig=")]


def _read_head(part: str | Path) -> list[str]:
    """Header lines of a part, with their line ends."""
    lines = []
    with pysam.BGZFile(str(part), "rb") as stream:
        for line in stream:
            if not line.startswith(b"#"):
                break
            lines.append(line.decode() + "\n")
    return lines


def _body(part: str | Path) -> Iterable[bytes]:
    """Variant lines of a part, without line ends."""
    with pysam.BGZFile(str(part), "rb") as stream:
        for line in stream:
            if line and not line.startswith(b"#"):
                yield line
