# FASTA to the packed axis and its pages. A checkpoint: how many pages there are follows from the FASTA.


checkpoint pack_reference:
    input:
        fasta=FASTA,
    output:
        manifest=REFERENCE,
    log:
        LOGS / "pack_reference.log",
    benchmark:
        BENCHMARKS / "pack_reference.tsv"
    conda:
        "../../envs/index.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=60,
    params:
        page_size=SETTINGS["reference"]["page_size"],
        # Contigs that the alignments' index cannot hold are refused where their lengths are first known. A namespace, as
        # DEVICE is: another format is no reason to pack the reference again.
        alignments=SimpleNamespace(format=FORMAT if SAMPLES else None, index_format=SETTINGS["align"]["index_format"]),
        digest=sources.digest("pack_reference.py"),
    script:
        "../scripts/pack_reference.py"
