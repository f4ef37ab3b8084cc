"""examples/recipes/millrace-train.service, run by a systemd of the test's own: a user's manager with a /run of its
own. It needs root, because it mounts."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from training import RECIPES, SECONDS, TRAINER, RecipeTest, Training, wait_until

MANAGER = Path("/lib/systemd/systemd")
UNIT = "millrace-train.service"
CGROUPS = Path("/sys/fs/cgroup")
# A manager of a user asks whether the machine was booted with systemd: whether there is a folder.
START = f"""set -e
for folder in "$@"; do echo $$ >"$folder/cgroup.procs"; done
exec unshare --mount sh -c '
  mount -t tmpfs tmpfs /run
  mkdir -p /run/systemd/system
  exec {MANAGER} --user --log-target=console'
"""


def own_cgroups() -> list[Path]:
    """This process's own, of the trees in which systemd puts its services."""
    trees = {"": CGROUPS if (CGROUPS / "cgroup.procs").exists() else CGROUPS / "unified",
             "name=systemd": CGROUPS / "systemd"}
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    return [trees[tree] / path.lstrip("/") for _, tree, path in lines if tree in trees]


class Manager:
    """systemd, whose services are in cgroups that go with it."""

    def __init__(self, home: Path) -> None:
        self.units = home / "config/systemd/user"
        self.units.mkdir(parents=True)
        runtime = home / "run"
        runtime.mkdir(mode=0o700)
        self.environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime),
                            "XDG_CONFIG_HOME": str(home / "config")}
        self.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.cgroup = f"millrace-recipe-{os.getpid()}"
        folders = [folder / self.cgroup for folder in own_cgroups()]
        for folder in folders:
            folder.mkdir()
        self.log = home / "systemd.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["sh", "-c", START, "sh", *folders], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self.call("show", "--property=Version").returncode == 0, "systemd", seconds=30, pause=0.1)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["systemctl", "--user", *words], env=self.environment, text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def do(self, *words: str) -> None:
        done = self.call(*words)
        assert done.returncode == 0, done.stdout

    def show(self, name: str) -> str:
        return self.call("show", "--property", name, "--value", UNIT).stdout.strip()

    def state(self) -> str:
        return self.show("ActiveState")

    def end(self) -> None:
        self.process.terminate()  # it ends its services
        self.process.wait(SECONDS)
        left = [path for path in CGROUPS.glob(f"**/{self.cgroup}/**/") if path.is_dir()]
        for folder in sorted(left, key=lambda path: len(path.parts), reverse=True):
            folder.rmdir()


def why_not() -> str:
    """Why there can be no systemd here; empty if there can."""
    if os.geteuid() != 0:
        return "needs root"
    if not MANAGER.exists() or shutil.which("systemctl") is None:
        return "needs systemd"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return "needs the right to mount"
    if not all(os.access(folder, os.W_OK) for folder in own_cgroups()):
        return "needs cgroups to write to"
    return ""


def complaints(name: str) -> tuple[int, str]:
    """The exit code of systemd-analyze, and what it says of a unit."""
    with tempfile.TemporaryDirectory(prefix="millrace-recipe-") as folder:
        unit = Path(folder, name)
        unit.write_text((RECIPES / name).read_text().replace("/usr/bin/trainer", str(TRAINER)))
        done = subprocess.run(["systemd-analyze", "--user", "verify", unit], text=True, timeout=SECONDS,
                              env={**os.environ, "XDG_RUNTIME_DIR": folder}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


@unittest.skipIf(shutil.which("systemd-analyze") is None, "needs systemd-analyze")
class UnitTest(unittest.TestCase):
    def test_systemd_finds_nothing_to_say(self) -> None:
        self.assertEqual(complaints(UNIT), (0, ""))


class SystemdTest(RecipeTest):
    @classmethod
    def setUpClass(cls) -> None:
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()
        cls.manager = Manager(cls.scratch)
        cls.addClassCleanup(cls.manager.end)

    def setUp(self) -> None:
        """The unit as it is, but for the place of the program and a shorter wait."""
        self.training = Training(self.scratch / "training")
        self.addCleanup(shutil.rmtree, self.training.folder)
        unit = (RECIPES / UNIT).read_text()
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
        self.assertIn("=/usr/bin/trainer ", command)
        (self.manager.units / UNIT).write_text(unit)
        changed = self.manager.units / f"{UNIT}.d"
        changed.mkdir(exist_ok=True)
        (changed / "test.conf").write_text(
            f"[Service]\nExecStart=\n{command.replace('/usr/bin/trainer', str(TRAINER))}\nRestartSec=200ms\n")
        self.manager.do("enable", UNIT)  # systemd forgets how a service ended that nobody wants
        self.manager.do("daemon-reload")
        self.manager.do("reset-failed")

    def wait_for(self, state: str) -> None:
        wait_until(lambda: self.manager.state() == state, f"service that is {state}", pause=0.1)

    def test_goes_on_after_kills_and_stops(self) -> None:
        training = self.training
        self.manager.do("start", UNIT)
        step = training.wait_for_checkpoint()
        for restarts in ("1", "2"):
            self.manager.do("kill", "--signal=KILL", UNIT)
            wait_until(lambda: self.manager.show("NRestarts") == restarts, "restart", pause=0.1)
            step = training.wait_for_checkpoint(after=step)
        # As when the machine is shut down: it writes a checkpoint of its last step.
        self.manager.do("stop", UNIT)
        self.assertEqual((self.manager.state(), self.manager.show("Result")), ("inactive", "success"))
        self.assertEqual(self.manager.show("ExecMainStatus"), "143")
        done = training.events()[-1]
        self.assertEqual((done["event"], done["reason"]), ("done", "stopped"))
        self.assertEqual(training.newest(), done["steps"])
        self.manager.do("start", UNIT)
        self.wait_for("inactive")
        self.assertEqual((self.manager.show("Result"), self.manager.show("ExecMainStatus")), ("success", "0"))
        self.check_complete(training)

    def test_gives_up_where_another_try_would_end_likewise(self) -> None:
        self.training.config.write_text("sead: 7\n" + self.training.config.read_text())
        self.manager.do("start", UNIT)
        self.wait_for("failed")
        self.assertEqual((self.manager.show("ExecMainStatus"), self.manager.show("NRestarts")), ("78", "0"))


if __name__ == "__main__":
    unittest.main()
