# Variants to their consequences for genes, if a GFF3 file is configured.

if SETTINGS["annotate"]["gff3"]:

    rule annotate_variants:
        input:
            variants=RESCORE / "all.vcf.gz",
            index=RESCORE / "all.vcf.gz.tbi",
            gff3=SETTINGS["annotate"]["gff3"],
            fasta=FASTA,
        output:
            variants=ANNOTATE / "all.csq.vcf.gz",
            index=ANNOTATE / "all.csq.vcf.gz.tbi",
            counts=ANNOTATE / "consequences.json",
        log:
            LOGS / "annotate_variants.log",
        benchmark:
            BENCHMARKS / "annotate_variants.tsv"
        conda:
            "../../envs/rescore.yaml"
        threads: 1
        resources:
            mem_mb=growing(4000),
            runtime=120,
        params:
            digest=sources.digest("annotate_variants.py"),
        script:
            "../scripts/annotate_variants.py"
