"""Explain why a variant was called, or not: python -m quire.rescore why --at chr20:10001298, in the folder of a run.

The reference and the alignments come from the run's configuration, or from --reference and --bam.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quire.errors import InputError, QuireError
from quire.io.bam.regions import IndexedAlignments
from quire.rescore.job import Output, open_job
from quire.rescore.why import explain
from quire.run.config_file import DEFAULT, read_config_file
from quire.run.schema import SCHEMAS, complete_settings, default_settings, read_schema
from quire.run.sheets import read_sheet


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and explain the position."""
    parser = argparse.ArgumentParser(prog="python -m quire.rescore", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    why = commands.add_parser("why", help="explain the calls at a position")
    why.add_argument("--at", required=True, help="contig:position, 1-based, as in the VCF")
    why.add_argument("--configfile", type=Path, help=f"configuration of the run; {DEFAULT} by default")
    why.add_argument("--sample", help="only this sample, of a run with rescore.gvcf: true")
    why.add_argument("--reference", type=Path, help="folder reference/ of an index, to use without a run")
    why.add_argument("--bam", type=Path, nargs="+", help="alignments of the samples, indexed, with --reference")
    why.add_argument("--ploidy", type=int, default=2, help="ploidy of the samples of --bam")
    why.add_argument("--fasta", type=Path, help="FASTA of the reference, to decode CRAM")
    why.add_argument("--gvcf", action="store_true", help="explain each sample's gVCF, with --reference")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        for line in _lines(given):
            print(line)
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


def _lines(given: argparse.Namespace) -> Iterator[str]:
    contig, _, place = given.at.rpartition(":")
    place = place.replace(",", "")
    if not contig or not place.isdecimal():
        raise InputError(f"--at: {given.at!r} is not a position; give contig:position, as in chr20:10001298.")
    facts = _of_files(given) if given.reference or given.bam else _of_run(given)
    output = Output.GVCF if facts["gvcf"] else Output.VARIANTS
    groups = [[sample] for sample in facts["samples"]] if output is Output.GVCF else [facts["samples"]]
    for number, samples in enumerate(groups):
        if number:
            yield ""
        inputs = samples, facts["parameters"], facts["fasta"], facts["ploidy_regions"]
        yield from explain(open_job(output, facts["reference"], *inputs), contig, int(place) - 1)


def _of_files(given: argparse.Namespace) -> dict[str, Any]:
    """Return the inputs from --reference and --bam."""
    if not (given.reference and given.bam):
        raise InputError("--reference and --bam are needed together; give both, or neither in the folder of a run.")
    if not 1 <= given.ploidy <= 99:
        raise InputError(f"--ploidy: {given.ploidy} is not a ploidy; give a whole number from 1 to 99.")
    samples = []
    for path in given.bam:
        names = sorted({str(name) for name in IndexedAlignments(path, given.fasta).samples.values()})
        samples.append({"sample": names[0] if names else path.stem, "ploidy": given.ploidy, "bam": path})
    return {
        "reference": given.reference,
        "samples": samples,
        "parameters": default_settings("rescore"),
        "fasta": given.fasta,
        "ploidy_regions": None,
        "gvcf": given.gvcf,
    }


def _of_run(given: argparse.Namespace) -> dict[str, Any]:
    """Return the inputs from the configuration of a run with finished alignments."""
    settings = complete_settings(
        read_config_file(given.configfile or DEFAULT), read_schema(SCHEMAS / "config.schema.yaml")
    )
    rescore, align = settings["rescore"], Path(settings["output"]) / "align"
    rows = [row.values for row in read_sheet(settings["samples"], read_schema(SCHEMAS / "samples.schema.yaml"))]
    if given.sample is not None:
        if not rescore["gvcf"]:
            raise InputError("--sample: this run calls its samples together; leave it out, or set rescore.gvcf: true.")
        rows = [row for row in rows if row["sample"] == given.sample]
        if not rows:
            raise InputError(f"--sample: {given.sample} is not in {settings['samples']}; name one of its samples.")
    return {
        "reference": Path(settings["reference"]["index_directory"]) / "reference",
        "samples": [
            {
                "sample": row["sample"],
                "ploidy": int(row["ploidy"]),
                "sex": row["sex"],
                "bam": align / f"{row['sample']}.{settings['align']['format']}",
                "repeats": Path(settings["output"]) / f"rescore/{row['sample']}.repeats.txt",
            }
            for row in rows
        ],
        "parameters": rescore,
        "fasta": settings["reference"]["fasta"],
        "ploidy_regions": rescore["ploidy_regions"] or None,
        "gvcf": rescore["gvcf"],
    }


if __name__ == "__main__":
    main()
