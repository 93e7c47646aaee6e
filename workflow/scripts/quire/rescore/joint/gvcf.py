"""The header and the records of a gVCF, as text."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION, contig_lines, length_of_contig, name_of_contig
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.ploidy import HEADER_KEY, PloidyMap
from quire.run.inputs import require_text

FIRST_SAMPLE = 9  # column
MISSING = -1
LARGEST_PLOIDY = 255
_LARGEST = (1 << 31) - 1
_KEYS = "GT", "AD", "DP", "GQ", "MIN_DP", "PL", "SB", "PGT", "PID", "PS"  # of FORMAT, in the order of `_sample`
_NO_VARIANT = frozenset("0.")
_MISSING_TEXTS = None, "", "."


class Head(NamedTuple):
    """What the header of a gVCF says.

    Attributes:
        samples: names.
        ploidy_lines: the lines for `PloidyMap.from_header`, which Quire's files have.
    """

    samples: Sequence[str]
    ploidy_lines: Sequence[str]


class SampleValues(NamedTuple):
    """A sample of a record; numbers are MISSING, and lists empty, if the record does not have them.

    Attributes:
        ploidy: number of alleles of GT.
        has_variant, is_called: False if GT has only 0 and dots; True if GT has no dot.
        quality, depth: GQ; MIN_DP, or DP without it.
        phreds, depths, strands: PL, AD and SB.
        phase: PGT, PID and PS as text; empty without the first two.
    """

    ploidy: int
    has_variant: bool
    is_called: bool
    quality: int
    depth: int
    phreds: Sequence[int]
    depths: Sequence[int]
    strands: Sequence[int]
    phase: str


class RecordValues(NamedTuple):
    """A record of a gVCF.

    Attributes:
        start, end: the positions that it covers, 0-based, half-open.
        spelling: REF and ALT with a tab between them.
        depth: DP of INFO, or MISSING.
        squares: sum of the squared mapping qualities and number of reads (RAW_MQandDP); empty if missing.
        rank_sums: values of RANK_SUMS; NaN if missing.
        samples: in the order of the columns.
    """

    start: int
    end: int
    spelling: str
    depth: int
    squares: Sequence[int]
    rank_sums: Sequence[float]
    samples: Sequence[SampleValues]


def read_head(path: str | Path, contigs: Mapping[str, int]) -> Head:
    """Read and check the header of a gVCF; `contigs` are the lengths of the reference's contigs by name.

    Raises:
        InputError: the file is missing, truncated, no gVCF, or of another reference.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; correct rescore.more_gvcfs.")
    if lacks_bgzip_end(path):
        raise InputError(f"{path}: is truncated; make or copy the file again.")
    lines = []
    with read_errors(path), open_input(path) as stream:
        for line in stream:
            if not line.startswith(b"#"):
                break
            lines.append(line)
    try:
        header = [line.decode().rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read ({error}); make or copy the file again.") from error
    if not any(line.startswith(f"##ALT=<ID={NON_REFERENCE[1:-1]},") for line in header):
        raise InputError(
            f"{path}: its header has no allele {NON_REFERENCE}, so it is not a gVCF; "
            "make one with `rescore.gvcf: true` or with GATK's HaplotypeCaller -ERC GVCF."
        )
    ploidy_lines = [line for line in header if line.startswith(f"##{HEADER_KEY}=<")]
    try:
        _check_contigs(path, header, contigs)
        PloidyMap.from_header(ploidy_lines)
    except (ValueError, LookupError) as error:
        raise InputError(f"{path}: its header has a wrong line ({error}); make or copy the file again.") from error
    if not header[-1].startswith("#CHROM"):
        raise InputError(f"{path}: its header has no line with the names of the samples; make the file again.")
    samples = header[-1].split("\t")[FIRST_SAMPLE:]
    if not samples:
        raise InputError(f"{path}: its header names no sample; make the file again.")
    for sample in samples:
        require_text(sample, f"{path}: the name of a sample")
    return Head(samples, ploidy_lines)


def _check_contigs(path: str | Path, header: Sequence[str], contigs: Mapping[str, int]) -> None:
    for line in contig_lines(header):
        name, length = name_of_contig(line), length_of_contig(line)
        if name not in contigs or length not in (None, contigs[name]):
            raise InputError(
                f"{path}: its contig {name!r} ({length} bases) is not in the reference; "
                "make the gVCF again with this reference."
            )


def parse_record(line: str, at: str, samples: int) -> RecordValues:
    """Parse a line of a gVCF of `samples` samples; `at` names file and record in messages.

    Raises:
        InputError: the record cannot be used.
    """
    columns = line.split("\t")
    if len(columns) != FIRST_SAMPLE + samples:
        raise InputError(f"{at} does not have the columns of the header; make or copy the gVCF again.")
    _, position, _, reference, alternates, _, _, info_text, format_text, *texts = columns
    alleles = [reference, *alternates.split(",")]
    _check_alleles(alleles, at)
    alleles = [text if text == NON_REFERENCE else text.upper() for text in alleles]
    try:
        start = _number(position) - 1
        info = {key: value for key, _, value in (item.partition("=") for item in info_text.split(";"))}
        return RecordValues(
            start=start,
            end=_number(info.get("END") or str(start + len(reference))),
            spelling=f"{alleles[0]}\t{','.join(alleles[1:])}",
            depth=_number(info.get("DP")),
            squares=_squares(info.get(RAW_MAPPING_QUALITY)),
            rank_sums=[float(info.get(key) or "nan") for key in RANK_SUMS],
            samples=[_sample(format_text, text, len(alleles), at) for text in texts],
        )
    except (ValueError, LookupError, ArithmeticError) as error:
        raise InputError(f"{at} has a wrong value ({error}); make or copy the gVCF again.") from error


def _check_alleles(alleles: Sequence[str], at: str) -> None:
    if NON_REFERENCE not in alleles:
        raise InputError(f"{at} has no allele {NON_REFERENCE}; make the gVCF again.")
    for number, allele in enumerate(alleles):
        is_symbol = number > 0 and allele in (NON_REFERENCE, SPANNING_DELETION)
        if not (is_symbol or (allele.isascii() and allele.isalpha())):
            raise InputError(f"{at} has the allele {allele!r}, which is no bases; make the gVCF again.")


def _sample(format_text: str, text: str, alleles: int, at: str) -> SampleValues:
    parts = text.split(":")
    genotype, depths, depth, quality, least, phreds_text, strands_text, *phase = (
        parts[place] if place < len(parts) else "" for place in _places(format_text)
    )
    members = genotype.replace("|", "/").split("/")
    if len(members) > LARGEST_PLOIDY:
        raise ValueError(f"GT has {len(members)} alleles, more than {LARGEST_PLOIDY}")
    phreds = _numbers(phreds_text)
    if phreds and len(phreds) != genotype_count(len(members), alleles):
        raise InputError(f"{at} has {len(phreds)} values in PL, not one per genotype; make it again.")
    strands = _numbers(strands_text)
    has_phase = phase[0].strip(".|/") and phase[1].strip(".")
    return SampleValues(
        ploidy=len(members),
        has_variant=not {*members} <= _NO_VARIANT,
        is_called="." not in members,
        quality=_number(quality),
        depth=_number(depth if least in _MISSING_TEXTS else least),
        phreds=phreds,
        depths=_numbers(depths),
        strands=strands if len(strands) == 4 else (),
        phase=f"{phase[0]}:{phase[1]}:{'.' if phase[2] in _MISSING_TEXTS else int(phase[2])}" if has_phase else "",
    )


@lru_cache
def _places(format_text: str) -> tuple[int, ...]:
    """Return where the values of _KEYS are in a sample's column; beyond its end for a key that FORMAT lacks."""
    keys = format_text.split(":")
    if "GT" not in keys:
        raise ValueError("'GT' is not in FORMAT")
    return tuple(keys.index(key) if key in keys else len(keys) for key in _KEYS)


def _number(text: str | None) -> int:
    """Parse an integer that fits into 32 bits; MISSING without a text."""
    if text in _MISSING_TEXTS:
        return MISSING
    number = int(str(text))
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"{text!r} is not from 0 to {_LARGEST}")
    return number


def _numbers(text: str) -> list[int]:
    """Parse integers separated by commas; a missing text, or one with a dot, gives an empty list."""
    if not text or "." in text:
        return []
    numbers = [*map(int, text.split(","))]
    if not 0 <= min(numbers) <= max(numbers) <= _LARGEST:
        raise ValueError(f"{text!r} has a number that is not from 0 to {_LARGEST}")
    return numbers


def _squares(text: str | None) -> list[int]:
    """Parse RAW_MQandDP, whose sum of squares GATK may write as a decimal fraction; empty if it is missing."""
    if not text:
        return []
    squares, reads = (int(float(item)) for item in text.split(","))
    if not 0 <= min(squares, reads) <= max(squares, reads) < 1 << 62:
        raise ValueError(f"{RAW_MAPPING_QUALITY} {text!r}")
    return [squares, reads]
