"""The samtools functions that Quire uses, through pysam, with one-sentence errors.

`threads` counts all threads of a step. No @PG lines are added, since samtools would put names of temporary files there.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pysam
from pysam import AlignmentFile
from pysam.utils import SamtoolsError

from quire.errors import MEMORY, QuireError

FULL_BYTES = 1 << 20  # when a step fails, a disk with less free space counts as full


@contextmanager
def open_alignments(path: str | Path, reference: str | Path | None = None, **options: Any) -> Iterator[AlignmentFile]:
    """Open a BAM or CRAM file without its index.

    pysam loads the index of a file that it knows by name, and htslib crashes on a damaged one.
    """
    given = None if reference is None else str(reference)
    with open(path, "rb") as stream, AlignmentFile(stream.fileno(), reference_filename=given, **options) as file:
        yield file


def to_cram(bam: Path, output: Path, reference: Path, threads: int) -> None:
    """Write a BAM file as CRAM, with a FASTA file as reference that has its index beside it.

    Version 3.0 with NM and MD is for Picard 2, which does not read version 3.1 or restore tags that CRAM leaves out.
    """
    kind = ["-O", "cram,version=3.0,store_nm=1,store_md=1"]
    _call(pysam.view, output, "--no-PG", *kind, "-T", reference, "-@", _additional(threads), "-o", output, bam)


def to_bam(cram: Path, output: Path, reference: Path | None, threads: int) -> None:
    """Decode a CRAM file to a lightly compressed BAM; the FASTA file, if any, has its index beside it."""
    level = ["-b", "--output-fmt-option", "level=1"]
    given = [] if reference is None else ["-T", reference]
    _call(pysam.view, output, "--no-PG", *level, *given, "-@", _additional(threads), "-o", output, cram)


def collate(alignments: Path, output: Path, reference: Path | None, threads: int) -> None:
    """Write a BAM in which records of the same name are adjacent, with temporary files beside it."""
    given = [] if reference is None else ["--reference", reference]
    files = ["-T", f"{output}.part", "-o", output, alignments]
    _call(pysam.collate, output, "--no-PG", "-l", 1, *given, "-@", _additional(threads), *files)


def rename_reference(cram: Path, output: Path, reference: Path, header: Path) -> None:
    """Copy a CRAM file with `reference` as the location (UR) of its contigs; `header` is a temporary file."""
    text = _call(pysam.view, cram, "--no-PG", "-H", cram, catch_stdout=True)
    header.write_text(re.sub(r"(?m)^(@SQ\t.*?)\tUR:[^\t\n]*", lambda line: f"{line[1]}\tUR:{reference}", text))
    _call(pysam.cat, output, "--no-PG", "-h", header, "-o", output, cram)


def index(alignments: Path, output: Path, kind: str, threads: int) -> None:
    """Index a sorted BAM (kind "bai" or "csi") or CRAM ("crai")."""
    kinds = {"bai": ["-b"], "csi": ["-c"], "crai": []}[kind]
    _call(pysam.index, output, *kinds, "-@", _additional(threads), "-o", output, alignments)


def _additional(threads: int) -> int:
    return max(threads - 1, 0)


def _call(function: Callable[..., Any], path: Path, *arguments: object, catch_stdout: bool = False) -> str:
    """Run a samtools function that writes (or only reads) `path`; raise its error as a QuireError."""
    try:
        return str(function(*map(str, arguments), catch_stdout=catch_stdout))
    except SamtoolsError as error:
        if shutil.disk_usage(path.parent).free < FULL_BYTES:
            raise QuireError(f"{path}: cannot be written (No space left on device); free some space there.") from error
        complaint = str(error).split("stderr=")[-1].strip(" '\"").replace("\\n", "\n").strip().splitlines()
        if any(re.search("allocat|out of memory", line, re.IGNORECASE) for line in complaint):
            raise QuireError(
                f"{path}: {MEMORY} ({complaint[-1].strip()}); give the job more (its mem_mb) or fewer threads."
            ) from error
        raise QuireError(
            f"{path}: a step of samtools failed ({complaint[-1].strip() if complaint else error}); "
            "check that its input is whole and that there is free space for temporary files."
        ) from error
