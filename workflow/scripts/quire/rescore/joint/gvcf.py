"""The header of a gVCF."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.io.vcf import NON_REFERENCE, contig_lines, length_of_contig, name_of_contig
from quire.rescore.ploidy import HEADER_KEY, PloidyMap
from quire.run.inputs import require_text

FIRST_SAMPLE = 9  # column
MISSING = -1


class Head(NamedTuple):
    """The header of a gVCF.

    Attributes:
        samples: names.
        ploidy_lines: the lines for `PloidyMap.from_header`, which Quire's files have.
    """

    samples: Sequence[str]
    ploidy_lines: Sequence[str]


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
