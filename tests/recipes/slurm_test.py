"""examples/recipes/slurm.sh, as a job of a Slurm of the test's own, which has this machine alone: the job goes back into
the queue at its time limit, and goes on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from training import SECONDS, RecipeTest, Training, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel")
SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # where Debian has the first three
CONFIG = """ClusterName=millrace
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors}
PartitionName=all Nodes=ALL Default=YES
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """Its daemons, in the foreground, with all their files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "PATH": SBIN, "SLURM_CONF": str(folder / "slurm.conf")}
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        user = subprocess.run(["id", "-un"], check=True, text=True, capture_output=True).stdout.strip()
        host = socket.gethostname().partition(".")[0]
        config = CONFIG.format(host=host, user=user, folder=folder, ports=free_ports(2), processors=os.cpu_count())
        (folder / "slurm.conf").write_text(config)

    def start(self) -> None:
        munge = self.folder / "munge"
        self.run_daemon("munged", "--foreground", "--force", f"--key-file={munge}.key", f"--socket={munge}.socket",
                        f"--pid-file={munge}.pid", f"--log-file={munge}.log", f"--seed-file={munge}.seed")
        wait_until(Path(f"{munge}.socket").exists, "munged", seconds=30)
        self.run_daemon("slurmctld", "-D")
        self.run_daemon("slurmd", "-D")
        wait_until(lambda: "State=IDLE" in self.call("scontrol", "show", "node"), "Slurm", seconds=60, pause=0.2)

    def run_daemon(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.out").open("w") as out:
            self.daemons.append(subprocess.Popen([name, *words], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=out, stderr=out))

    def call(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environment, text=True, timeout=SECONDS, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.stdout if done.returncode == 0 else ""

    def submit(self, training: Training, *words: str, script: str = "slurm.sh") -> str:
        """The number of a new job."""
        done = subprocess.run(["sbatch", "--parsable", "--cpus-per-task=1", *words, script, "--config", "train.yaml"],
                              cwd=training.folder, text=True, check=True, stdout=subprocess.PIPE,
                              env={**self.environment, "PATH": training.environment["PATH"]})
        return done.stdout.strip()

    def job(self, number: str, name: str) -> str:
        words = self.call("scontrol", "show", "job", number).split()
        return dict(word.partition("=")[::2] for word in words).get(name, "")

    def wait_for(self, number: str, state: str) -> None:
        wait_until(lambda: self.job(number, "JobState") == state, f"job that is {state}", pause=0.2)

    def end(self) -> None:
        self.call("scancel", "--full", "--signal=KILL", "--user", str(os.getuid()))
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait(30)


def is_pending(process: int, number: int) -> bool:
    """Whether a signal waits for the process."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return bool(int(lines["ShdPnd"], 16) >> (number - 1) & 1)


def why_not() -> str:
    """Why there can be no Slurm here; empty if there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=SBIN) is None]
    if missing:
        return f"needs the packages munge and slurm-wlm: there is no {missing[0]}"
    return "" if os.geteuid() == 0 else "needs root, as slurmd does"


class SlurmTest(RecipeTest):
    @classmethod
    def setUpClass(cls) -> None:
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()
        cls.slurm = Slurm(cls.scratch / "slurm")
        cls.addClassCleanup(cls.slurm.end)
        cls.slurm.start()

    def test_goes_back_into_the_queue_at_the_time_limit(self) -> None:
        slurm, training = self.slurm, self.training()
        # A minute is the shortest limit. The training takes less, so it stands still until the signal has come.
        job = slurm.submit(training, "--time=1", "--signal=B:USR1@55")
        step = training.wait_for_checkpoint()
        training.kill(signal.SIGSTOP)
        process = training.pid()
        wait_until(lambda: is_pending(process, signal.SIGTERM), "signal from slurm.sh", pause=0.1)
        training.kill(signal.SIGCONT)
        slurm.wait_for(job, "COMPLETED")
        self.assertEqual(slurm.job(job, "ExitCode"), "0:0")
        # The signal may come a minute early, so the second run may go back, too.
        self.assertGreaterEqual(int(slurm.job(job, "Restarts")), 1)
        told = (training.folder / f"train-{job}.log").read_text()
        stops = [int(steps) for steps in re.findall("^stopped: ([0-9]+) steps", told, re.MULTILINE)]
        starts = [int(start) for start in re.findall("going on from step ([0-9]+) ", told)]
        self.assertEqual(starts, stops, told)
        self.assertGreaterEqual(starts[0], step)
        self.check_complete(training)

    def test_writes_a_checkpoint_when_it_is_cancelled(self) -> None:
        slurm, training = self.slurm, self.training()
        job = slurm.submit(training)
        training.wait_for_checkpoint()
        training.kill(0)
        slurm.call("scancel", job)
        slurm.wait_for(job, "CANCELLED")
        done = wait_until(lambda: training.events()[-1]["event"] == "done" and training.events()[-1], "end")
        self.assertEqual((done["reason"], training.newest()), ("stopped", done["steps"]))


if __name__ == "__main__":
    unittest.main()
