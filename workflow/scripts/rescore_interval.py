"""Call one piece of the reference, the variants of all samples jointly, or all pieces in one sample to its gVCF."""

from itertools import chain, repeat
from pathlib import Path

from quire import many_threads
from quire.io.files import read_json
from quire.rescore.caller import call_interval
from quire.rescore.engines import DeviceSettings
from quire.rescore.job import CallingRequest, Output
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    many_threads.prepare()  # the forked processes inherit the settings of memory
    pieces = read_json(job.input.pieces)["pieces"]
    is_gvcf = job.params.output == Output.GVCF.value
    called = chain.from_iterable(pieces) if is_gvcf else pieces[int(job.wildcards.piece)]
    request = CallingRequest(
        output=Output(job.params.output),
        reference_directory=Path(job.input.reference).parent,
        samples=[
            {"sample": sample, **facts, "bam": path, "repeats": tables}
            for (sample, facts), path, tables in zip(
                job.params.samples.items(), job.input.alignments, job.input.repeats or repeat(None), strict=False
            )
        ],
        intervals=[tuple(interval) for interval in called],
        part=job.output.gvcf if is_gvcf else job.output.part,
        parameters=job.params.rescore,
        ledger=job.output.ledger,
        fasta=job.input.fasta,
        threads=job.threads,
        ploidy_regions=job.input.ploidy_regions or None,
        alleles=job.input.alleles or None,
        primers=job.input.primers or None,
        device=DeviceSettings(job.params.device.backend, job.params.device.memory),
        part_index=job.output.index if is_gvcf else None,
    )
    call_interval(request)
