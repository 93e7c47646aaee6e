"""Commands of Quire's joint genotyping and of its peers, for the gVCFs of many samples (bench/cohort.py).

GATK's jars are in the folder that GATK_JARS names; GLNEXUS names the program glnexus_cli.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.calling import GATK
from bench.common import PEERS, output_of, run

GLNEXUS = os.environ.get("GLNEXUS", "glnexus_cli")
VERSIONS = {
    "gatk": f"{GATK} GenotypeGVCFs --version 2> /dev/null | sed -n 's/.*(GATK) v//p'",
    "bcftools": PEERS["bcftools"],
    "glnexus": f"{GLNEXUS} --help 2>&1 | sed -n 's/.*glnexus_cli release \\([^ ]*\\).*/\\1/p'",
}


class Task(NamedTuple):
    """A cohort to join.

    Attributes:
        gvcfs: one of each sample.
        names: names of the samples.
        region: contig, start and end, 0-based, half-open.
        fasta: plain reference, with .fai and .dict.
        packed: folder of the reference stage.
        folder: for all that a program writes.
        threads: threads of each program.
    """

    gvcfs: Sequence[Path]
    names: Sequence[str]
    region: tuple[str, int, int]
    fasta: Path
    packed: Path
    folder: Path
    threads: int

    @property
    def interval(self) -> str:
        """The region as GATK and bcftools write it."""
        contig, start, end = self.region
        return f"{contig}:{start + 1}-{end}"


class Work(NamedTuple):
    """Commands to run one after another, the VCF that they write, and the program's database if it has one."""

    commands: Sequence[str]
    output: Path
    store: Path | None


def plain_reference(source: Path, folder: Path) -> Path:
    """Return chr20 and chr21 as plain FASTA with the files beside it that GATK needs."""
    fasta = folder / "genome.fa"
    if not fasta.exists():
        run(f"samtools faidx {source} 20 21 > {fasta}.tmp && samtools faidx {fasta}.tmp")
        run(f"samtools dict {fasta}.tmp -o {folder}/genome.dict && mv {fasta}.tmp.fai {fasta}.fai")
        Path(f"{fasta}.tmp").rename(fasta)
    return fasta


def quire(task: Task) -> Work:
    """Import all gVCFs, then joint genotyping of one piece."""
    output, store, paths = task.folder / "quire.vcf.gz", task.folder / "quire", task.folder / "quire.json"
    paths.write_text(json.dumps([str(path) for path in task.gvcfs]))
    common = "import json; from pathlib import Path; from quire.rescore.joint import JointRequest, genotype_interval; "
    common += "from quire.rescore.joint.folder import add_gvcfs, stores_of; from quire.reference import Reference; "
    common += f"folder, packed = Path({str(store)!r}), Path({str(task.packed)!r}); "
    imported = f"{common}add_gvcfs(folder, packed, json.load(open({str(paths)!r})), {task.threads})"
    genotyped = f"{common}stores = [store.path for store in stores_of(folder, Reference.open(packed))]; "
    genotyped += f"genotype_interval(JointRequest(packed, stores, [{task.region!r}], {str(output)!r}, 30.0, "
    genotyped += f"threads={task.threads}))"
    return Work([f"{sys.executable} -c {shlex.quote(code)}" for code in (imported, genotyped)], output, store)


def gatk(task: Task) -> Work:
    """GenomicsDBImport and GenotypeGVCFs."""
    store, output, names = task.folder / "genomicsdb", task.folder / "gatk.vcf.gz", task.folder / "gatk.map"
    names.write_text("".join(f"{name}\t{path}\n" for name, path in zip(task.names, task.gvcfs, strict=True)))
    given = f"--genomicsdb-workspace-path {store} -L {task.interval} --batch-size 50"
    imported = f"{GATK} GenomicsDBImport --sample-name-map {names} {given} > {store}.log 2>&1"
    genotyped = f"{GATK} GenotypeGVCFs -R {task.fasta} -V gendb://{store} -O {output} -L {task.interval}"
    return Work([imported, f"{genotyped} > {output}.log 2>&1"], output, store)


def bcftools(task: Task) -> Work:
    """`bcftools merge -g`, and the sites where some sample has an alternate; nothing is genotyped again.

    bcftools 1.16 cannot call such gVCFs: `call -m` asks for QS, which they do not have, and `call -c` crashes.
    """
    output, paths = task.folder / "bcftools.vcf.gz", task.folder / "bcftools.txt"
    paths.write_text("".join(f"{path}\n" for path in task.gvcfs))
    merged = f"bcftools merge -g {task.fasta} -r {task.interval} -l {paths} --threads {task.threads} -Ou"
    kept = f"bcftools view -a -c 1 -Oz --threads {task.threads} -o {output}"
    return Work([f"({merged} | {kept}) 2> {output}.log"], output, None)


def glnexus(task: Task) -> Work:
    """GLnexus with its preset for GATK's gVCFs."""
    store, output, paths = task.folder / "glnexus", task.folder / "glnexus.bcf", task.folder / "glnexus.txt"
    paths.write_text("".join(f"{path}\n" for path in task.gvcfs))
    bed = task.folder / "glnexus.bed"
    bed.write_text("\t".join(map(str, task.region)) + "\n")
    given = f"--config gatk --dir {store} --bed {bed} --threads {task.threads} --mem-gbytes 4 --list {paths}"
    return Work([f"{GLNEXUS} {given} > {output} 2> {output}.log"], output, store)


PROGRAMS: dict[str, Callable[[Task], Work]] = {"quire": quire, "gatk": gatk, "bcftools": bcftools, "glnexus": glnexus}


def versions(programs: Sequence[str]) -> dict[str, str]:
    """Return the versions of the peers among programs."""
    return {name: output_of(VERSIONS[name]) for name in programs if name in VERSIONS}
