# FASTA to the packed axis and its pages. A checkpoint, since the FASTA decides the number of pages.


checkpoint pack_reference:
    input:
        fasta=FASTA,
        mask=SETTINGS["reference"]["mask"] or [],
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
        mem_mb=growing(1000),
        runtime=60,
    params:
        page_size=SETTINGS["reference"]["page_size"],
        # Contigs that the alignments' index cannot hold are refused here, where their lengths are first known. A
        # namespace, like DEVICE: another format must not pack the reference again.
        alignments=SimpleNamespace(format=FORMAT if SAMPLES else None, index_format=SETTINGS["align"]["index_format"]),
        digest=sources.digest("pack_reference.py"),
    script:
        "../scripts/pack_reference.py"
