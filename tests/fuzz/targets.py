"""The fuzzers, by name, and the programs that their judges run."""

from tests.fuzz.bam import BamReads
from tests.fuzz.fastq import Fastq
from tests.fuzz.folders import IndexFolder
from tests.fuzz.target import Target
from tests.fuzz.text import Alternate, Bed, Config, Fasta, FastaIndex, KnownSites, Ploidy, Sheet

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        BamReads(), Fastq(), Fasta(), FastaIndex(), Bed(), Ploidy(), KnownSites(), Alternate(), Sheet(), Config(),
        IndexFolder(),
    )
}  # fmt: skip
PROGRAMS = {"bam": "samtools"}
