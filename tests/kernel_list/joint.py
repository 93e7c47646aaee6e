"""Import two small gVCFs and genotype them, which calls all CPU kernels of the stage joint."""

import tempfile
from pathlib import Path

from quire import reference
from quire.rescore.joint import JointRequest, genotype_interval
from quire.rescore.joint.store import import_gvcf

_BASES = "ACGTTGCAAC" * 30
_BLOCK, _VARIANT = "GT:DP:GQ:MIN_DP:PL", "GT:AD:DP:GQ:PGT:PID:PL:PS:SB"
_RECORDS = (
    f"1 . A <NON_REF> . . END=20 {_BLOCK} 0/0:20:60:19:0,60,800",
    f"21 . A G,<NON_REF> 500 . DP=20;RAW_MQandDP=72000,20 {_VARIANT} "
    "0|1:10,10,0:20:99:0|1:21_A_G:400,0,400,430,430,860:21:5,5,5,5",
    f"22 . C <NON_REF> . . END=300 {_BLOCK} 0/0:20:60:20:0,60,800",
)


def run() -> None:
    """Genotype two samples, with and without all sites."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "genome.fa").write_text(f">compiling\n{_BASES}\n")
        reference.build(root / "genome.fa", root / "reference", 1 << 20)
        for sample in "ab":
            head = '##fileformat=VCFv4.2\n##ALT=<ID=NON_REF,Description="Any other">\n'
            names = f"#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT {sample}"
            lines = [names, *(f"compiling {record}" for record in _RECORDS)]
            (root / f"{sample}.g.vcf").write_text(head + "".join("\t".join(line.split()) + "\n" for line in lines))
            import_gvcf(root / "reference", root / f"{sample}.g.vcf", root / f"{sample}.records")
        stores, piece = [root / "a.records", root / "b.records"], [("compiling", 0, len(_BASES))]
        for all_sites in (False, True):
            request = JointRequest(root / "reference", stores, piece, root / "joint.vcf.gz", 20.0, all_sites=all_sites)
            genotype_interval(request)
