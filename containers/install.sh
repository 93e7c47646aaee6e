#!/bin/sh
# Make an image out of one with Python: the pinned packages and the command. Both container files run this.
# CARD: requirements-gpu.txt or requirements-gpu-cuda12.txt, or nothing. PROGRAMS: packages of Debian, such as snpeff.
set -eu
cd /opt/quire
if [ -n "${PROGRAMS:-}" ]; then
    mkdir -p /usr/share/man/man1 # Java's packages want it
    apt-get update
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $PROGRAMS
    rm -rf /var/lib/apt/lists/*
fi
# Quire itself stays out of site-packages: with `--sdm apptainer` the jobs have the library of the workflow's own folder.
python -m pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore \
    --only-binary=:all: --no-binary connection_pool -r requirements.txt ${CARD:+-r "$CARD"}
printf '#!/bin/sh\nPYTHONPATH=/opt/quire/workflow/scripts exec python -m quire "$@"\n' >/usr/local/bin/quire
chmod a+rx /usr/local/bin/quire
if [ "$(uname -m)" = x86_64 ]; then
    for level in x86-64-v3 x86-64-v4; do
        PYTHONPATH=workflow/scripts python -m quire.kernels $level
    done
fi
quire --version
