"""Annotation of the variants by a program with a database of its own: SnpEff or VEP."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pysam

from quire.errors import InputError, QuireError
from quire.io.files import htslib_path, scratch_directory
from quire.io.vcf_parts import join


def annotate(command: Sequence[str], database: str, variants: str, output: str, index: str) -> None:
    """Write the variants (bgzip VCF) as a program annotates them on its standard output, with an index.

    `FOLDER` in `command` becomes a folder with the links `data`, to `database`, and `variants.vcf.gz`.
    """
    if shutil.which(command[0]) is None:
        raise InputError(f"annotate.program: {command[0]} is not installed; install it, or run with --sdm conda.")
    name = f"{Path(output).name}.annotating"
    with tempfile.TemporaryDirectory() as folder, scratch_directory(Path(output).parent, name) as scratch:
        for link, path in (("data", database), ("variants.vcf.gz", variants)):
            Path(folder, link).symlink_to(Path(path).absolute())
        part, records = htslib_path(scratch / "annotated.vcf.gz"), 0
        called = [word.replace("FOLDER", folder) for word in command]
        with subprocess.Popen(called, stdout=subprocess.PIPE) as process, pysam.BGZFile(part, "wb", None) as out:
            for line in process.stdout or ():
                if not line.startswith(b"#") and (records := records + 1) == 1:
                    out.flush()  # records share no block with the header
                out.write(line)
        with pysam.BGZFile(htslib_path(variants), "rb", None) as lines:
            expected = sum(not line.startswith(b"#") for line in lines)
        if process.returncode or records != expected:
            wrote = f"ended with status {process.returncode} after {records} of {expected} records"
            raise QuireError(f"{variants}: {command[0]} {wrote}; its messages are in the log.")
        join([part], output, index)
