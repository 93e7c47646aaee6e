# Reads to alignments: each unit is mapped, then the units of a sample are sorted, merged, marked and counted. The
# output of mapping is temporary. If it is needed again and would be the same, the job takes it from the finished file.


rule map_unit:
    input:
        fq1=files_of_unit("fq1"),
        fq2=files_of_unit("fq2"),
        fq_umi=files_of_unit("fq_umi"),
        bam=files_of_unit("bam"),
        reference=REFERENCE,
        pages=ancient(page_manifests),  # an index of another shape gives the same records
        fasta=FASTA,
        alternate=ALTERNATE,
        kernels=OUTPUT / ".compiled/align.done",
    output:
        records=temp(directory(ALIGN / "units/{sample}.{unit}.buckets")),
        ledger=LEDGER / "{sample}.{unit}.json",
        insert_size=ALIGN / "units/{sample}.{unit}.insert_size.json",
    log:
        LOGS / "map_unit/{sample}.{unit}.log",
    benchmark:
        BENCHMARKS / "map_unit/{sample}.{unit}.tsv"
    conda:
        environment("align")
    threads: mapping_threads
    resources:
        mem_mb=growing(mapping_memory),
        runtime=1440,
        gpu=CARDS,
    params:
        device=DEVICE,
        read_group=read_group,
        reads=about_reads,
        clipping=CLIPPING,
        umi=SETTINGS["align"]["umi"],
        # A function, since Snakemake would fill in what stands in braces.
        assembly=lambda wildcards: SETTINGS["reference"]["assembly"],
        earlier=earlier_file,
        digest=sources.digest("map_unit.py"),
    script:
        "../scripts/map_unit.py"


rule finish_sample:
    input:
        units=lambda wildcards: files_of_units(ALIGN / "units/{sample}.{unit}.buckets", wildcards.sample),
        ledgers=lambda wildcards: files_of_units(LEDGER / "{sample}.{unit}.json", wildcards.sample),
        insert_sizes=lambda wildcards: files_of_units(
            ALIGN / "units/{sample}.{unit}.insert_size.json", wildcards.sample
        ),
        fasta=FASTA,
        reference=REFERENCE,
        kernels=OUTPUT / ".compiled/align.done",
    output:
        **outputs_of_finishing(FORMAT),
    log:
        LOGS / "finish_sample/{sample}.log",
    benchmark:
        BENCHMARKS / "finish_sample/{sample}.tsv"
    wildcard_constraints:
        sample=names_of(sample for sample in SAMPLES if sample not in converted_samples()),
    conda:
        "../../envs/align.yaml"
    threads: 16
    resources:
        mem_mb=growing(4000),
        attempt=which_attempt,
        runtime=480,
    params:
        format=FORMAT,
        index_format=SETTINGS["align"]["index_format"],
        optical_distance=SETTINGS["align"]["optical_distance"],
        libraries=lambda wildcards: libraries(wildcards.sample),
        umi=SETTINGS["align"]["umi"],
        # A namespace: another depth must not finish the sample again, but only list_low_coverage counts again.
        low=SimpleNamespace(depth=SETTINGS["align"]["low_depth"]),
        digest=sources.digest("finish_sample.py"),
    script:
        "../scripts/finish_sample.py"


if converted_samples():

    use rule finish_sample as finish_as_before with:
        output:
            **outputs_of_finishing(OTHER_FORMAT),
        wildcard_constraints:
            sample=names_of(converted_samples()),
        params:
            format=OTHER_FORMAT,

    rule convert_alignments:
        input:
            alignments=finished_alignments,
            reference=REFERENCE,
            fasta=FASTA,
        output:
            alignments=ALIGN / f"{{sample}}.{FORMAT}",
            index=ALIGN / f"{{sample}}.{INDICES[FORMAT]}",
        log:
            LOGS / "convert_alignments/{sample}.log",
        benchmark:
            BENCHMARKS / "convert_alignments/{sample}.tsv"
        wildcard_constraints:
            sample=names_of(converted_samples()),
        conda:
            "../../envs/align.yaml"
        threads: 16
        resources:
            mem_mb=growing(4000),
            runtime=480,
        params:
            index_format=SETTINGS["align"]["index_format"],
            digest=sources.digest("convert_alignments.py"),
        script:
            "../scripts/convert_alignments.py"


rule list_low_coverage:
    input:
        counts=ALIGN / "units/{sample}.counts.json",
        low_coverage=ALIGN / "units/{sample}.low_coverage.bed.gz",
        alignments=finished_alignments,
        reference=REFERENCE,
        fasta=FASTA,
        kernels=OUTPUT / ".compiled/align.done",
    output:
        counts=ALIGN / "{sample}.counts.json",
        low_coverage=ALIGN / "{sample}.low_coverage.bed.gz",
    log:
        LOGS / "list_low_coverage/{sample}.log",
    benchmark:
        BENCHMARKS / "list_low_coverage/{sample}.tsv"
    conda:
        "../../envs/align.yaml"
    threads: 4
    resources:
        mem_mb=growing(2000),
        runtime=120,
    params:
        low_depth=SETTINGS["align"]["low_depth"],
        digest=sources.digest("list_low_coverage.py"),
    script:
        "../scripts/list_low_coverage.py"


if SETTINGS["rescore"]["intervals"]:

    # Not part of finish_sample: the units' files are temporary, and another target would map the units again.
    rule count_target:
        input:
            alignments=finished_alignments,
            reference=REFERENCE,
            fasta=FASTA,
            intervals=SETTINGS["rescore"]["intervals"],
            kernels=OUTPUT / ".compiled/align.done",
        output:
            target=ALIGN / "{sample}.target.json",
            low_coverage=ALIGN / "{sample}.target.low_coverage.bed.gz",
        log:
            LOGS / "count_target/{sample}.log",
        benchmark:
            BENCHMARKS / "count_target/{sample}.tsv"
        conda:
            "../../envs/align.yaml"
        threads: 4
        resources:
            mem_mb=growing(2000),
            runtime=120,
        params:
            low_depth=SETTINGS["align"]["low_depth"],
            digest=sources.digest("count_target.py"),
        script:
            "../scripts/count_target.py"


if SETTINGS["report"]["known_sites"]:

    rule count_known_sites:
        input:
            alignments=finished_alignments,
            reference=REFERENCE,
            fasta=FASTA,
            sites=SETTINGS["report"]["known_sites"],
            kernels=OUTPUT / ".compiled/align.done",
        output:
            counts=ALIGN / "{sample}.known_sites.json",
        log:
            LOGS / "count_known_sites/{sample}.log",
        benchmark:
            BENCHMARKS / "count_known_sites/{sample}.tsv"
        conda:
            "../../envs/align.yaml"
        threads: 4
        resources:
            mem_mb=growing(2000),
            runtime=120,
        params:
            digest=sources.digest("count_known_sites.py"),
        script:
            "../scripts/count_known_sites.py"
