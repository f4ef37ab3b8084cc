"""Checks the CUDA side on a machine with a GPU, which need not be the one that builds.

  scripts/gpu-check       builds the preset cuda and gathers what another machine needs in build/gpu-check.tar.gz
  gpu-check tests         there: every suite that touches a GPU, and the same trainings on CPU and GPU
  gpu-check steps         the training step beside its peers', its kernels, and what the GPU can do at best
  gpu-check hunts         dependencies that are missing, leaks, deliveries, compute-sanitizer, the kernels' text

The other machine needs x86-64 Linux, Python 3.9, an NVIDIA driver, cuBLAS 12 or 13 and cuDNN 9, from the toolkit, from
Python packages or from folders that MILLRACE_CUDA_LIBRARIES names; PyTorch and JAX are compared with where they are
installed.

Each command writes gpu-report.md and gpu-report.json into the folder of --report after every part, and goes on with the
report that is there: a part that is done is kept, another is run again. So one report holds all three. The variable
MILLRACE_REPORT_DIR can name the folder instead of --report; without both it is the current one. A copy stays with the
bundle, for a machine whose report folder is emptied between commands. --resume names the report of another machine, for
the first command on a new one: later it changes nothing, as the report that is there goes on with it. A report of
another build or GPU is not gone on with; it is renamed if the new one would replace it. A command ends within
--minutes; its last lines are the whole summary, and the first thing that is wrong.

--rehearse uses small numbers, and the CPU where there is no GPU.

The exit status is the whole report's: 1 where a result is wrong, where something could not be done that does not lack
time alone, where the command was stopped, and where there is no GPU, unless it is a rehearsal. Targets that are missed,
peers that are not there, and whatever did not fit into the time are told in the report.

The JSON of a report is one object, to which keys may be added:

  v            3, the version of this contract
  date, commit, build (a hash of the programs), commands (as typed), rehearsed
  machines     a list, one a command, each as machine, which is that of the newest
  machine      began (when the command did), gpus (name, memory), driver_version (as nvidia-smi says), no_gpu (why none
               can be used, else ""), about (of gpu_step about: runtime, driver, cublaslt, cudnn, compute capability,
               whether the GPU reads pageable memory), processor, cores, system, glibc, libraries (folders), python,
               variables (of the environment, that may change results)
  versions     name: version, of this library and its peers
  result       a sentence
  wrong        results that must not be, as texts
  complete     whether every part of every command is done
  targets      a list: name, wanted, limit, value or null, verdict ("met", "missed", "not measured"), why
  sections     a list, one a part: name, title, command, state ("done", "cut short", "left out", "failed"), why, wrong,
               seconds, clocks (of nvidia-smi: while our step ran, of another part when it ended), data

The data of a section, by the first word of its name:

  `suites`, `host`  suites (program and suite: program, suite, state ("done", "crashed", "hung"), passed, failed,
                    skipped {test: why}, pardoned)
  `trainings`       runs (device, steps, losses [first, last], weights, ms), difference, synthetic_ms (device: ms)
  `rates`           rates (name: unit, value or null, failed: why it is null)
  `race`            race: network, precision, sizes, rounds, clocks (while our step ran), contenders, each with key,
                    name, how, clock, losses, difference, values, rounds, median, lower and upper quartile in
                    microseconds a step, or failed: why it has none, and late: whether it lacked time alone; tries (how
                    many commands began it; two contenders with another number were timed by different commands); ours
                    also has recorded (whether its steps were a CUDA graph) and groups (how often several went in one
                    launch)
  `candidates`      products: name, precision, candidates (us or null, failed: why it is null, taken, and what cuBLASLt
                    says of the algorithm); convolutions: name, engines (place in cuDNN's list, engine, workspace, us
                    or null, failed, fp32 and tf32 if it is the one that is taken); either may have failed: why it has
                    none
  `kernels`         kernels: kernel, grid, block, times (a step), us, registers, compute and memory (% of the best)
  `dependencies`    runs (training, way, threads, weights, ms, or failed), no_neighbour (why there was none)
  `trainers`        device_used and host_used, bytes after each of them
  `long`            modes: steps, seconds, failed
  `bad_address`     message
  `text`            start_seconds, and suites, without those that are about NVIDIA's libraries alone; a failure of these
                    libraries, which may have no text for this GPU, is pardoned, with the line that says so
  `deliveries`      text and made_up, as trainer compare --json says (docs/json.md), and text_share: *_rows_per_s of
                    decode, input, step and together, share, bound_by_step, speed (as trainer speed --json)
  `sanitizer`       suites (program and suite: state, errors, tests that passed, excerpt)"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from typing import Any

import processes
from budget import DONE, FAILED, Budget
from bundle import bundle
from machine import Machine, fail, give_back_signals
from parts import COMMANDS, Part, why_left_out
from report import Report

MINUTES = 8.7  # what is left of 9 is for the programs that are ended when their time is over
GRACE = 12  # seconds after --minutes, when all is ended that did not end by itself
ONCE_SHOWN, LENGTH_SHOWN = 3, 600  # how many failures of a suite are shown at once, and how much of each


def stop(*_: Any) -> None:
    """A signal's handler: the report is written on the way out."""
    processes.stop_all()
    raise processes.Stopped


def tell_wrong(texts: list[str]) -> None:
    for text in texts[:ONCE_SHOWN]:
        print(f"gpu-check: WRONG: {text.strip()[:LENGTH_SHOWN]}", flush=True)


def run_part(machine: Machine, part: Part, report: Report, budget: Budget) -> None:
    section = report.begin(part)
    deadline = budget.begin(part.name)
    begin = budget.taken()
    print(f"gpu-check: {part.title} ({deadline.left():.0f} s) ...", flush=True)
    report.write()
    told = len(section.wrong)
    try:
        for _ in part.run(machine, section, deadline):
            tell_wrong(section.wrong[told:])
            told = len(section.wrong)
            report.write()
    except processes.Stopped:
        section.cut("gpu-check was stopped")
        raise
    except TimeoutError as error:
        section.cut(str(error) or "it had no time to end")
    except Exception as error:  # what one part meets must not hide what the others find
        section.fail(f"{type(error).__name__}: {error}")
    finally:
        section.seconds += budget.taken() - begin
        section.clocks = section.clocks or machine.clocks()
        report.end()
        report.write()
    tell_wrong(section.told_wrong()[told:])
    state = section.state if section.state == DONE else f"{section.state}: {section.why}"
    print(f"gpu-check: {part.title}: {len(section.told_wrong())} wrong, {state[:LENGTH_SHOWN]}", flush=True)


def run_command(
    machine: Machine, parts: list[Part], report: Report, budget: Budget, options: argparse.Namespace
) -> None:
    """All parts, one after another, each in its share of the time; those that are done are kept."""
    lost = f"no GPU any more: {machine.no_gpu}" if machine.no_gpu and report.had_gpu() else ""
    why = {part.name: lost or why_left_out(part, machine, options.only, options.all) for part in parts}
    kept = [part.name for part in parts if not options.only and report.is_done(part.name)]
    for part in parts:
        if why[part.name] or part.name in kept:
            budget.skip(part.name)
    for part in parts:
        if part.name in kept:
            print(f"gpu-check: {part.title}: kept, it was done before", flush=True)
        elif why[part.name]:
            report.leave_out(part, why[part.name])
        else:
            run_part(machine, part, report, budget)


def tell_end(report: Report, machine: Machine) -> None:
    whole = report.whole()
    print("gpu-check: summary")
    for section in whole["sections"]:
        why = f": {section['why'][:LENGTH_SHOWN]}" if section["why"] else ""
        wrong = len(section["wrong"]) + (section["state"] == FAILED)
        print(f"  {section['title']}: {wrong} wrong, {section['state']}{why}")
    for target in whole["targets"]:
        value = "" if target["value"] is None else f"{target['value']:.3g}, "
        why = f": {target['why'][:200]}" if target["why"] else ""
        print(f"  {target['name']}: {value}wanted {target['wanted']}, {target['verdict']}{why}")
    for text in whole["wrong"]:
        print(f"  WRONG: {text.strip().splitlines()[0][:LENGTH_SHOWN]}")
    print(f"gpu-check: {whole['result']}; see {report.path}.md, for bench/results/{file_name(whole)}.md and .json")
    if whole["wrong"]:
        print(f"gpu-check: the first one: {' | '.join(whole['wrong'][0].split(chr(10)))[:LENGTH_SHOWN]}", flush=True)


def file_name(whole: dict[str, Any]) -> str:
    """2026-11-23-gpu-h100"""
    name = whole["machine"]["gpus"][0].split(",")[0] if whole["machine"]["gpus"] else "none"
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word not in ("nvidia", "geforce", "tesla", "")]
    return "-".join([whole["date"], "gpu", *words[:1]])


def check(folder: str, options: argparse.Namespace) -> int:
    budget = Budget(60 * options.minutes, {part.name: part.share for part in COMMANDS[options.command]})
    give_back_signals()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, stop)
    signal.setitimer(signal.ITIMER_REAL, 60 * options.minutes + GRACE)
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    work = tempfile.mkdtemp(prefix="gpu-check-")
    try:
        machine = Machine(folder, manifest, options.python, options.rehearse, work)
        for line in machine.told():
            print(f"gpu-check: {line}", flush=True)
        began = datetime.datetime.now()
        identity = {
            "v": 3,
            "date": began.date().isoformat(),
            "commit": manifest["commit"],
            "build": manifest["build"],
            "rehearsed": options.rehearse,
            "machine": {"began": began.isoformat(timespec="seconds"), **machine.described()},
        }
        report = Report(options.report, folder, identity, " ".join(["gpu-check", *sys.argv[1:]]))
        for line in [f"writes {report.path}.md", *report.resume(options.resume)]:
            print(f"gpu-check: {line}", flush=True)
        try:
            run_command(machine, COMMANDS[options.command], report, budget, options)
        except processes.Stopped:
            print("gpu-check: stopped before its end; the same command goes on with it")
            report.stopped = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        report.write()
        tell_end(report, machine)
    except processes.Stopped:  # before the first part, or after the last one
        fail("stopped")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if report.whole()["wrong"] or report.stopped else 0


def main(script: str) -> int:
    here = os.path.dirname(script)
    arguments = argparse.ArgumentParser(
        prog="gpu-check",
        description=__doc__.partition("\n\nThe JSON of")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = "; ".join(f"of {name}: {', '.join(part.name for part in parts)}" for name, parts in COMMANDS.items())
    arguments.add_argument("command", nargs="?", choices=["bundle", *COMMANDS], default="bundle")
    arguments.add_argument("--preset", default="cuda", metavar="NAME", help="what is built and bundled (default cuda)")
    arguments.add_argument(
        "--build", default="", metavar="FOLDER", help="bundle what is built there, and build nothing"
    )
    arguments.add_argument(
        "--bundle", default="", metavar="FOLDER", help="where the bundle is or is made (default: of this script)"
    )
    arguments.add_argument(
        "--report",
        default=os.environ.get("MILLRACE_REPORT_DIR") or ".",
        metavar="FOLDER",
        help="where the report is written (default: of MILLRACE_REPORT_DIR, else the current one)",
    )
    arguments.add_argument("--resume", default="", metavar="FILE.json", help="a report to go on with")
    arguments.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="N", help=f"that it may take (default {MINUTES})"
    )
    arguments.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help=f"a part, done or not; repeatable; {names}",
    )
    arguments.add_argument("--all", action="store_true", help="with tests: also those that touch no GPU")
    arguments.add_argument("--python", default="", metavar="FILE", help="an interpreter that has PyTorch or JAX")
    arguments.add_argument("--rehearse", action="store_true", help="small numbers; on the CPU where there is no GPU")
    options = arguments.parse_args()
    if not options.report:
        arguments.error("argument --report: the folder's name is empty")
    if options.command == "bundle":
        bundle(os.path.dirname(here), options.preset, options.build, options.bundle)
        return 0
    unknown = [name for name in options.only if name not in [part.name for part in COMMANDS[options.command]]]
    if unknown:
        fail(
            f"{options.command} has no part {unknown[0]}; it has {', '.join(p.name for p in COMMANDS[options.command])}"
        )
    folders = [options.bundle] if options.bundle else [here, os.path.join(os.path.dirname(here), "build/gpu-check")]
    for folder in map(os.path.abspath, folders):
        if os.path.exists(os.path.join(folder, "manifest.json")):
            return check(folder, options)
    fail("there is no bundle to run; make one with scripts/gpu-check")
