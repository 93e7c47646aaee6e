"""The origin of a unit's records: a digest of the inputs of mapping, and the command that maps the unit alone."""

import hashlib
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from quire.align.read_ends import Clipping
from quire.align.unit_files import UnitInputs
from quire.index import construction as indexes
from quire.io.bam.writer import ReadGroup
from quire.reference import construction as references
from quire.reference.storage import read_manifest


def origin_of(inputs: UnitInputs, read_group: ReadGroup, clipping: Clipping, umis: str, program: str) -> str:
    """Return a digest (SHA-256, hexadecimal) of everything that determines a unit's records and header.

    Runs with equal digests write the same records. Read files are represented by path, size and modification time, as
    in Snakemake; the packed reference and the indexes of its pages by the checksums in their manifests; the mapper by a
    digest of its sources, `program`.
    """
    reads = inputs.reads
    said = {
        "program": program,
        "reference": _manifest(inputs.reference, "reference", references.FORMAT_VERSION),
        "pages": [_manifest(page, "index", indexes.FORMAT_VERSION) for page in inputs.pages],
        "fasta": str(inputs.fasta),
        "alternate": _contents(inputs.alternate) if inputs.alternate else None,
        "files": [[str(path), (status := path.stat()).st_size, status.st_mtime_ns] for path in reads.files],
        "reads": [[*map(str, files)] for files in (reads.fq1, reads.fq2, reads.fq_umi, reads.bam)],
        "written": [reads.interleaved, reads.qualities],
        "read_group": [read_group.sample, read_group.unit, read_group.library, read_group.platform],
        "clipping": [clipping.adapters, clipping.poly_g],
        "umis": umis,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _manifest(directory: Path, kind: str, version: int) -> dict[str, object]:
    """Return the entries of a manifest that describe the contents of its directory."""
    manifest = read_manifest(directory, kind, version)
    return {key: manifest.get(key) for key in ("format_version", "contigs", "checksums")}


def _contents(path: Path) -> str:
    """Return a digest of the contents of a file; empty if it cannot be read (mapping reports that)."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def command_line(inputs: UnitInputs, read_group: ReadGroup, clipping: Clipping, umis: bool, backend: str) -> str:
    """Return the command for the @PG line, which writes the same records.

    Paths are as given; options that change no record are left out.
    """
    reads = inputs.reads
    words: list[object] = ["quire", "map", *map(_listed, filter(None, (reads.fq1, reads.fq2, reads.bam)))]
    words += ["--backend", backend, "--index-directory", inputs.reference.parent]
    words += ["--reference", inputs.fasta] if inputs.fasta else []
    words += ["--umi", "file", "--fq-umi", _listed(reads.fq_umi)] if reads.fq_umi else ["--umi", "name"] if umis else []
    words += ["--interleaved"] if reads.interleaved else []
    words += ["--qualities", reads.qualities] if reads.qualities else []
    words += ["--clip-adapters"] if clipping.adapters else []
    words += ["--clip-poly-g"] if clipping.poly_g else []
    for part in ("sample", "unit", "library", "platform"):
        words += [f"--{part}", getattr(read_group, part)]
    return shlex.join([*map(str, words), "--unsorted", "--output", f"{read_group.identifier}.bam"])


def _listed(paths: Sequence[Path]) -> str:
    """Return files as one word, separated by commas."""
    return ",".join(map(str, paths))
