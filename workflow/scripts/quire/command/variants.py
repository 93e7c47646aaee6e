"""Alignments to variants without a run of the workflow: `quire call`, `quire joint` and `quire why`."""

import logging
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from quire import many_threads
from quire.command.parser import CommandParser, require_apart, run_command
from quire.errors import InputError
from quire.io.bed import Interval, read_bed
from quire.io.files import scratch_directory
from quire.io.sniff import require_alignments
from quire.run.config_file import DEFAULT, read_config_file
from quire.run.inputs import require_file
from quire.run.interrupts import loading
from quire.run.remote import with_copies
from quire.run.schema import (
    CALLER_KEYS,
    JOINT_KEYS,
    SCHEMAS,
    complete_settings,
    default_settings,
    read_schema,
    require_fitting_gvcf,
)
from quire.run.sheets import read_sheets

with loading():
    from quire.io.bam.regions import IndexedAlignments
    from quire.io.vcf_parts import join
    from quire.kernel_list import options_of
    from quire.kernels import compile_stage
    from quire.reference import Reference
    from quire.rescore.caller import call_interval
    from quire.rescore.dragen.calibration import CalibrationFiles, calibrate_sample
    from quire.rescore.engines import DeviceSettings
    from quire.rescore.intervals import pieces_of
    from quire.rescore.job import CallingJob, CallingRequest, Output, contigs_of, open_job
    from quire.rescore.joint import JointRequest, genotype_interval
    from quire.rescore.joint.folder import changed_cohort
    from quire.rescore.why import explain

_SAMPLES = read_schema(SCHEMAS / "samples.schema.yaml")


def call(arguments: list[str]) -> None:
    """Call the variants of one or more samples in sorted, indexed alignments.

        quire call NA12878.bam --reference genome.fa --output NA12878.vcf.gz
        quire call NA12878.bam --reference genome.fa --gvcf --output NA12878.g.vcf.gz

    Each BAM or CRAM holds one sample, with duplicates marked and read groups that name it; several are called jointly.
    --output is bgzip, with an index (.tbi) beside it. FILTER has the names of GATK's recommended limits.
    """
    parser = CommandParser(call)
    parser.add_argument("bam", nargs="+", metavar="BAM", help="Alignments of a sample.")
    parser.add_reference()
    parser.add_output("VCF", ".vcf.gz")
    parser.add_keys("rescore", without=["filters", "more_gvcfs", "emit", "beagle", "interval_size"])
    for key in ("ploidy", "sex"):
        parser.add_key(key, _SAMPLES["properties"][key], of_each="BAM")
    parser.add_device()
    given = parser.parse_args(arguments)

    with run_command():
        many_threads.prepare()  # the forked processes inherit the settings of memory
        configuration = parser.settings(given, "rescore")
        settings = configuration["rescore"]
        output = Output.GVCF if settings["gvcf"] else Output.VARIANTS
        if output is Output.GVCF and len(given.bam) > 1:
            raise InputError(f"--gvcf: a gVCF has one sample, and {len(given.bam)} files are given; call each alone.")
        require_fitting_gvcf(settings, lambda key: f"--{key.replace('_', '-')}", "--gvcf")
        # In the workflow the limit applies to the variants that are genotyped from gVCFs; here there are none.
        if output is Output.GVCF and settings["minimum_quality"] != default_settings("rescore")["minimum_quality"]:
            raise InputError("--minimum-quality: does not go with --gvcf; leave one of the two out.")
        require_apart([given.output], [*given.bam, given.reference])
        keys = (*CALLER_KEYS, "gq_bands") if output is Output.GVCF else JOINT_KEYS
        parameters = {key: settings[key] for key in keys}
        samples = _samples(given.bam, given.reference)
        for key in ("ploidy", "sex"):
            values = getattr(given, key) if isinstance(getattr(given, key), list) else [getattr(given, key)]
            if len(values) not in (1, len(samples)):
                raise InputError(
                    f"--{key}: has {len(values)} values for {len(samples)} files; give one, or one of each."
                )
            for number, sample in enumerate(samples):
                sample[key] = values[number % len(values)]
        with _work(parser, given, settings) as (work, reference, pieces):
            compile_stage("rescore", given.threads, **options_of(configuration, "rescore"))
            whole = [interval for piece in pieces for interval in piece]
            if settings["error_model"] == "dragen":
                for sample in samples:
                    sample["repeats"] = work / f"{sample['sample']}.repeats.txt"
                    files = CalibrationFiles(sample["repeats"], work / "repeats.json")
                    calibrate_sample(
                        reference, sample["sample"], sample["bam"], whole, files, given.reference, given.threads
                    )
            request = CallingRequest(
                output=output,
                reference_directory=reference,
                samples=samples,
                intervals=whole,
                part=given.output,
                parameters=parameters,
                ledger=work / "ledger.json",
                fasta=given.reference,
                threads=given.threads,
                ploidy_regions=settings["ploidy_regions"] or None,
                alleles=settings["alleles"] or None,
                primers=settings["primers"] or None,
                device=DeviceSettings(given.backend, given.memory),
                part_index=f"{given.output}.tbi",
            )
            print(f"{given.output}: {call_interval(request):,} variants")


def joint(arguments: list[str]) -> None:
    """Genotype the gVCFs of all samples together.

        quire joint A.g.vcf.gz B.g.vcf.gz --reference genome.fa --output all.vcf.gz
        quire joint C.g.vcf.gz --cohort cohort --reference genome.fa --output all.vcf.gz
        quire joint --cohort cohort --remove A --reference genome.fa --output all.vcf.gz

    The gVCFs are of this reference, Quire's or GATK's. A cohort is a folder that keeps what is read from them: later
    calls add to it, and genotype all its samples, sorted by name. --output has an index (.tbi) beside it.
    """
    parser = CommandParser(joint)
    parser.add_argument("gvcf", nargs="*", metavar="GVCF", help="gVCF of one or more samples.")
    parser.add_argument("--cohort", type=Path, help="Folder of the cohort to which the gVCFs are added.")
    parser.add_argument("--remove", nargs="+", default=[], metavar="SAMPLE", help="Samples to take out of the cohort.")
    parser.add_reference()
    parser.add_output("VCF", ".vcf.gz")
    parser.add_keys("rescore", only=["intervals", "minimum_quality", "emit", "alleles"])
    parser.add_device()
    given = parser.parse_args(arguments)

    with run_command():
        settings = parser.settings(given, "rescore")["rescore"]
        for path in given.gvcf:
            require_file(path, "gVCF")
        if not (given.gvcf or given.cohort):
            raise InputError("no gVCF and no --cohort is given; name one.")
        if given.remove and not given.cohort:
            raise InputError("--remove takes samples out of a cohort; name its folder by --cohort.")
        require_apart([given.output], [*given.gvcf, given.reference])
        with _work(parser, given, settings) as (work, reference, pieces):
            compile_stage("joint", given.threads)
            cohort = given.cohort or work / "cohort"
            with changed_cohort(cohort, reference, given.gvcf, given.remove, given.threads) as stores:
                if not given.cohort:
                    stores.sort(key=lambda store: given.gvcf.index(store.gvcf))
                parts = [work / f"{number}.vcf.gz" for number in range(len(pieces))]
                for part, piece in zip(parts, pieces, strict=True):
                    genotype_interval(
                        JointRequest(
                            reference_directory=reference,
                            stores=[store.path for store in stores],
                            intervals=piece,
                            part=part,
                            minimum_quality=settings["minimum_quality"],
                            backend=given.backend,
                            fasta=given.reference,
                            threads=given.threads,
                            filters=settings["filters"],
                            all_sites=settings["emit"] == "all_sites",
                            regions=settings["intervals"],
                            alleles=settings["alleles"] or None,
                        )
                    )
            _join(parts, given.output)


@contextmanager
def _work(
    parser: CommandParser, given: Namespace, settings: Mapping[str, Any]
) -> Iterator[tuple[Path, Path, list[list[Interval]]]]:
    """Yield a folder for parts beside the output, the folder of the packed reference, and the pieces to call."""
    for key in ("intervals", "ploidy_regions", "alleles", "primers"):
        if path := settings[key]:
            require_file(path, f"--{key.replace('_', '-')}")
    with (
        scratch_directory(given.output.parent, f"{given.output.name}.work") as work,
        parser.packed(given) as packed,
    ):
        pieces = pieces_of(Reference.open(packed), settings["intervals"] or None, settings["interval_size"])
        yield work, packed, pieces


def _join(parts: Sequence[Path], output: Path) -> None:
    """Join the parts to the output and its index, and print the number of records."""
    print(f"{output}: {join(parts, output, f'{output}.tbi'):,} records")


def _samples(paths: Sequence[str], fasta: str | None) -> list[dict[str, Any]]:
    """Return name and file of each alignment's sample, which its read groups name; refuse two of one sample."""
    found = dict[str, dict[str, Any]]()
    for path in paths:
        require_file(path, "BAM")
        require_alignments(path, "BAM")
        name = min(filter(None, IndexedAlignments(path, fasta).samples.values()), default=Path(path).stem)
        if name in found:
            raise InputError(
                f"{path}: is of sample {name}, as is {found[name]['bam']}; join the files of a sample with samtools "
                "merge."
            )
        found[name] = {"sample": name, "bam": path}
    return list(found.values())


def why(arguments: list[str]) -> None:
    """Explain why a variant was called, or not.

        quire why --at chr20:10001298

    In the folder of a run, reference and alignments come from its configuration; elsewhere from --reference and --bam.
    """
    parser = CommandParser(why)
    parser.add_argument("--at", required=True, metavar="PLACE", help="Contig:position, 1-based, as in the VCF.")
    words = f"Configuration of the run. Default: {DEFAULT}."
    parser.add_argument("--configfile", type=Path, metavar="FILE", help=words)
    parser.add_argument("--sample", help="Only this sample, of a run with rescore.gvcf: true.")
    parser.add_reference(required=False)
    parser.add_argument("--bam", nargs="+", metavar="BAM", help="Indexed alignments of each sample, with --reference.")
    parser.add_key("ploidy", {**_SAMPLES["properties"]["ploidy"], "description": "Ploidy of the samples of --bam."})
    parser.add_argument("--gvcf", action="store_true", help="Explain each sample's gVCF, with --reference.")
    given = parser.parse_args(arguments)

    with run_command(logging.WARNING):
        try:
            for line in _lines(parser, given):
                print(line, flush=True)
        except BrokenPipeError:  # the reader, such as head, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lines(parser: CommandParser, given: Namespace) -> Iterator[str]:
    contig, _, place = given.at.rpartition(":")
    place = place.replace(",", "")
    if not contig or not place.isdecimal():
        raise InputError(f"--at: {given.at!r} is not a position; give contig:position, as in chr20:10001298.")
    if bool(given.reference) != bool(given.bam):
        raise InputError("--reference and --bam are needed together; give both, or neither in the folder of a run.")
    with ExitStack() as stack:
        if given.bam is None:
            facts = _of_run(given)
        else:
            facts = {
                "reference": stack.enter_context(parser.packed(given)),
                "samples": [own | {"ploidy": given.ploidy} for own in _samples(given.bam, given.reference)],
                "parameters": default_settings("rescore"),
                "fasta": given.reference,
                "ploidy_regions": None,
                "alleles": None,
                "intervals": None,
                "primers": None,
                "gvcf": given.gvcf,
            }
        output = Output.GVCF if facts["gvcf"] else Output.VARIANTS
        groups = [[sample] for sample in facts["samples"]] if output is Output.GVCF else [facts["samples"]]
        for number, samples in enumerate(groups):
            if number:
                yield ""
            files = [facts[key] for key in ("fasta", "ploidy_regions", "alleles", "primers")]
            job = open_job(output, facts["reference"], samples, facts["parameters"], *files)
            yield from explain(job, contig, int(place) - 1)
            if facts["intervals"] and not _is_inside(facts["intervals"], job, contig, int(place) - 1):
                yield (
                    f"Not in the VCF of the run, whatever stands above: {facts['intervals']} (rescore.intervals) does "
                    "not have this position."
                )


def _is_inside(bed: str, job: CallingJob, contig: str, position: int) -> bool:
    """Return True if a BED file has a position (0-based)."""
    rows = read_bed(bed, dict(contigs_of(job.reference)))
    return any(name == contig and start <= position < end for name, start, end in rows)


def _of_run(given: Namespace) -> dict[str, Any]:
    """Return the inputs from the configuration of a run with finished alignments."""
    raw = read_config_file(given.configfile or DEFAULT)
    settings = complete_settings(raw, read_schema(SCHEMAS / "config.schema.yaml"))
    samples, units = read_sheets(raw, settings, SCHEMAS)
    with_copies(settings, units)
    rescore, align = settings["rescore"], Path(settings["output"]) / "align"
    rows = [row.values for row in samples]
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
        "alleles": rescore["alleles"] or None,
        "intervals": rescore["intervals"] or None,
        "primers": rescore["primers"] or None,
        "gvcf": rescore["gvcf"],
    }
