"""Kernels compiled before parallel jobs start: calling real reads afterwards needs no others."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
from quire.sources import SCRIPTS

from tests.support.defaults import default_settings

pytestmark = pytest.mark.full

DATA = Path(__file__).parents[1] / "data"
REPEATS = (DATA / "repeats_chr20_2kb", "reads.bam", "NA12878", "chr20_slice", 2300)
PLAIN = (DATA / "gvcf_chr22_8kb", "A.bam", "A", "chr22_8kb", 8000)
SCRIPT = """
import json, sys
from pathlib import Path
from quire import reference
from quire.rescore.caller import call_interval
from quire.rescore.compile_kernels import compile_kernels
from quire.rescore.job import CallingRequest, Output
from quire.simd.compiled import _Kernel

def used():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("quire.")]
    kernels = [value for module in modules for value in list(vars(module).values()) if isinstance(value, _Kernel)]
    return {(k.py_func.__module__, k.py_func.__name__, str(types)) for k in kernels for types in k.overloads}

folder, gvcf, settings, places = Path(sys.argv[1]), sys.argv[2] == "gvcf", *map(json.loads, sys.argv[3:])
compile_kernels(gvcf, False)
before = used()
for number, (fasta, bam, sample, contig, length) in enumerate(places):
    reference.build(Path(fasta), folder / f"reference{number}", 1 << 20)
    row, piece = {"sample": sample, "ploidy": 2, "bam": bam}, [(contig, 0, length)]
    output, rest = Output.GVCF if gvcf else Output.VARIANTS, (folder / "calls.vcf.gz", settings, folder / "ledger.json")
    call_interval(CallingRequest(output, folder / f"reference{number}", [row], piece, *rest))
print(json.dumps([len(before), sorted(used() - before)]))
"""


@pytest.mark.parametrize("mode", ["variants", "gvcf"])
def test_calling_asks_for_no_other_kernels(mode: str, tmp_path: Path) -> None:
    places = []
    for folder, name, sample, contig, length in (REPEATS, PLAIN):
        bam = tmp_path / name
        bam.write_bytes((folder / name).read_bytes())
        pysam.index(str(bam))
        fasta = tmp_path / f"{contig}.fa"
        fasta.write_bytes(gzip.decompress((folder / "genome.fa.gz").read_bytes()))
        places.append((str(fasta), str(bam), sample, contig, length))
    settings = json.dumps(default_settings("rescore"))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), mode, settings, json.dumps(places)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    count, later = json.loads(done.stdout.splitlines()[-1])
    assert count > 30
    assert later == [], later
