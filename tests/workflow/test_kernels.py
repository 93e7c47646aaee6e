"""`compile_kernels` compiles exactly the kernels that the jobs of a run use, so that no job compiles silently."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from quire import kernels, sources

from tests.workflow.runs import REPOSITORY

pytestmark = pytest.mark.full

DEMO = REPOSITORY / "tests" / "data" / "demo"
# In one process, each stage is compiled or loaded, and then runs on the demo's reads. A kernel has an overload for each
# signature that it has code for, compiled or loaded from disk. An overload that a job adds is one that
# `compile_kernels` missed.
PROGRAM = """
import logging, sys
from pathlib import Path
from quire import index, reference
from quire.kernels import compile_stage, load_stage
from quire.simd.compiled import _Kernel

demo, folder = Path(sys.argv[1]), Path(sys.argv[2])

def overloads():
    modules = [module for name, module in sys.modules.items() if name.startswith("quire.")]
    kernels = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, _Kernel)}
    return {
        (kernel.py_func.__module__, kernel.py_func.__qualname__, str(arguments))
        for kernel in kernels.values() for arguments in kernel.overloads
    }

def require_nothing_new(stage, before):
    for new in sorted(overloads() - before):
        print(stage, *new)

compile_stage("align", 2)
load_stage("align")
known = overloads()
assert len(known) > 30, len(known)
fasta, packed, page = demo / "hg19.chr20.masked.fa.gz", folder / "reference", folder / "page_0"
reference.build(fasta, packed, 1 << 30)
index.build(packed, 0, page, {"sampling_distance": 64, "sa_sampling": 1})

from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.finish.counts.outputs import CountsOutputs, TargetOutputs, count_target
from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import EvidenceOutput
from quire.finish.marking import Marking
from quire.finish.sample import SampleFormat, SampleOutputs, UnsortedUnit, finish_sample
from quire.finish.sorting import Effort
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles

buckets, bam = folder / "unit.buckets", folder / "sample.bam"
map_unit(
    UnitInputs(packed, [page], ReadFiles([demo / "NA12878_R1.fastq.gz"], [demo / "NA12878_R2.fastq.gz"]), fasta),
    UnitFiles(buckets, folder / "unit.json", folder / "insert_size.json"),
    ReadGroup(sample="sample", unit="unit", library="library", platform="ILLUMINA"),
    MappingSettings(threads=1, backend="cpu"),
)
finish_sample(
    "sample", [UnsortedUnit("unit", "library", buckets)], packed,
    SampleOutputs(
        bam, CountsOutputs(folder / "counts.json", folder / "windows.bed.gz", folder / "low.bed.gz", 10),
        folder / "duplicates.tsv", folder / "sample.json",
        EvidenceOutput(folder / "evidence.npz", [folder / "insert_size.json"], True),
    ),
    SampleFormat("bam", "bai", fasta), Marking(), Effort(1, 2000),
)
count_target(
    FinishedSample("sample", bam, packed, fasta), demo / "region.bed",
    TargetOutputs(folder / "target.json", folder / "target.bed.gz", 10), threads=1,
)
require_nothing_new("align", known)

compile_stage("rescore", 2)
load_stage("rescore")
known = overloads()
from quire.io.vcf import read_head
from quire.io.vcf_parts import join
from quire.rescore.caller import call_interval
from quire.rescore.counting import counting_pool
from quire.rescore.job import CallingRequest, Output

part = folder / "part.vcf.gz"
request = CallingRequest(
    Output.VARIANTS, packed, [{"sample": "sample", "ploidy": 2, "bam": bam}], [("chr20", 9_999_999, 10_100_000)], part,
    {"minimum_quality": 30.0, "minimum_mapping_quality": 20, "maximum_reads_per_start": 50, "minimum_support": 2,
     "error_model": "gatk", "long_indels": True}, folder / "part.json",
)
call_interval(request)
with counting_pool(read_head(part), 1) as counting:
    print(join([part], folder / "all.vcf.gz", folder / "all.vcf.gz.tbi", counting.add), "variants")
require_nothing_new("rescore", known)
"""


def test_jobs_compile_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(DEMO), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "workflow" / "scripts")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "248 variants\n"


@pytest.mark.parametrize("change", ["nothing", "permissions", "link", "edited", "replaced", "removed"])
def test_a_stage_is_not_stamped_where_sources_changed(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A stage is not stamped if its sources changed during compilation: its kernels would get another version's stamp.

    Files with equal text count as unchanged, even if the file server's clock is ahead.
    """
    source, other, stamped = tmp_path / "source.py", tmp_path / "other.py", []
    for path in (source, other):
        path.write_text("")
        os.utime(path, (2**32, 2**32))
    monkeypatch.setattr(kernels, "_FOUND", {source: sources.state(source)})
    compilation = {
        "nothing": lambda: None,
        "permissions": lambda: source.chmod(0o400),
        "link": lambda: (tmp_path / "link.py").hardlink_to(source),
        "edited": lambda: source.write_text("edited"),
        "replaced": lambda: other.rename(source),
        "removed": source.unlink,
    }[change]
    monkeypatch.setattr(kernels, "compile_entries", lambda *_: compilation())
    monkeypatch.setattr(kernels, "sources_of", lambda _: [source])
    monkeypatch.setattr(kernels.stamps, "are_compiled", lambda *_: False)
    monkeypatch.setattr(kernels.stamps, "remember", lambda name, *_: stamped.append(name))
    kernels.compile_stage("mems", 1)
    same = change in ("nothing", "permissions", "link")
    assert stamped == (["mems"] if same else [])
    assert ("sources changed" in caplog.text) != same
