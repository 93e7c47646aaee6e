# Variants to their consequences for genes, if a GFF3 file is configured, and by SnpEff or VEP with a database.

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


ANNOTATOR = SETTINGS["annotate"]["program"]
DATABASES = Path(SETTINGS["annotate"]["database_directory"])
DATABASE = DATABASES / SETTINGS["annotate"]["database"]


if ANNOTATOR == "snpeff":

    rule annotate_by_snpeff:
        input:
            variants=RESCORE / "all.vcf.gz",
            index=RESCORE / "all.vcf.gz.tbi",
            database=DATABASE / "snpEffectPredictor.bin",
        output:
            variants=ANNOTATE / "all.snpeff.vcf.gz",
            index=ANNOTATE / "all.snpeff.vcf.gz.tbi",
        log:
            LOGS / "annotate_by_snpeff.log",
        benchmark:
            BENCHMARKS / "annotate_by_snpeff.tsv"
        conda:
            "../../envs/snpeff.yaml"
        threads: 1
        resources:
            mem_mb=growing(8000),
            runtime=1440,
        params:
            command=snpeff_command(SETTINGS["annotate"]),
            database=str(DATABASES),
            digest=sources.digest("annotate_by_program.py"),
        script:
            "../scripts/annotate_by_program.py"


if ANNOTATOR == "vep":

    rule annotate_by_vep:
        input:
            variants=RESCORE / "all.vcf.gz",
            index=RESCORE / "all.vcf.gz.tbi",
            database=DATABASE / "info.txt",
        output:
            variants=ANNOTATE / "all.vep.vcf.gz",
            index=ANNOTATE / "all.vep.vcf.gz.tbi",
        log:
            LOGS / "annotate_by_vep.log",
        benchmark:
            BENCHMARKS / "annotate_by_vep.tsv"
        conda:
            "../../envs/vep.yaml"
        threads: 4
        resources:
            mem_mb=growing(8000),
            runtime=1440,
        params:
            command=vep_command(SETTINGS["annotate"]),
            database=str(DATABASES),
            digest=sources.digest("annotate_by_program.py"),
        script:
            "../scripts/annotate_by_program.py"
