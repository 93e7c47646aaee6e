# Maximal exact matches between queries and the reference; one job per search.


rule find_mems:
    input:
        queries=of_search("mems", "queries"),
        reference=REFERENCE,
        pages=page_manifests,
        fasta=FASTA,
        kernels=OUTPUT / ".compiled/mems.done",
    output:
        mems=OUTPUT / "mems/{search}.mems",
        summary=OUTPUT / "mems/{search}.json",
    log:
        LOGS / "find_mems/{search}.log",
    benchmark:
        BENCHMARKS / "find_mems/{search}.tsv"
    wildcard_constraints:
        search=names_of_searches("mems"),
    conda:
        environment("align")
    threads: 16
    resources:
        mem_mb=growing(searching_memory),
        runtime=1440,
        gpu=CARDS,
    params:
        search=of_search("mems", "min_length", "strands", "unique"),
        device=DEVICE,
        digest=sources.digest("find_mems.py"),
    script:
        "../scripts/find_mems.py"
