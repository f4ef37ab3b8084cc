#!/usr/bin/env python3
"""Installs a build into an empty prefix and does what the READMEs of examples/ say, in copies of the folders.

Of each README the blocks marked `sh` are run by sh, word for word. The lines of a block marked `text` must come, in
this order, in what the commands before it print; two dots or more stand for anything.

Usage: examples_test.py BUILD SOURCE [EXAMPLE...]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Examples that need more than is installed everywhere; their own tests run them.
ELSEWHERE = {'python'}
WARNINGS = '-Wall -Wextra -Wpedantic -Wshadow -Werror'


def blocks_of(page):
    """The fenced blocks of a page, as (kind, text)."""
    return re.findall(r'^```(\w+)\n(.*?)^```$', page, re.M | re.S)


def pattern_of(line):
    parts = re.split(r'\.{2,}', ' '.join(line.split()))
    return re.compile('.*'.join(re.escape(part) for part in parts))


def missing_lines(expected, printed):
    """The lines of `expected` that do not come in `printed`, in their order."""
    lines = iter([' '.join(line.split()) for line in printed.splitlines()])
    missing = []
    for line in expected.splitlines():
        rest = list(lines)
        found = next((i for i, other in enumerate(rest) if pattern_of(line).fullmatch(other)), None)
        if found is None:
            missing.append(line)
        lines = iter(rest if found is None else rest[found + 1:])
    return missing


def run_commands(commands, folder, environment):
    print(commands, end='', flush=True)
    done = subprocess.run(['sh', '-e', '-c', commands], cwd=folder, env=environment, text=True, timeout=600,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end='', flush=True)
    return done


def run_example(folder, environment):
    """What is wrong with the example in `folder`; an empty list when nothing is."""
    complaints = []
    printed = ''
    kinds = []
    for kind, text in blocks_of((folder / 'README.md').read_text()):
        kinds.append(kind)
        if kind == 'sh':
            done = run_commands(text, folder, environment)
            printed = done.stdout
            if done.returncode != 0:
                return [f'the commands failed with {done.returncode}']
        elif kind == 'text':
            complaints += [f'not printed: {line}' for line in missing_lines(text, printed)]
    if 'sh' not in kinds or 'text' not in kinds:
        complaints.append('the README has no commands, or does not say what they print')
    return complaints


def environment_for(prefix):
    library = next(prefix.rglob('libmillrace.so')).parent
    before = os.environ.get('LD_LIBRARY_PATH')
    return {**os.environ, 'CMAKE_PREFIX_PATH': str(prefix), 'PATH': f'{prefix}/bin:{os.environ["PATH"]}',
            'LD_LIBRARY_PATH': f'{library}:{before}' if before else str(library),
            'CMAKE_BUILD_PARALLEL_LEVEL': str(os.cpu_count()), 'CFLAGS': WARNINGS, 'CXXFLAGS': WARNINGS}


def check_itself():
    assert missing_lines('a 1\nb ..', 'x\na  1\nb 2 3\n') == []
    assert missing_lines('b\na', 'a\nb\n') == ['a']
    assert missing_lines('loss 0...', 'loss 1.5') == ['loss 0...']
    assert missing_lines('loss 0...', 'loss 0.5') == []


def dead_links(page):
    text = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.M | re.S)
    links = re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', text)
    return [f'{page}: {link} is not there' for link in links if not (page.parent / link).exists()]


def main():
    build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    examples = source / 'examples'
    names = sorted(folder.name for folder in examples.iterdir() if folder.is_dir())
    check_itself()
    index = (examples / 'README.md').read_text()
    failed = [f'{name} is not in examples/README.md' for name in names if f'[{name}]({name})' not in index]
    with tempfile.TemporaryDirectory(prefix='millrace-examples-') as scratch:
        prefix = pathlib.Path(scratch, 'prefix')
        subprocess.run(['cmake', '--install', build, '--prefix', prefix], check=True, stdout=subprocess.DEVNULL)
        pages = list(prefix.rglob('*.md'))
        failed += [link for page in pages for link in dead_links(page)] or ([] if pages else ['no page is installed'])
        for name in sys.argv[3:] or sorted(set(names) - ELSEWHERE):
            print(f'== {name}', flush=True)
            copy = pathlib.Path(scratch, name)
            shutil.copytree(examples / name, copy)
            failed += [f'{name}: {complaint}' for complaint in run_example(copy, environment_for(prefix))]
    for complaint in failed:
        print(complaint)
    sys.exit(1 if failed else 0)


main()
