"""The fuzzers, by name, and the programs that their judges run."""

from tests.fuzz.bam import BamReads
from tests.fuzz.blocks import Bgzf, Gzip
from tests.fuzz.cram import Cram, Sorted
from tests.fuzz.cram_regions import Crai, CramRegions
from tests.fuzz.fastq import Fastq
from tests.fuzz.genes import Gff
from tests.fuzz.indexed import Bai, Csi, Regions
from tests.fuzz.own_files import OwnFiles
from tests.fuzz.read_sets import Interleaved, Pairs, QueriesFile, Umis
from tests.fuzz.target import Target
from tests.fuzz.text import Alternate, Bed, Config, Fasta, FastaIndex, KnownSites, Ploidy, PrimerFile, Sheet
from tests.fuzz.variants import GvcfInput, Tbi, Truth

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        BamReads(), Fastq(), Fasta(), FastaIndex(), Bed(), Ploidy(), PrimerFile(), KnownSites(), Alternate(), Sheet(),
        Config(), Bgzf(), Gzip(), Bai(), Csi(), Regions(), Truth(), GvcfInput(), Tbi(), Cram(), CramRegions(), Crai(),
        Sorted(), Pairs(), Interleaved(), Umis(), QueriesFile(), Gff(),
        *OwnFiles.parts, OwnFiles(),
    )
}  # fmt: skip
PROGRAMS = {
    **dict.fromkeys(("bam", "bai", "csi", "regions", "cram", "cram_regions", "crai", "sorted"), "samtools"),
    **dict.fromkeys(("truth", "gff"), "bcftools"),
}
