"""examples/recipes with workers: two machines, a Slurm job, a service of systemd. The other machine is this one, and
another folder; its ssh is a script."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import slurm_test
import systemd_test
from slurm_test import Slurm, free_ports
from systemd_test import Manager
from training import RECIPES, SECONDS, TRAINER, WRAPPER, RecipeTest, Training, reports, wait_until

CONNECTED = "a trainer at 127.0.0.1 has connected"
UNIT = "millrace-worker.service"
SOCKET = "millrace-worker.socket"
SSH = """#!/bin/sh
shift
cd {folder} && PATH={folder}/bin:$PATH exec sh -c "$*"
"""


def no_workers() -> str:
    """Why there can be no workers with keys; empty if there can."""
    with tempfile.TemporaryDirectory(prefix="millrace-recipe-") as folder:
        done = subprocess.run([TRAINER, "keys", "--out", Path(folder, "a")], text=True, capture_output=True)
    left_out = any(words in done.stderr for words in ("libzmq", "MILLRACE_WITHOUT"))
    return done.stderr.strip() if done.returncode != 0 and left_out else ""


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parameters(training: Training) -> bytes:
    """The model without its header, which has the configuration with the key workers."""
    model = training.model.read_bytes()
    return model[8 + int.from_bytes(model[:8], "little"):]


class WorkersTest(RecipeTest):
    @classmethod
    def setUpClass(cls) -> None:
        reason = no_workers()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()

    def check_complete(self, training: Training) -> None:
        self.assertEqual(parameters(training), parameters(self.undisturbed), "other weights")
        self.assertEqual(reports(training), reports(self.undisturbed))


class TwoMachinesTest(WorkersTest):
    def setUp(self) -> None:
        """A training here, and a folder that is the home of the other machine."""
        self.here = self.training()
        self.there = self.here.folder / "there"
        self.pid_file = self.there / "trainer.pid"
        (self.there / "bin").mkdir(parents=True)
        (self.there / "data folder").mkdir()
        self.write_program(self.there / "bin/trainer", WRAPPER.format(pid=self.pid_file, trainer=TRAINER))
        self.write_program(self.here.folder / "bin/ssh", SSH.format(folder=self.there))

    def write_program(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(["bash", "two_machines.sh", "me@127.0.0.1", "data folder", "--config", "train.yaml"],
                                cwd=self.here.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**self.here.environment, "PORT": str(free_ports(1)[0])})

    def worker(self) -> int:
        """Its process. `trainer keys` had one before."""
        def process() -> int:
            number = int(self.pid_file.read_text()) if self.pid_file.exists() else 0
            words = Path(f"/proc/{number}/cmdline")
            return number if words.exists() and b"--bind" in words.read_bytes() else 0
        return wait_until(process, "worker")

    def test_decodes_over_there(self) -> None:
        for again in (False, True):
            training = self.start()
            worker = self.worker()
            told = training.communicate(timeout=SECONDS)[0]
            self.assertEqual(training.returncode, 0, told)
            self.assertIn(CONNECTED, told)
            self.assertNotIn("is not used", told)
            wait_until(lambda: not is_there(worker), "end of the worker")
            self.check_complete(self.here)
            if not again:
                shutil.rmtree(self.here.checkpoints)
                self.here.model.unlink()
                (self.here.folder / "log.jsonl").unlink()
        self.assertEqual([one.name for one in self.there.glob("**/*.key")], ["worker.key"])
        self.assertEqual((self.there / "millrace-keys/worker.key").stat().st_mode & 0o777, 0o600)

    def test_goes_on_without_its_worker(self) -> None:
        training = self.start()
        worker = self.worker()
        self.here.wait_for_checkpoint()
        os.kill(worker, signal.SIGKILL)
        told = training.communicate(timeout=SECONDS)[0]
        self.assertEqual(training.returncode, 0, told)
        self.assertIn(" is lost", told)
        self.check_complete(self.here)

    def test_ends_the_worker_with_the_training(self) -> None:
        training = self.start()
        worker = self.worker()
        self.here.wait_for_checkpoint()
        self.here.kill(signal.SIGKILL)
        told = training.communicate(timeout=SECONDS)[0]
        self.assertEqual(training.returncode, 128 + signal.SIGKILL, told)
        wait_until(lambda: not is_there(worker), "end of the worker")


class SlurmWorkersTest(WorkersTest):
    @classmethod
    def setUpClass(cls) -> None:
        reason = slurm_test.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        if (os.cpu_count() or 1) < 2:
            raise unittest.SkipTest("needs two processors")
        super().setUpClass()
        cls.slurm = Slurm(cls.scratch / "slurm")
        cls.addClassCleanup(cls.slurm.end)
        cls.slurm.start()

    def test_trains_with_the_other_tasks(self) -> None:
        slurm, training = self.slurm, self.training()
        home = self.scratch / "home"
        home.mkdir()
        job = slurm.submit(training, "--ntasks=2", f"--export=ALL,HOME={home}", script="slurm_workers.sh")
        wait_until(lambda: slurm.job(job, "JobState") in ("COMPLETED", "FAILED"), "end of the job", pause=0.2)
        told = (training.folder / f"train-{job}.log").read_text()
        self.assertEqual(slurm.job(job, "ExitCode"), "0:0", told)
        self.assertIn("has connected", told)
        self.assertNotIn("is not used", told)
        self.assertEqual(list(home.iterdir()), [])
        self.check_complete(training)


@unittest.skipIf(shutil.which("systemd-analyze") is None, "needs systemd-analyze")
class UnitTest(unittest.TestCase):
    def test_systemd_finds_nothing_to_say(self) -> None:
        self.assertEqual(systemd_test.complaints(UNIT), (0, ""))


class SystemdWorkerTest(WorkersTest):
    @classmethod
    def setUpClass(cls) -> None:
        reason = systemd_test.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()
        cls.manager = Manager(cls.scratch)
        cls.addClassCleanup(cls.manager.end)

    def show(self, name: str) -> str:
        return self.manager.call("show", "--property", name, "--value", UNIT).stdout.strip()

    def install(self, training: Training, bind: str) -> tuple[Path, Path]:
        """The unit as it is, but for the places, and a shorter wait. Gives the folder of keys and the log."""
        self.manager.call("stop", SOCKET, UNIT)  # of another test
        keys, log = self.scratch / "millrace-keys", self.scratch / "worker.log"
        shutil.rmtree(keys, ignore_errors=True)
        log.unlink(missing_ok=True)
        (self.scratch / "data").mkdir(exist_ok=True)
        (keys / "clients").mkdir(parents=True)
        for name in (keys / "worker", keys / "clients/a", training.folder / "me"):
            subprocess.run([TRAINER, "keys", "--out", name], check=True, stdout=subprocess.DEVNULL)
        unit = (RECIPES / UNIT).read_text()
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
        self.assertIn("=/usr/bin/trainer ", command)
        self.assertIn(" --bind tcp://0.0.0.0:5599 ", command)
        command = command.replace("/usr/bin/trainer", str(TRAINER)).replace("tcp://0.0.0.0:5599", bind)
        (self.manager.units / UNIT).write_text(unit)
        changed = self.manager.units / f"{UNIT}.d"
        changed.mkdir(exist_ok=True)
        (changed / "test.conf").write_text(
            f"[Service]\nExecStart=\n{command}\nRestartSec=200ms\nStandardError=append:{log}\n")
        return keys, log

    def train(self, training: Training, keys: Path, port: int, log: Path) -> None:
        workers = f"{{connect: 'tcp://127.0.0.1:{port}', key: me.key, server_key: {keys}/worker.pub, " \
                  "fallback: wait}"
        done = subprocess.run(["sh", "loop.sh", "--config", "train.yaml", "--set", f"workers={workers}"], text=True,
                              cwd=training.folder, env=training.environment, timeout=SECONDS, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(CONNECTED, log.read_text())
        self.check_complete(training)

    def test_decodes_until_it_is_stopped(self) -> None:
        training, port = self.training(), free_ports(1)[0]
        keys, log = self.install(training, f"tcp://0.0.0.0:{port}")
        self.manager.do("enable", UNIT)
        self.manager.do("daemon-reload")
        self.manager.do("start", UNIT)
        wait_until(lambda: "listening" in log.read_text(), "worker")

        shutil.copy(training.folder / "me.pub", keys / "clients")
        self.manager.do("reload", UNIT)
        wait_until(lambda: "keys were read again" in log.read_text(), "reload")
        self.manager.do("kill", "--signal=KILL", UNIT)
        wait_until(lambda: self.show("NRestarts") == "1" and log.read_text().count("listening") == 2, "restart")
        self.train(training, keys, port, log)

        self.manager.do("stop", UNIT)
        self.assertEqual((self.show("ActiveState"), self.show("Result"), self.show("ExecMainStatus")),
                         ("inactive", "success", "143"))
        (keys / "worker.key").unlink()
        self.manager.do("start", UNIT)
        wait_until(lambda: self.show("ActiveState") == "failed", "failure", pause=0.1)
        self.assertEqual((self.show("ExecMainStatus"), self.show("NRestarts")), ("66", "0"))

    def test_starts_when_a_training_connects(self) -> None:
        training, port = self.training(), free_ports(1)[0]
        keys, log = self.install(training, "systemd")
        shutil.copy(training.folder / "me.pub", keys / "clients")
        socket = (RECIPES / SOCKET).read_text()
        self.assertIn("=0.0.0.0:5599\n", socket)
        (self.manager.units / SOCKET).write_text(socket.replace(":5599", f":{port}"))
        self.manager.do("daemon-reload")
        self.manager.do("start", SOCKET)
        self.assertFalse(log.exists())
        self.train(training, keys, port, log)
        self.assertIn(f"listening at tcp://0.0.0.0:{port}", log.read_text())
        self.manager.do("stop", SOCKET, UNIT)


if __name__ == "__main__":
    unittest.main()
