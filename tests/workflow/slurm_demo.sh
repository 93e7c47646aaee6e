#!/usr/bin/env bash
# Run a configuration through profiles/slurm on a live Slurm cluster of one node: this machine.
#   tests/workflow/slurm_demo.sh CONFIG.yaml WORKING_DIRECTORY [SNAKEMAKE ARGUMENT ...]
# Needs root, Debian's slurm-wlm and munge, and PYTHON (default .venv/bin/python). munged, slurmctld and slurmd run on
# free ports with all their files in a folder that is removed at the end.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$repository/.venv/bin/python}
config=$(realpath "$1") directory=$(realpath "$2")
shift 2

# Job steps do not inherit SLURM_CONF (the executor plugin clears SLURM_*); they search the two default folders.
usual=/run/slurm/conf
if [ -e /etc/slurm/slurm.conf ] || [ -e $usual ]; then
    echo "slurm_demo.sh: this machine has a Slurm configuration already; run on one that has none" >&2
    exit 1
fi
cluster=$(mktemp -d)
daemons=()
stop() {
    rm -f $usual
    kill "${daemons[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$cluster"
}
trap stop EXIT
chmod 755 "$cluster"
mkdir -m 700 "$cluster/munge"
mkdir -m 755 "$cluster/socket" "$cluster/state" "$cluster/spool"
read -r controller_port node_port < <("$python" - <<'END'
import socket
sockets = [socket.socket() for _ in range(2)]
for one in sockets:
    one.bind(("", 0))
print(*(one.getsockname()[1] for one in sockets))
END
)

cat >"$cluster/slurm.conf" <<END
ClusterName=quire
SlurmctldHost=$(hostname -s)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/socket/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
# Without accounting, only squeue reports how a job ended: keep its entries long enough.
MinJobAge=3600
GresTypes=gpu
NodeName=$(hostname -s) Gres=gpu:1 CPUs=$(nproc) RealMemory=$(awk '/MemTotal/ {print int($2 / 1100)}' /proc/meminfo) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
# Any character device can represent a card: Slurm allocates it and sets CUDA_VISIBLE_DEVICES.
echo "NodeName=$(hostname -s) Name=gpu File=/dev/full" >"$cluster/gres.conf"
echo "CgroupPlugin=cgroup/v1" >"$cluster/cgroup.conf"
mkdir -p "$(dirname $usual)"
ln -sfn "$cluster" $usual
export SLURM_CONF=$cluster/slurm.conf

head -c 1024 /dev/urandom >"$cluster/munge/key"
chmod 400 "$cluster/munge/key"
munged --foreground --force --key-file="$cluster/munge/key" --socket="$cluster/socket/munge" \
    --pid-file="$cluster/munge/pid" --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" >"$cluster/munged.log" 2>&1 &
daemons+=($!)
slurmctld -D -c >"$cluster/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N "$(hostname -s)" >"$cluster/slurmd.log" 2>&1 &
daemons+=($!)
for _ in $(seq 60); do
    sinfo --noheader --states=idle 2>/dev/null | grep -q idle && break
    sleep 0.5
done
if ! sinfo --noheader --states=idle | grep -q idle; then
    echo "slurm_demo.sh: the cluster did not start" >&2
    tail -n 20 "$cluster"/slurm*.log >&2
    exit 1
fi

# The plugin waits ten seconds longer each time that no job has ended, so that a run of short jobs mostly waits.
snakemake='
import asyncio, snakemake.cli
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
async def sleep(self):
    await asyncio.sleep(1)
RemoteExecutor.sleep = sleep
snakemake.cli.main()
'
status=0
"$python" -c "$snakemake" -s "$repository/Snakefile" --directory "$directory" --configfile "$config" \
    --workflow-profile "$repository/profiles/slurm" --slurm-init-seconds-before-status-checks 1 --latency-wait 10 \
    --max-status-checks-per-second 1 --cores "$(nproc)" --max-threads "$(nproc)" "$@" || status=$?
echo "slurm_demo.sh: jobs submitted: $(squeue --states=all --noheader | wc -l)"
exit $status
