# Alignments to variants, one job per piece of the reference, then gathered: all samples together, or each sample to its
# own gVCF and these genotyped together.


# A checkpoint, since the reference and the regions decide the number of pieces. Rules that depend on it also name its
# file: Snakemake forgets jobs that depend on a checkpoint by an input function alone if only the checkpoint runs again.
checkpoint split_intervals:
    input:
        reference=REFERENCE,
        intervals=SETTINGS["rescore"]["intervals"] or [],
        # Only checked: a mistake in them would otherwise be found after hours of mapping.
        ploidy_regions=SETTINGS["rescore"]["ploidy_regions"] or [],
        alleles=SETTINGS["rescore"]["alleles"] or [],
        primers=SETTINGS["rescore"]["primers"] or [],
    output:
        pieces=PIECES,
    log:
        LOGS / "split_intervals.log",
    benchmark:
        BENCHMARKS / "split_intervals.tsv"
    priority: 10
    localrule: True
    conda:
        "../../envs/rescore.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=10,
    params:
        interval_size=SETTINGS["rescore"]["interval_size"],
        digest=sources.digest("split_intervals.py"),
    script:
        "../scripts/split_intervals.py"


if DRAGEN:

    rule calibrate_repeats:
        input:
            alignment=finished_alignments,
            index=finished_index,
            reference=REFERENCE,
            pieces=PIECES,
            fasta=FASTA,
            kernels=OUTPUT / ".compiled/rescore.done",
        output:
            tables=REPEATS,
            ledger=RESCORE / "{sample}.repeats.json",
        log:
            LOGS / "calibrate_repeats/{sample}.log",
        benchmark:
            BENCHMARKS / "calibrate_repeats/{sample}.tsv"
        conda:
            "../../envs/rescore.yaml"
        threads: threads_of_sample(75, 4)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(lambda wildcards, input, threads: 1000 + 400 * threads),
            runtime=60,
        params:
            digest=sources.digest("calibrate_repeats.py"),
        script:
            "../scripts/calibrate_repeats.py"


if GVCF:

    # Runs early: a gVCF of another reference would otherwise be found after hours of calling.
    rule check_gvcfs:
        input:
            reference=REFERENCE,
            gvcfs=SETTINGS["rescore"]["more_gvcfs"],
        output:
            touch(OUTPUT / ".checks/gvcfs.done"),
        log:
            LOGS / "check_gvcfs.log",
        benchmark:
            BENCHMARKS / "check_gvcfs.tsv"
        priority: 10
        localrule: True
        conda:
            "../../envs/rescore.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=10,
        params:
            samples=SAMPLES,
            digest=sources.digest("check_gvcfs.py"),
        script:
            "../scripts/check_gvcfs.py"

    # All pieces in one job, since the cores share them: a genome takes minutes.
    rule rescore_sample:
        input:
            alignments=lambda wildcards: [finished_alignments(wildcards)],
            indices=finished_index,
            reference=REFERENCE,
            pieces=PIECES,
            fasta=FASTA,
            repeats=[REPEATS] if DRAGEN else [],
            ploidy_regions=SETTINGS["rescore"]["ploidy_regions"] or [],
            alleles=SETTINGS["rescore"]["alleles"] or [],
            primers=SETTINGS["rescore"]["primers"] or [],
            kernels=OUTPUT / ".compiled/rescore.done",
        output:
            gvcf=RESCORE / "{sample}.g.vcf.gz",
            index=RESCORE / "{sample}.g.vcf.gz.tbi",
            ledger=RESCORE / "{sample}.ledger.json",
        log:
            LOGS / "rescore_sample/{sample}.log",
        benchmark:
            BENCHMARKS / "rescore_sample/{sample}.tsv"
        priority: share_of_records
        conda:
            environment("rescore")
        threads: threads_of_sample(75)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(calling_memory),
            runtime=calling_minutes,
            gpu=CARDS,
        params:
            rescore={key: SETTINGS["rescore"][key] for key in (*CALLER_KEYS, "gq_bands")},
            device=DEVICE,
            samples=lambda wildcards: {wildcards.sample: called_samples()[wildcards.sample]},
            output="gvcf",
            digest=sources.digest("rescore_interval.py"),
        script:
            "../scripts/rescore_interval.py"

    # Once for each gVCF: a sample that joins a finished cohort costs its own import and the genotyping of all.
    rule import_gvcf:
        input:
            gvcf=lambda wildcards: GVCFS[wildcards.gvcf],
            reference=REFERENCE,
            kernels=OUTPUT / ".compiled/joint.done",
        output:
            store=RESCORE / "cohort/{gvcf}.records",
        log:
            LOGS / "import_gvcf/{gvcf}.log",
        benchmark:
            BENCHMARKS / "import_gvcf/{gvcf}.tsv"
        wildcard_constraints:
            gvcf=names_of(GVCFS),
        priority: 10
        conda:
            "../../envs/rescore.yaml"
        threads: 1
        resources:
            mem_mb=growing(1500),
            runtime=60,
        params:
            digest=sources.digest("import_gvcf.py"),
        script:
            "../scripts/import_gvcf.py"

    rule joint_genotype:
        input:
            stores=expand(RESCORE / "cohort/{gvcf}.records", gvcf=GVCFS),
            checked_gvcfs=OUTPUT / ".checks/gvcfs.done",
            reference=REFERENCE,
            fasta=FASTA,
            pieces=PIECES,
            alleles=SETTINGS["rescore"]["alleles"] or [],
            kernels=OUTPUT / ".compiled/joint.done",
        output:
            part=temp(RESCORE / "pieces/{piece}.vcf.gz"),
        log:
            LOGS / "joint_genotype/{piece}.log",
        benchmark:
            BENCHMARKS / "joint_genotype/{piece}.tsv"
        conda:
            "../../envs/rescore.yaml"
        threads: 16
        resources:
            mem_mb=growing(lambda wildcards, input, threads: 1000 + threads * (150 + min(len(input.stores), 1000))),
            runtime=480,
        params:
            minimum_quality=SETTINGS["rescore"]["minimum_quality"],
            filters=SETTINGS["rescore"]["filters"],
            emit=SETTINGS["rescore"]["emit"],
            intervals=SETTINGS["rescore"]["intervals"],
            device=DEVICE,
            digest=sources.digest("joint_genotype.py"),
        script:
            "../scripts/joint_genotype.py"

else:

    rule rescore_interval:
        input:
            alignments=[finished_as(sample) for sample in SAMPLES],
            indices=[finished_index_of(sample) for sample in SAMPLES],
            reference=REFERENCE,
            pieces=PIECES,
            fasta=FASTA,
            repeats=expand(REPEATS, sample=SAMPLES) if DRAGEN else [],
            ploidy_regions=SETTINGS["rescore"]["ploidy_regions"] or [],
            alleles=SETTINGS["rescore"]["alleles"] or [],
            primers=SETTINGS["rescore"]["primers"] or [],
            kernels=OUTPUT / ".compiled/rescore.done",
        output:
            part=temp(RESCORE / "pieces/{piece}.vcf.gz"),
            ledger=RESCORE / "pieces/{piece}.ledger.json",
        log:
            LOGS / "rescore_interval/{piece}.log",
        benchmark:
            BENCHMARKS / "rescore_interval/{piece}.tsv"
        conda:
            environment("rescore")
        threads: 16
        resources:
            **ALIGNMENTS,
            mem_mb=growing(calling_memory),
            runtime=480,
            gpu=CARDS,
        params:
            rescore={key: SETTINGS["rescore"][key] for key in JOINT_KEYS},
            device=DEVICE,
            samples=called_samples(),
            output="variants",
            digest=sources.digest("rescore_interval.py"),
        script:
            "../scripts/rescore_interval.py"


if STRUCTURAL:

    rule call_structural:
        input:
            alignments=[finished_as(sample) for sample in SAMPLES],
            indices=[finished_index_of(sample) for sample in SAMPLES],
            evidence=expand(ALIGN / "units/{sample}.evidence.npz", sample=SAMPLES),
            reference=REFERENCE,
            fasta=FASTA,
            ploidy_regions=SETTINGS["rescore"]["ploidy_regions"] or [],
            kernels=OUTPUT / ".compiled/structural.done",
        output:
            variants=RESCORE / "structural.vcf.gz",
            index=RESCORE / "structural.vcf.gz.tbi",
            plots=RESCORE / "copies.json",
            counts=RESCORE / "structural.json",
        log:
            LOGS / "call_structural.log",
        benchmark:
            BENCHMARKS / "call_structural.tsv"
        conda:
            "../../envs/rescore.yaml"
        threads: 16
        resources:
            **ALIGNMENTS,
            mem_mb=growing(structural_memory),
            disk_mb=structural_disk,
            runtime=480,
        params:
            samples=called_samples(),
            digest=sources.digest("call_structural.py"),
        script:
            "../scripts/call_structural.py"


rule gather_variants:
    input:
        pieces=PIECES,
        parts=files_of_pieces(RESCORE / "pieces/{piece}.vcf.gz"),
        ledgers=calling_ledgers,
        pedigree=SETTINGS["report"]["pedigree"] or [],
        reference=REFERENCE,
        ploidy_regions=SETTINGS["rescore"]["ploidy_regions"] or [],
    output:
        variants=RESCORE / "all.vcf.gz",
        index=RESCORE / "all.vcf.gz.tbi",
        counts=RESCORE / "variants.json",
        ledger=RESCORE / "ledger.json",
    log:
        LOGS / "gather_variants.log",
    benchmark:
        BENCHMARKS / "gather_variants.tsv"
    conda:
        "../../envs/rescore.yaml"
    threads: 8
    resources:
        mem_mb=growing(gathering_memory),
        runtime=60,
    params:
        samples=called_samples(),
        digest=sources.digest("gather_variants.py"),
    script:
        "../scripts/gather_variants.py"


if SETTINGS["rescore"]["beagle"]:

    rule write_beagle:
        input:
            variants=RESCORE / "all.vcf.gz",
        output:
            likelihoods=RESCORE / "all.beagle.gz",
        log:
            LOGS / "write_beagle.log",
        benchmark:
            BENCHMARKS / "write_beagle.tsv"
        conda:
            "../../envs/rescore.yaml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=480,
        params:
            digest=sources.digest("write_beagle.py"),
        script:
            "../scripts/write_beagle.py"
