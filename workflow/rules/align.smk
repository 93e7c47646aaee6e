# Reads to alignments: each unit is mapped, then the units of a sample are sorted, merged, marked and counted. The
# output of mapping is temporary. If it is needed again and would be the same, the job takes it from the finished file.


rule map_unit:
    input:
        fq1=files_of_unit("fq1"),
        fq2=files_of_unit("fq2"),
        fq_umi=files_of_unit("fq_umi"),
        bam=files_of_unit("bam"),
        reference=REFERENCE,
        pages=page_manifests,
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
    priority: share_of_records
    conda:
        environment("align")
    threads: mapping_threads
    resources:
        mem_mb=growing(mapping_memory),
        disk_mb=mapping_disk,
        runtime=mapping_minutes,
        gpu=CARDS,
    params:
        device=DEVICE,
        read_group=read_group,
        reads=about_reads,
        clipping=CLIPPING,
        umi=SETTINGS["align"]["umi"],
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
        **outputs_of_finishing(INDEX_ENDING),
    log:
        LOGS / "finish_sample/{sample}.log",
    benchmark:
        BENCHMARKS / "finish_sample/{sample}.tsv"
    wildcard_constraints:
        sample=names_of(sample for sample in SAMPLES if sample not in earlier_endings()),
    priority: share_of_records
    conda:
        "../../envs/align.yaml"
    threads: threads_of_sample(200)
    resources:
        **ALIGNMENTS,
        mem_mb=growing(finishing_memory),
        disk_mb=finishing_disk,
        attempt=which_attempt,
        runtime=240,
    params:
        **format_of(INDEX_ENDING),
        mark_duplicates=SETTINGS["align"]["mark_duplicates"],
        optical_distance=SETTINGS["align"]["optical_distance"],
        libraries=lambda wildcards: libraries(wildcards.sample),
        umi=SETTINGS["align"]["umi"],
        # A namespace: another depth must not finish the sample again, but only list_low_coverage counts again.
        low=SimpleNamespace(depth=SETTINGS["align"]["low_depth"]),
        # As above: for samples that are finished already, call_structural reads the alignments.
        evidence=SimpleNamespace(is_wanted=STRUCTURAL),
        digest=sources.digest("finish_sample.py"),
    script:
        "../scripts/finish_sample.py"


EARLIER_ENDINGS = sorted(set(earlier_endings().values()))

if EARLIER_ENDINGS[:1]:

    use rule finish_sample as finish_as_before with:
        output:
            **outputs_of_finishing(EARLIER_ENDINGS[0]),
        wildcard_constraints:
            sample=names_of(finished_otherwise()[EARLIER_ENDINGS[0]]),
        params:
            **format_of(EARLIER_ENDINGS[0]),


if EARLIER_ENDINGS[1:]:

    use rule finish_sample as finish_as_long_before with:
        output:
            **outputs_of_finishing(EARLIER_ENDINGS[1]),
        wildcard_constraints:
            sample=names_of(finished_otherwise()[EARLIER_ENDINGS[1]]),
        params:
            **format_of(EARLIER_ENDINGS[1]),


if earlier_endings():

    rule convert_alignments:
        input:
            alignments=finished_alignments,
            reference=REFERENCE,
            fasta=FASTA,
        output:
            alignments=ALIGN / f"{{sample}}.{FORMAT}",
            index=ALIGN / f"{{sample}}.{INDEX_ENDING}",
        log:
            LOGS / "convert_alignments/{sample}.log",
        benchmark:
            BENCHMARKS / "convert_alignments/{sample}.tsv"
        wildcard_constraints:
            sample=names_of(name for name in earlier_endings() if not finished_as(name).endswith(FORMAT)),
        conda:
            "../../envs/align.yaml"
        threads: threads_of_sample(200)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(4000),
            runtime=480,
        params:
            index_format=SETTINGS["align"]["index_format"],
            digest=sources.digest("convert_alignments.py"),
        script:
            "../scripts/convert_alignments.py"

    use rule convert_alignments as index_alignments with:
        output:
            index=ALIGN / f"{{sample}}.{INDEX_ENDING}",
        log:
            LOGS / "index_alignments/{sample}.log",
        benchmark:
            BENCHMARKS / "index_alignments/{sample}.tsv"
        wildcard_constraints:
            sample=names_of(name for name in earlier_endings() if finished_as(name).endswith(FORMAT)),


if finished_otherwise()["assembly"]:
    # Jobs that read or write alignments need one of these, and a job that changes a header needs them all.
    workflow.register_resource("alignments", ALL_ALIGNMENTS)

    # Changes the headers of finished files, which keep their time stamps, so that no other job runs again.
    rule name_assembly:
        input:
            units=ALIGN / "units/{sample}.units.json",
            alignments=finished_and_converted,
            index=ALIGN / f"{{sample}}.{INDEX_ENDING}",
        output:
            touch(ASSEMBLY_NAMED),
        log:
            LOGS / "name_assembly/{sample}.log",
        benchmark:
            BENCHMARKS / "name_assembly/{sample}.tsv"
        priority: 20
        conda:
            "../../envs/align.yaml"
        threads: threads_of_sample(200, 4)
        resources:
            mem_mb=growing(2000),
            runtime=480,
            alignments=ALL_ALIGNMENTS,
        params:
            assembly=lambda wildcards: SETTINGS["reference"]["assembly"],
            digest=sources.digest("name_assembly.py"),
        script:
            "../scripts/name_assembly.py"


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
    threads: threads_of_sample(200, 4)
    resources:
        **ALIGNMENTS,
        mem_mb=growing(counting_memory),
        runtime=60,
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
        threads: threads_of_sample(200, 4)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(counting_memory),
            runtime=60,
        params:
            low_depth=SETTINGS["align"]["low_depth"],
            digest=sources.digest("count_target.py"),
        script:
            "../scripts/count_target.py"


if CALLABLE["minimum_depth"]:

    rule find_callable:
        input:
            alignments=finished_alignments,
            reference=REFERENCE,
            fasta=FASTA,
            kernels=OUTPUT / ".compiled/align.done",
        output:
            regions=ALIGN / "{sample}.callable.bed.gz",
        log:
            LOGS / "find_callable/{sample}.log",
        benchmark:
            BENCHMARKS / "find_callable/{sample}.tsv"
        conda:
            "../../envs/align.yaml"
        threads: threads_of_sample(200, 4)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(counting_memory),
            runtime=120,
        params:
            rule={key: value for key, value in CALLABLE.items() if key != "sample_fraction"},
            digest=sources.digest("find_callable.py"),
        script:
            "../scripts/find_callable.py"

    rule gather_callable:
        input:
            samples=expand(ALIGN / "{sample}.callable.bed.gz", sample=SAMPLES),
            reference=REFERENCE,
            intervals=SETTINGS["rescore"]["intervals"] or [],
        output:
            regions=RESCORE / "all.callable.bed.gz",
        log:
            LOGS / "gather_callable.log",
        benchmark:
            BENCHMARKS / "gather_callable.tsv"
        conda:
            "../../envs/align.yaml"
        threads: 1
        resources:
            mem_mb=growing(lambda wildcards, input, threads: 1000 + 2.2 * packed_reference()["axis_length"] / 1e6),
            runtime=240,
        params:
            sample_fraction=CALLABLE["sample_fraction"],
            digest=sources.digest("gather_callable.py"),
        script:
            "../scripts/gather_callable.py"


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
        threads: threads_of_sample(200, 4)
        resources:
            **ALIGNMENTS,
            mem_mb=growing(counting_memory),
            runtime=60,
        params:
            digest=sources.digest("count_known_sites.py"),
        script:
            "../scripts/count_known_sites.py"
