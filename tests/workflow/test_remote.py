"""Inputs on an HTTP server and on an S3 server: fetched, mapped and removed; failures and the run after them."""

import http.server
import importlib.util
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pysam
import pytest

from tests.workflow.runs import SMALL, SMALL_UNIT, Run, errors_of

pytestmark = pytest.mark.full
KEYS = {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "key", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret"}
READS = {"fq1": "NA12878_R1.fastq.gz", "fq2": "NA12878_R2.fastq.gz"}


@pytest.fixture(autouse=True)
def plugins() -> None:
    for module in ("snakemake_storage_plugin_http", "snakemake_storage_plugin_s3", "moto"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (requirements-test.txt)")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files, and break the connection in the middle of those that the server is told to break."""

    def copyfile(self, source, outputfile) -> None:
        content = source.read()
        broken = self.path in self.server.broken
        outputfile.write(content[: len(content) // 2] if broken else content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    """Serve the small real set."""
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(SMALL)))
    serving.broken = {"/NA12878_R2.fastq.gz"}
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


def test_reads_and_reference_of_a_web_server(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    """After a connection that breaks, the same command fetches only what is missing."""
    host = f"127.0.0.1:{server.server_port}"
    run = Run(tmp_path / "run", units=[SMALL_UNIT | {key: f"http://{host}/{name}" for key, name in READS.items()}])
    # A name that the folder of copies has too.
    run.config |= {"reference": {"fasta": f"http://{host}/genome.fa.gz"}, "output": "inputs/out"}
    run.write()
    failed = run.snakemake("align")
    assert failed.returncode == 1
    assert f"Failed to retrieve storage object from http://{host}/NA12878_R2.fastq.gz" in failed.stdout
    assert not [path for path in run.output.rglob("*R2*") if "logs" not in path.parts]

    server.broken.clear()
    done = run.snakemake("align")
    assert done.returncode == 0, done.stdout
    with pysam.FastxFile(str(SMALL / READS["fq1"])) as reads:
        pairs = sum(1 for _ in reads)
    assert int(pysam.view("-c", "-F", "2304", str(run.output / "align/NA12878.bam"))) == 2 * pairs
    assert [path.name for path in run.output.rglob("inputs/**/*.gz")] == ["genome.fa.gz"]
    assert "Nothing to be done" in run.snakemake("align").stdout

    run.units = [SMALL_UNIT | {"unit": "lane_2", "fq1": f"http://{host}/regions.bed", "fq2": ""}]
    run.write()
    other = run.snakemake("align")
    assert other.returncode == 1
    assert "units.tsv, line 2, column fq1" in errors_of(other.stdout)[-1]
    assert f"http://{host}/regions.bed is not a FASTQ" in errors_of(other.stdout)[-1]


def test_a_reference_of_an_s3_server(tmp_path: Path) -> None:
    import boto3
    from moto.server import ThreadedMotoServer

    serving = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    serving.start()
    host, port = serving.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        client = boto3.client("s3", "us-east-1", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b")
        client.create_bucket(Bucket="genomes")
        client.upload_file(str(SMALL / "genome.fa.gz"), "genomes", "human/genome.fa.gz")
        run = Run(tmp_path / "run", config={"reference": {"fasta": "s3://genomes/human/genome.fa.gz"}})
        done = run.snakemake("reference_index", "--storage-s3-endpoint-url", address, **KEYS)
        assert done.returncode == 0, done.stdout
        assert (run.output / "index/inputs/genomes/human/genome.fa.gz").read_bytes() == (
            SMALL / "genome.fa.gz"
        ).read_bytes()
        run.config["reference"] = {"fasta": "s3://genomes/human/other.fa.gz"}
        run.write()
        other = run.snakemake("reference_index", "--storage-s3-endpoint-url", address, **KEYS)
        assert other.returncode == 1
        assert "holds an index, but no copy of s3://genomes/human/other.fa.gz" in errors_of(other.stdout)[-1]
        run.config["reference"]["index_directory"] = "index2"
        run.write()
        missing = run.snakemake("reference_index", "--storage-s3-endpoint-url", address, **KEYS)
        assert missing.returncode == 1
        assert "s3://genomes/human/other.fa.gz does not exist, or may not be read" in errors_of(missing.stdout)[-1]
    finally:
        serving.stop()
