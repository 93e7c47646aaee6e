"""Server of `forked.py`: a line of JSON in (code and arguments), a line of JSON out (status, output and messages)."""

import gc
import json
import os
import sys
from types import CodeType

import pysam  # noqa: F401 (the children import it again, for nothing)


def main() -> None:
    """Answer one request after another."""
    gc.freeze()
    files = [os.memfd_create("output"), os.memfd_create("messages")]
    codes: dict[str, CodeType] = {}
    for line in sys.stdin:
        code, *arguments = json.loads(line)
        if code not in codes:
            codes[code] = compile(code, "<child>", "exec")
        process = os.fork()
        if process == 0:
            for number, file in enumerate(files, 1):
                os.dup2(file, number)
            os._exit(_status(codes[code], arguments))
        _, status = os.waitpid(process, 0)
        texts = []
        for file in files:
            texts.append(os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace"))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)  # the children share the place with the server
        print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)


def _status(code: CodeType, arguments: list[str]) -> int:
    """Run the code and return the exit status."""
    sys.argv = ["-c", *arguments]
    try:
        exec(code, {})
    except SystemExit as error:
        os.write(2, str(error).encode())
        return 1
    except BaseException as error:
        os.write(2, repr(error).encode())
        return 2
    sys.stdout.flush()
    sys.stderr.flush()
    return 0


if __name__ == "__main__":
    main()
