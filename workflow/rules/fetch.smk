# Inputs on servers to copies, by Snakemake's storage plugins. The copies of reads are among the results and go when they
# are mapped; that of the reference stays beside its index.
READS = {os.path.relpath(copy, OUTPUT / "inputs"): remote for copy, remote in RUN.remote.items() if remote.column}
GENOME = {os.path.relpath(copy, INDEX / "inputs"): remote for copy, remote in RUN.remote.items() if not remote.column}

# Snakemake alone would keep finished results, without a word, if their new inputs do not exist.
if workflow.is_main_process:
    with ends_in_a_sentence():
        for copy, remote in RUN.remote.items():
            if not Path(copy).exists():
                require_on_server(remote, storage(remote.address).flags["storage_object"].exists)


rule fetch_reads:
    input:
        lambda wildcards: storage(READS[wildcards.fetched].address),
    output:
        temp(OUTPUT / "inputs/{fetched}"),
    log:
        LOGS / "fetch_reads/{fetched}.log",
    benchmark:
        BENCHMARKS / "fetch_reads/{fetched}.tsv"
    wildcard_constraints:
        fetched="|".join(map(re.escape, READS)) or "(?!)",
    conda:
        "../../envs/index.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=1440,
    params:
        remote=lambda wildcards: tuple(READS[wildcards.fetched]),
        digest=sources.digest("fetch_input.py"),
    script:
        "../scripts/fetch_input.py"


use rule fetch_reads as fetch_reference with:
    input:
        lambda wildcards: storage(GENOME[wildcards.fetched].address),
    output:
        INDEX / "inputs/{fetched}",
    log:
        LOGS / "fetch_reference/{fetched}.log",
    benchmark:
        BENCHMARKS / "fetch_reference/{fetched}.tsv"
    wildcard_constraints:
        fetched="|".join(map(re.escape, GENOME)) or "(?!)",
    params:
        remote=lambda wildcards: tuple(GENOME[wildcards.fetched]),
        digest=sources.digest("fetch_input.py"),
