"""A stand-in for SnpEff and VEP: it checks their arguments, and writes the variants with one more field.

The options of VEP are those of release 105; the real one was never run.
"""

import gzip
import re
import sys
from pathlib import Path

SNPEFF = (
    r"ann -Xmx6g -noLog -nodownload -noStats -dataDir (?P<data>/\S+/data) "
    r"-configOption (?P<database>\S+)\.genome=(?P=database) (?P=database) (?P<variants>/\S+/variants\.vcf\.gz)"
)
VEP = (
    r"--offline --cache --dir_cache (?P<data>/\S+/data) --species homo_sapiens --cache_version 105 --assembly GRCh38 "
    r"--vcf --no_stats --dont_skip --fork 4( --everything)? --input_file (?P<variants>/\S+/variants\.vcf\.gz) "
    r"--output_file STDOUT"
)
program, *given = sys.argv[1:]
expected, field = {"snpEff": (SNPEFF, "ANN"), "vep": (VEP, "CSQ")}[program]
found = re.fullmatch(expected, " ".join(given))
if found is None:
    sys.exit(f"unexpected arguments: {given}")
if not any(Path(found["data"]).iterdir()):
    sys.exit("the folder of databases is empty")
with gzip.open(found["variants"], "rt") as stream:
    for line in stream:
        columns = line.split("\t")
        if not line.startswith("#"):
            columns[7] = f"{columns[7]};{field}=x"
        elif line.startswith("#CHROM"):
            print(f'##INFO=<ID={field},Number=.,Type=String,Description="x">')
        sys.stdout.write("\t".join(columns))
