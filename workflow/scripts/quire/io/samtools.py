"""The functions of samtools and bcftools that Quire uses, through pysam, with one-sentence errors.

They run in a process of their own, since htslib 1.21 ends by a signal on some damaged CRAM and GFF3 files. `threads`
counts all threads of a step. No @PG lines are added, since samtools would put names of temporary files there.
"""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from pysam import AlignmentFile

from quire.errors import MEMORY, QuireError
from quire.io.files import htslib_path

FULL_BYTES = 1 << 20  # when a step fails, a disk with less free space counts as full


@contextmanager
def open_alignments(path: str | Path) -> Iterator[AlignmentFile]:
    """Open a BAM file without its index, which pysam would load by the name: htslib crashes on a damaged one."""
    with open(path, "rb") as stream, AlignmentFile(stream.fileno()) as file:
        yield file


def to_cram(bam: Path, output: Path, reference: Path, threads: int) -> None:
    """Write a BAM file as CRAM, with a FASTA file as reference that has its index beside it.

    Version 3.0 with NM and MD is for Picard 2, which does not read version 3.1 or restore tags that CRAM leaves out.
    """
    kind = ["-O", "cram,version=3.0,store_nm=1,store_md=1"]
    _call("samtools.view", output, "--no-PG", *kind, "-T", reference, "-@", _additional(threads), "-o", output, bam)


def to_bam(cram: Path, output: Path, reference: Path | None, threads: int, level: int = 1) -> None:
    """Decode a CRAM file to a BAM, lightly compressed by default; the FASTA file, if any, has its index beside it."""
    kind = ["-b", "--output-fmt-option", f"level={level}"]
    given = [] if reference is None else ["-T", reference]
    _call("samtools.view", output, "--no-PG", *kind, *given, "-@", _additional(threads), "-o", output, cram)


def collate(alignments: Path, output: Path, reference: Path | None, threads: int) -> None:
    """Write a BAM in which records of the same name are adjacent, with temporary files beside it."""
    given = [] if reference is None else ["--reference", reference]
    files = ["-T", Path(f"{output}.part"), "-o", output, alignments]
    _call("samtools.collate", output, "--no-PG", "-l", 1, *given, "-@", _additional(threads), *files)


def replace_header(cram: Path, output: Path, text: str, header: Path) -> None:
    """Copy a CRAM file with another header; `header` is a temporary file for its text."""
    header.write_text(text)
    _call("samtools.cat", output, "--no-PG", "-h", header, "-o", output, cram)


def index(alignments: Path, output: Path, kind: str, threads: int) -> None:
    """Index a sorted BAM (kind "bai" or "csi") or CRAM ("crai")."""
    kinds = {"bai": ["-b"], "csi": ["-c"], "crai": []}[kind]
    _call("samtools.index", output, *kinds, "-@", _additional(threads), "-o", output, alignments)


def header_text(alignments: Path, reference: Path | None) -> str:
    """Return the text of a BAM or CRAM file's header."""
    given = [] if reference is None else ["-T", reference]
    return _call("samtools.view", alignments, "--no-PG", "-H", *given, alignments)


def first_rows(alignments: Path, most: int, fields: str = "0x1") -> list[list[str]]:
    """Return the columns of the first `most` records of a file, or fewer if it cannot be read further.

    Only `fields` are read (samtools' required_fields), by default the names, for which a CRAM needs no reference.
    """
    command = _command("samtools.view", "--input-fmt-option", f"required_fields={fields}", alignments)
    with Popen(command, stdout=PIPE, stderr=DEVNULL, text=True, encoding="latin-1") as process:
        assert process.stdout is not None
        found = [line.split("\t") for line in islice(process.stdout, most)]
        process.kill()
    return found


def run_apart(function: str, *arguments: object) -> tuple[str, str]:
    """Run a function of pysam in a process of its own; return its output, or raise StepFailed with its messages."""
    command = _command(function, *arguments)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise StepFailed([f"it cannot be started: {error.strerror}"]) from error
    messages = done.stderr.split("stderr=")[-1].strip(" '\"\n").replace("\\n", "\n").replace("\\t", " ")
    if done.returncode < 0:
        messages += f"\nit ended by {signal.Signals(-done.returncode).name}"
    if done.returncode:
        raise StepFailed([line.strip() for line in messages.splitlines() if line.strip()])
    return done.stdout, messages


class StepFailed(Exception):
    """A function of samtools or bcftools failed; `messages` are the lines that it wrote."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(messages[-1].rstrip(".") if messages else "it says no more")
        self.messages = messages


# The child is killed (signal 9) when this process ends (option 1 of prctl).
_CHILD = """
import ctypes, importlib, sys
from pysam.utils import SamtoolsError
ctypes.CDLL(None).prctl(1, 9)
module, name = sys.argv[1].split(".")
function = getattr(importlib.import_module(f"pysam.{module}"), name)
try:
    function(*sys.argv[2:], catch_stdout=False)
except SamtoolsError as error:
    sys.exit(str(error))
sys.stderr.write(function.get_messages())
"""


def _command(function: str, *arguments: object) -> list[str]:
    words = (htslib_path(one) if isinstance(one, Path) else str(one) for one in arguments)
    return [sys.executable, "-c", _CHILD, function, *words]


def _additional(threads: int) -> int:
    return max(threads - 1, 0)


def _call(function: str, path: Path, *arguments: object) -> str:
    """Run a samtools function that writes (or only reads) `path`; raise its error as a QuireError."""
    try:
        return run_apart(function, *arguments)[0]
    except StepFailed as error:
        if shutil.disk_usage(path.parent).free < FULL_BYTES:
            raise QuireError(f"{path}: cannot be written (No space left on device); free some space there.") from error
        if any(re.search("allocat|out of memory|SIGKILL", line, re.IGNORECASE) for line in error.messages):
            raise QuireError(f"{path}: {MEMORY} ({error}); give the job more (its mem_mb) or fewer threads.") from error
        raise QuireError(
            f"{path}: a step of samtools failed ({error}); "
            "check that its input is whole and that there is free space for temporary files."
        ) from error
