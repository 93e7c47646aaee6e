# The functions that rules of several stages call.


def plan_of_dry_run():
    """Return the lines that end a dry run."""
    dag = workflow.dag
    order = {rule.name: number for number, rule in enumerate(workflow.rules)}
    jobs = sorted((*dag.finished_jobs, *dag.needrun_jobs()), key=lambda job: order[job.rule.name])
    return lines_of_plan(
        {job: dag.reason(job) for job in jobs}, workflow.resource_settings.cores or 1, KEPT_SETTINGS, NAMED_SETTINGS
    )


def refuse_unrecorded_results():
    """End the run if Snakemake would keep results that were made with other settings."""
    dag = workflow.dag
    jobs = {job: dag.reason(job) for job in dag.jobs if not dag.needrun(job)}
    if RerunTrigger.PARAMS in workflow.rerun_triggers:
        with ends_in_a_sentence():
            refuse_unrecorded(jobs, KEPT_SETTINGS, NAMED_SETTINGS)


def page_manifests(wildcards):
    """Return the manifests of all pages of the index; their number comes from the packed reference."""
    checkpoints.pack_reference.get()
    return expand(INDEX / "page_{page}/manifest.json", page=range(len(packed_reference()["pages"])))


def packed_reference():
    """Return the manifest of the packed reference.

    FileNotFoundError is not a sentence here: Snakemake asks again when the file exists.
    """
    return read_reference(os.stat(str(REFERENCE)).st_mtime_ns)


@cache
def read_reference(time_stamp):
    """Read the manifest of the packed reference, once for each state of the file."""
    with ends_in_a_sentence():
        return read_manifest(REFERENCE.parent, "reference", REFERENCE_VERSION)


def of_search(tool, *keys):
    """Return a function of wildcards that returns the value of one key of the search, or several values by key."""

    def values(wildcards):
        search = SEARCHES[tool][wildcards.search]
        return search[keys[0]] if len(keys) == 1 else {key: search[key] for key in keys}

    return values


def names_of_searches(tool):
    """Return the wildcard constraint of a tool's rule: the names of its searches, or a pattern that matches none."""
    return "|".join(SEARCHES[tool]) or "(?!)"


def results_of_searches(tool, *wanted):
    """Return the results of all searches of an exact tool, or only those with the wanted endings."""
    endings = [ending for ending in RESULTS_OF_SEARCHES[tool] if ending in (wanted or RESULTS_OF_SEARCHES[tool])]
    return expand(OUTPUT / tool / "{search}.{ending}", search=SEARCHES[tool], ending=endings)


def results_of_target(tool):
    """Return an input function for the results of all searches of a tool; without searches it ends the run."""

    def results(wildcards):
        if not SEARCHES[tool]:
            sys.exit(f"quire: error: configuration: {tool} names no search; add one (config/README.md shows how).")
        return results_of_searches(tool)

    return results


def required_reference(wildcards):
    """Return the index of the reference; end the run if no reference is configured."""
    if not FASTA:
        sys.exit("quire: error: configuration: reference.fasta is not given, and reference_index needs it.")
    return page_manifests(wildcards)


def files_of_unit(column):
    """Return an input function for the files in one column of a unit's row."""

    def files(wildcards):
        return UNITS[wildcards.sample, wildcards.unit][column]

    return files


def about_reads(wildcards):
    """Return the sheet's words about a unit's files: layout, encoding, and if they may be empty."""
    unit = UNITS[wildcards.sample, wildcards.unit]
    return {
        "interleaved": bool(unit["interleaved"]),
        "qualities": unit["qualities"],
        "may_be_empty": bool(unit["may_be_empty"]),
    }


def mapping_is_forced():
    """Return True if mapping was forced, so that no records are taken from finished alignments.

    Snakemake knows this only after it has read this file, and only in the first process, which tells the jobs through
    the environment.
    """
    given = workflow.dag_settings
    forced = given.forceall or any(name == "map_unit" or "/" in str(name) for name in given.forcerun)
    return os.environ.setdefault("QUIRE_MAP_AGAIN", str(int(forced))) == "1"


@cache
def finished_otherwise():
    """Return the samples that an earlier run finished with another index, by its ending, and as `assembly` those whose
    headers name another assembly.

    Their jobs keep to these files, so that nothing runs again but what depends on the setting. As above the first
    process tells the jobs, since the files that tell it vanish while a sample is finished.
    """
    found = {"assembly": []}
    for sample in SAMPLES if {"--forceall", "-F"}.isdisjoint(sys.argv) else []:
        with (
            suppress(OSError, ValueError, KeyError),
            open(ALIGN / f"units/{sample}.units.json", encoding="utf-8") as file,
        ):
            head = json.loads("".join(takewhile(lambda line: '"bytes"' not in line, file)).rstrip(",\n") + "}")
            if head["index"] != INDEX_ENDING:
                found.setdefault(head["index"], []).append(sample)
            if head["assembly"] != SETTINGS["reference"]["assembly"]:
                found["assembly"].append(sample)
    return json.loads(os.environ.setdefault("QUIRE_FINISHED", json.dumps(found)))


@cache
def earlier_endings():
    """Return the ending of the index by sample, for the samples that were finished with another."""
    return {name: ending for ending, names in finished_otherwise().items() if ending != "assembly" for name in names}


def names_of(samples):
    """Return the wildcard constraint of a rule for some samples, or a pattern that matches none."""
    return "|".join(map(re.escape, samples)) or "(?!)"


def finished_as(sample):
    """Return the alignments of a sample as it is finished."""
    return finished_index_of(sample).rpartition(".")[0]


def finished_index_of(sample):
    """Return the index of `finished_as`."""
    return str(ALIGN / f"{sample}.{earlier_endings().get(sample, INDEX_ENDING)}")


def finished_alignments(wildcards):
    """Return the alignments of a job's sample as it is finished."""
    return finished_as(wildcards.sample)


def finished_index(wildcards):
    """Return the index of `finished_alignments`."""
    return finished_index_of(wildcards.sample)


def finished_and_converted(wildcards):
    """Return the alignments of a sample as it is finished, unless they were deleted, and in the configured format."""
    finished, wanted = finished_alignments(wildcards), str(ALIGN / f"{wildcards.sample}.{FORMAT}")
    return [wanted] if finished == wanted or not os.path.exists(finished) else [finished, wanted]


def format_of(ending):
    """Return the parameters of finishing that follow from the format with this ending of its index."""
    format, _, index_format = ending.partition(".")
    # A namespace: another assembly must not finish the sample again, but only name_assembly changes the header.
    finished = SimpleNamespace(index=ending, assembly=SETTINGS["reference"]["assembly"])
    return {"format": format, "index_format": index_format, "finished": finished}


def outputs_of_finishing(ending):
    """Return the named outputs of finishing a sample with an index of this ending."""
    return {
        "alignments": ALIGN / f"{{sample}}.{ending.rpartition('.')[0]}",
        "index": ALIGN / f"{{sample}}.{ending}",
        "units": ALIGN / "units/{sample}.units.json",
        "duplicates": report(
            ALIGN / "{sample}.duplicates.tsv",
            caption="../report/duplicates.rst",
            category="Alignments",
            labels={"sample": "{sample}"},
        ),
        "counts": ALIGN / "units/{sample}.counts.json",
        "windows": ALIGN / "{sample}.coverage.bed.gz",
        "low_coverage": ALIGN / "units/{sample}.low_coverage.bed.gz",
        "evidence": ALIGN / "units/{sample}.evidence.npz",
        "ledger": LEDGER / "{sample}.json",
    }


def earlier_file(wildcards):
    """Return the paths of the finished alignments of a unit's sample, from which its records may be taken."""
    return SimpleNamespace(
        alignments=finished_alignments(wildcards),
        units=str(ALIGN / f"units/{wildcards.sample}.units.json"),
        forced=mapping_is_forced(),
    )


def read_group(wildcards):
    """Return the fields of a unit's read group."""
    unit = UNITS[wildcards.sample, wildcards.unit]
    return {key: unit[key] for key in ("sample", "unit", "platform", "library")}


def libraries(sample):
    """Return the library of each unit of a sample, in the order of the sheet."""
    return LIBRARIES[sample]


def files_of_units(pattern, sample):
    """Return one file for each unit of a sample, in the order of the sheet."""
    return expand(pattern, sample=sample, unit=libraries(sample))


def environment(name):
    """Return the conda environment of a rule that may use a card; only `gpu` installs CuPy, which is large."""
    return f"../../envs/{'gpu' if DEVICE.backend == 'gpu' else name}.yaml"


def ledgers(sample):
    """Return the ledgers of a sample's alignments: one per unit, and one of the whole sample."""
    return [*files_of_units(LEDGER / "{sample}.{unit}.json", sample), str(LEDGER / f"{sample}.json")]


def targets_of_samples():
    """Return the counts over the target, in the order of the sheet, if a target is configured."""
    return expand(ALIGN / "{sample}.target.json", sample=SAMPLES) if SETTINGS["rescore"]["intervals"] else []


def known_sites_of_samples():
    """Return the counts at sites of known frequency, in the order of the sheet, if such sites are configured."""
    return expand(ALIGN / "{sample}.known_sites.json", sample=SAMPLES) if SETTINGS["report"]["known_sites"] else []


def callable_regions():
    """Return the callable regions of the samples and of the cohort, if they are configured."""
    own = expand(ALIGN / "{sample}.callable.bed.gz", sample=SAMPLES)
    return [*own, str(RESCORE / "all.callable.bed.gz")] if CALLABLE["minimum_depth"] else []


def files_of_pieces(pattern):
    """Return an input function for one file per piece of the reference; one job calls each piece."""

    def files(wildcards):
        with ends_in_a_sentence():
            pieces = read_json(checkpoints.split_intervals.get().output.pieces)["pieces"]
        return expand(pattern, piece=range(len(pieces)))

    return files


def calling_ledgers(wildcards):
    """Return the ledgers of the calling jobs: one per piece of the reference, in gVCF mode one per sample."""
    if GVCF:
        return expand(RESCORE / "{sample}.ledger.json", sample=SAMPLES)
    return files_of_pieces(RESCORE / "pieces/{piece}.ledger.json")(wildcards)


def results_of_samples():
    """Return the kept results from FASTQ to VCF, without the ledgers of calling; empty without samples."""
    if not SAMPLES:
        return []
    return [
        *alignments_of_samples(),
        *known_sites_of_samples(),
        *calls_of_samples(),
        *callable_regions(),
        *([str(REPORT / "truth.json")] if TRUTH["vcf"] else []),
    ]


def alignments_of_samples():
    """Return the kept results of mapping, sorting and counting."""
    endings = (FORMAT, INDEX_ENDING, "duplicates.tsv", "counts.json", "coverage.bed.gz", "low_coverage.bed.gz")
    return [
        *expand(ASSEMBLY_NAMED, sample=finished_otherwise()["assembly"]),
        *expand(ALIGN / "{sample}.{ending}", sample=SAMPLES, ending=endings),
        *(ledger for sample in SAMPLES for ledger in ledgers(sample)),
        *targets_of_samples(),
    ]


def calls_of_samples():
    """Return the kept results of calling."""
    return [
        *(expand(RESCORE / "{sample}.{ending}", sample=SAMPLES, ending=["g.vcf.gz", "g.vcf.gz.tbi"]) if GVCF else []),
        *(str(RESCORE / name) for name in ("all.vcf.gz", "all.vcf.gz.tbi", "variants.json")),
        *([str(RESCORE / "all.beagle.gz")] if SETTINGS["rescore"]["beagle"] else []),
        *structural_variants(),
        *annotations(),
        *annotated_by_program(),
    ]


def structural_variants():
    """Return the structural variants and their index; empty if they are not called."""
    return [str(RESCORE / f"structural.vcf.gz{ending}") for ending in ("", ".tbi")] if STRUCTURAL else []


def results_of_stage(stage):
    """Return an input function for the results of a stage; without samples it ends the run."""

    def results(wildcards):
        if not SAMPLES:
            sys.exit(f"quire: error: configuration: samples is not given, and {stage} needs their sheet.")
        return alignments_of_samples() if stage == "align" else calls_of_samples()

    return results


def annotations(*wanted):
    """Return the files of annotated variants, or the wanted ones; empty if no genes are configured."""
    names = wanted or ("all.csq.vcf.gz", "all.csq.vcf.gz.tbi", "consequences.json")
    return [str(ANNOTATE / name) for name in names] if SAMPLES and SETTINGS["annotate"]["gff3"] else []


def annotated_by_program():
    """Return the variants annotated by SnpEff or VEP, and their index; empty if neither is configured."""
    name, program = ANNOTATE / "all.{}.vcf.gz", SETTINGS["annotate"]["program"]
    return [str(name).format(program) + ending for ending in ("", ".tbi")] if SAMPLES and program != "none" else []


def snpeff_command(annotate):
    """Return the command of SnpEff, which needs no entry for the database in its configuration."""
    name = annotate["database"]
    given = ["-Xmx6g", "-noLog", "-nodownload", "-noStats", "-dataDir", "FOLDER/data"]
    given += ["-configOption", f"{name}.genome={name}", *shlex.split(annotate["options"])]
    return ["snpEff", "ann", *given, name, "FOLDER/variants.vcf.gz"]


def vep_command(annotate):
    """Return the command of VEP, whose database is named by the folders of its cache: species/release_assembly."""
    species, _, release = annotate["database"].partition("/")
    version, _, assembly = release.partition("_")
    given = ["--offline", "--cache", "--dir_cache", "FOLDER/data", "--species", species, "--cache_version", version]
    given += ["--assembly", assembly, "--vcf", "--no_stats", "--dont_skip", "--fork", "4"]
    files = ["--input_file", "FOLDER/variants.vcf.gz", "--output_file", "STDOUT"]
    return ["vep", *given, *shlex.split(annotate["options"]), *files]


@cache
def called_samples():
    """Return ploidy and, if ploidies may depend on it, sex of each sample, in the order of the sheet."""
    columns = ["ploidy", "sex"] if SETTINGS["rescore"]["ploidy_regions"] else ["ploidy"]
    return RUN.samples.set_index("sample")[columns].to_dict("index")


LOW_COVERAGE = "target.low_coverage" if SETTINGS["rescore"]["intervals"] else "low_coverage"


def samples_of_report():
    """Return the files of each sample that the report reads."""
    return [
        {
            "sample": sample,
            "ploidy": int(ploidy),
            "sex": sex,
            "bam": str(ALIGN / f"{sample}.{FORMAT}"),
            "counts": str(ALIGN / f"{sample}.counts.json"),
            "target": str(ALIGN / f"{sample}.target.json") if SETTINGS["rescore"]["intervals"] else None,
            "known_sites": str(ALIGN / f"{sample}.known_sites.json") if SETTINGS["report"]["known_sites"] else None,
            "ledgers": ledgers(sample),
            "insert_size": files_of_units(ALIGN / "units/{sample}.{unit}.insert_size.json", sample),
            "beds": [str(ALIGN / f"{sample}.{name}.bed.gz") for name in ("coverage", LOW_COVERAGE)],
        }
        for sample, ploidy, sex in RUN.samples[["sample", "ploidy", "sex"]].itertuples(index=False)
    ]


def searches_of_report():
    """Return the files of each search of an exact tool that the report reads or names."""
    return [
        {
            "summary": str(OUTPUT / tool / f"{name}.json"),
            "dots": str(OUTPUT / tool / f"{name}.dots.json") if tool == "pairwise" else None,
            "results": [
                str(OUTPUT / tool / f"{name}.{ending}") for ending in RESULTS_OF_SEARCHES[tool] if "json" not in ending
            ],
        }
        for tool in EXACT_TOOLS
        for name in SEARCHES[tool]
    ]
