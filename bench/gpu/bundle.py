"""Builds a preset with CUDA and gathers what a machine needs that has nothing but a driver and CUDA's libraries."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

import processes
from machine import fail
from suite import OF_A_GPU

LIMIT = 56 * 2**20  # of the archive, which may have to travel together with the sources, in 64 MiB
# What every Linux brings, and what belongs to its kernel and driver.
OF_THE_SYSTEM = re.compile(
    r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|libnsl|libcuda|libnvidia-[^.]*)\.so(\.|$)"
)
OTHER_PROGRAMS = ("trainer", "gpu_step")


def bundle(root: str, preset: str, built: str, target: str = "") -> None:
    """Of the folder `built`, or of the preset, which is built first."""
    build = os.path.abspath(built) if built else os.path.join(root, "build", preset)
    target = os.path.realpath(target or os.path.join(root, "build/gpu-check"))
    refuse_to_replace(target)  # before a build that takes long
    if not built:
        subprocess.run([os.path.join(root, "scripts/build"), preset, "all", "tests"], cwd=root, check=True)
    programs = [os.path.join(build, name) for name in (*device_tests(build), *OTHER_PROGRAMS)]
    missing = [path for path in programs if not os.access(path, os.X_OK)]
    if missing or len(programs) == len(OTHER_PROGRAMS):
        fail(f"{build} was built without CUDA or without tests: there is no {(missing or ['test of a GPU'])[0]}")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    # A bundle is there as a whole or not at all, so a folder without a manifest is somebody else's.
    with tempfile.TemporaryDirectory(prefix="gpu-check-", dir=os.path.dirname(target)) as folder:
        made = os.path.join(folder, "gpu-check")
        emulated = fill(made, root, build, programs)
        put_in_place(made, target)
    # One that is emulated goes nowhere.
    print(f"gpu-check: {target}") if emulated else pack(target)


def output_of(command: list[str], folder: str = "/") -> str:
    """Standard output of a command. Ends this program if the command fails."""
    ran = processes.run(command, folder, dict(os.environ), 60)
    if ran.status != 0:
        fail(f"no bundle is made, as `{' '.join(command)}` failed: {ran.last_words or f'status {ran.status}'}")
    return ran.out


def is_bundle(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and {"programs", "glibc", "build"} <= manifest.keys()


def refuse_to_replace(target: str) -> None:
    """Ends the program if `target` is there and is neither an empty folder nor a bundle."""
    if not os.path.lexists(target) or (os.path.isdir(target) and (not os.listdir(target) or is_bundle(target))):
        return
    fail(f"{target} is not a bundle, and a new bundle would replace it; name another folder with --bundle")


def put_in_place(made: str, target: str) -> None:
    refuse_to_replace(target)
    if os.path.isdir(target):
        shutil.rmtree(target)
    os.rename(made, target)


def fill(target: str, root: str, build: str, programs: list[str]) -> bool:
    """Makes the folder `target`; whether its GPU is emulated."""
    emulation = os.path.join(build, "emulated_gpu")
    os.makedirs(os.path.join(target, "lib"))
    for program in programs:
        subprocess.run(["strip", "-o", os.path.join(target, os.path.basename(program)), program], check=True)
    for name, path in libraries_of(programs).items():
        subprocess.run(["strip", "--strip-unneeded", "-o", os.path.join(target, "lib", name), path], check=True)
    if os.path.isdir(emulation):
        shutil.copytree(emulation, os.path.join(target, "emulated_gpu"))
    copy_sources(root, os.path.join(target, "source"))
    shutil.copy(os.path.join(root, "scripts/gpu-check"), target)
    manifest = {
        "programs": [os.path.basename(program) for program in programs],
        "glibc": ".".join(map(str, newest_glibc(glob.glob(f"{target}/lib/*") + programs))),
        "commit": output_of(["git", "describe", "--always", "--dirty"], root).strip(),
        "build": hash_of(programs),
        "emulated": os.path.isdir(emulation),
    }
    with open(os.path.join(target, "manifest.json"), "w") as out:
        json.dump(manifest, out, indent=2)
    return os.path.isdir(emulation)


def device_tests(build: str) -> list[str]:
    """Test programs with suites that touch a GPU."""
    paths = [path for path in sorted(glob.glob(f"{build}/*_test")) if os.access(path, os.X_OK)]
    wanted = re.compile(rf"^{OF_A_GPU}", re.MULTILINE)
    return [os.path.basename(path) for path in paths if wanted.search(output_of([path, "--gtest_list_tests"]))]


def hash_of(files: list[str]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def libraries_of(programs: list[str]) -> dict[str, str]:
    """Name and path of every shared library that the programs need and a bare machine may lack."""
    found = {}
    for program in programs:
        for line in output_of(["ldd", program]).splitlines():
            match = re.match(r"\s*(\S+) => (\S.*?)( \(0x|$)", line)
            if not match or OF_THE_SYSTEM.match(match[1]):
                continue
            if match[2].startswith("not found"):
                fail(f"{program} needs {match[1]}, which is not found")
            found[match[1]] = os.path.realpath(match[2])
            # oneTBB allocates with what lies beside it.
            malloc = match[2].replace("libtbb.so.12", "libtbbmalloc.so.2")
            if malloc != match[2] and os.path.exists(malloc):
                found[os.path.basename(malloc)] = os.path.realpath(malloc)
    return found


def copy_sources(root: str, target: str) -> None:
    """The files of the repository: tests read configurations, data and sources, and the check itself is among them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = [name for name in output_of(command, root).split("\0") if name]
    if not names:
        fail(f"no bundle is made, as git knows no file of {root}")
    for name in names:
        source, copy = os.path.join(root, name), os.path.join(target, name)
        if os.path.lexists(source):  # a link that leads nowhere is there, too: a test reads it
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(source, copy, follow_symlinks=False)


def newest_glibc(files: list[str]) -> tuple[int, int]:
    versions = {(2, 17)}
    for file in files:
        for match in re.finditer(r"GLIBC_(\d+)\.(\d+)", output_of(["readelf", "--version-info", "--wide", file])):
            versions.add((int(match[1]), int(match[2])))
    return max(versions)


def pack(target: str) -> None:
    plain = sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(target) for name in names)
    archive = target + ".tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=6) as out:
        out.add(target, arcname="gpu-check")
    packed = os.path.getsize(archive)
    print(f"gpu-check: {target} ({plain / 2**20:.1f} MiB) and {archive} ({packed / 2**20:.1f} MiB)")
    if packed > LIMIT:
        fail(f"the archive is larger than {LIMIT // 2**20} MiB")
