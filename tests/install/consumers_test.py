#!/usr/bin/env python3
"""Installs a build into an empty prefix and builds programs with it in every way that the documentation names.

Usage: consumers_test.py BUILD SOURCE WAY     WAY: shared, static, archive, subdirectory, pkg-config, cuda, bare, headers,
                                             names or deb
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SKIPPED = 77


def run(*words, quiet=False, **more):
    print('+', ' '.join(map(str, words)), flush=True)
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if not quiet or done.returncode != 0:
        print(done.stdout, end='', flush=True)
    if done.returncode != 0:
        sys.exit(f'{words[0]} failed with {done.returncode}')
    return done.stdout


def install(build, prefix):
    log = run('cmake', '--install', build, '--prefix', prefix)
    assert 'include/millrace/millrace.h' in log, 'no headers'
    for file in prefix.rglob('*.cmake'):
        text = file.read_text()
        for path in (str(build), str(HERE.parents[1])):
            assert path not in text, f'{file} names {path}, which another machine has not'


def check_runs(folder, needs_library=None):
    said = run(folder / 'consumer')
    assert re.search(r'^trained 10 steps, weights [0-9a-f]{64}$', said, re.M), said
    said = run(folder / 'c_consumer')
    assert re.search(r'^trained 10 steps with Millrace \d+\.\d+\.\d+$', said, re.M), said
    if (folder / 'threads').exists():
        said = run(folder / 'threads')
        assert said == 'trained two models, 128 letters of weights\n', said
    if needs_library is not None:
        linked = run('ldd', folder / 'consumer')
        assert ('libmillrace.so' in linked) == needs_library, linked


def by_cmake(scratch, prefix, way, *options):
    consumer = scratch / 'consumer'
    if not consumer.exists():
        shutil.copytree(HERE / 'consumer', consumer)
    build = scratch / f'build_{way}'
    # Where Millrace is built as well, what takes less time.
    kind = 'Debug' if way == 'subdirectory' else 'Release'
    run('cmake', '-S', consumer, '-B', build, f'-DCMAKE_BUILD_TYPE={kind}', f'-DWAY={way}', f'-DCMAKE_PREFIX_PATH={prefix}',
        '-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF', *options)
    run('cmake', '--build', build, '--parallel', os.cpu_count())
    check_runs(build, {'shared': True, 'static': False, 'archive': False}.get(way))


def by_pkg_config(scratch, prefix):
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(prefix / 'lib/pkgconfig')}
    flags = run('pkg-config', '--cflags', '--libs', 'millrace', env=environment).split()
    path = f'-Wl,-rpath,{prefix}/lib'
    run('c++', '-std=c++20', HERE / 'consumer/consumer.cpp', *flags, path, '-o', scratch / 'consumer')
    run('cc', '-std=c99', HERE / 'consumer/consumer.c', *flags, path, '-o', scratch / 'c_consumer')
    check_runs(scratch, True)
    # The archive alone, as on a machine that has no shared library.
    for library in (prefix / 'lib').glob('libmillrace.so*'):
        library.unlink()
    flags = run('pkg-config', '--static', '--cflags', '--libs', 'millrace', env=environment).split()
    run('c++', '-std=c++20', HERE / 'consumer/consumer.cpp', *flags, '-o', scratch / 'consumer')
    run('c++', '-x', 'c', '-std=c99', HERE / 'consumer/consumer.c', '-x', 'none', *flags, '-o', scratch / 'c_consumer')
    check_runs(scratch, False)


def archive(build, source, scratch):
    """Where there is no shared library, and in folders of the installer's choice."""
    cache = (build / 'CMakeCache.txt').read_text()
    cuda = re.search(r'^MILLRACE_CUDA:\w+=(.*)$', cache, re.M).group(1)
    other, prefix, include = scratch / 'other', scratch / 'prefix', scratch / 'elsewhere/include'
    run('cmake', '-S', source, '-B', other, '-DCMAKE_BUILD_TYPE=Release', '-DBUILD_SHARED_LIBS=OFF', '-DMILLRACE_TESTS=OFF',
        '-DMILLRACE_PROGRAM=OFF', f'-DMILLRACE_CUDA={cuda}', f'-DCMAKE_INSTALL_PREFIX={prefix}',
        f'-DCMAKE_INSTALL_LIBDIR={scratch}/elsewhere/lib', f'-DCMAKE_INSTALL_INCLUDEDIR={include}')
    # The same archive as of the other build.
    shutil.copy(build / 'libmillrace.a', other)
    run('cmake', '--install', other)
    assert (include / 'millrace/millrace.h').exists()
    by_cmake(scratch, scratch / 'elsewhere', 'archive')
    environment = {**os.environ, 'PKG_CONFIG_PATH': f'{scratch}/elsewhere/lib/pkgconfig'}
    flags = run('pkg-config', '--cflags', '--libs', 'millrace', env=environment).split()
    run('c++', '-std=c++20', HERE / 'consumer/consumer.cpp', *flags, '-o', scratch / 'by_pkg_config')
    run(scratch / 'by_pkg_config')


def cuda(scratch, prefix, source):
    """Kinds that nvcc compiles hold kernels, bring no names of CUDA's, and compute on the CPU what C++ computes."""
    if 'MILLRACE_WITH_CUDA "ON"' not in (prefix / 'lib/cmake/Millrace/MillraceTargets.cmake').read_text():
        print('this Millrace was built without CUDA: not tried')
        sys.exit(SKIPPED)
    weights = {}
    for way, options, said in (('cuda', [], 'as CUDA, for CPU and GPU'),
                               ('c++', ['-DCMAKE_CUDA_COMPILER=NOTFOUND'], 'as C++, for the CPU alone: no nvcc')):
        build = scratch / way
        log = run('cmake', '-S', HERE / 'cuda', '-B', build, '-DCMAKE_BUILD_TYPE=Release', f'-DEXAMPLES={source}/examples',
                  f'-DCMAKE_PREFIX_PATH={prefix}', '-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF', *options)
        assert log.count(said) == 6, log
        run('cmake', '--build', build, '--parallel', os.cpu_count())
        for file in ('swish.so', 'quantile.so', 'within.so', 'sign_sgd.so', 'with_millrace', 'with_static'):
            # A static library brings kernels of its own.
            kernels = re.search(r'_kernel<.*(Swish|Quantile|Within|SignStep|Prelu)', run('nm', '-C', build / file, quiet=True))
            assert bool(kernels) == (way == 'cuda'), f'{file}: {kernels}'
        exported = run('nm', '-D', '--defined-only', build / 'swish.so', quiet=True)
        assert not re.search(r' cu(da)?[A-Z]', exported), exported
        for program in ('with_millrace', 'with_static'):
            assert 'gradients: right\n' in run(build / program, cwd=build)
        plugins = [word for name in ('swish', 'quantile', 'within', 'sign_sgd')
                   for word in ('--plugin', build / f'{name}.so')]
        trained = run(prefix / 'bin/trainer', '--config', source / 'examples/plugin/plugin.yaml', '--json', '--quiet',
                      *plugins, '--set', 'metrics=[within]', '--set', 'optimizer={sign_sgd: {learning_rate: 0.001}}')
        weights[way] = re.search(r'"weights":"([0-9a-f]{64})"', trained)[1]
    assert weights['cuda'] == weights['c++'], weights


def hidden_files():
    """Of the packages for development that a build of Millrace itself needs, and a program with Millrace must not."""
    packages = ['libtbb-dev', 'libdnnl-dev', 'libyaml-cpp-dev', 'nlohmann-json3-dev', 'libfast-float-dev', 'libfmt-dev',
                'libxxhash-dev', 'zlib1g-dev', 'libdeflate-dev', 'libzstd-dev', 'libsnappy-dev', 'liblz4-dev',
                'libjpeg62-turbo-dev', 'libpng-dev']
    files = []
    for package in packages:
        listed = subprocess.run(['dpkg', '-L', package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in listed.stdout.splitlines():
            path = pathlib.Path(line)
            if path.is_file() and re.search(r'^/usr/(include|lib)/', line):
                files.append(path)
    return files


def bare(build, source):
    """On a machine without those packages: in a mount namespace where their files are empty."""
    if subprocess.run(['unshare', '--mount', 'true'], stderr=subprocess.DEVNULL).returncode != 0:
        print('this user may not make a mount namespace: not tried')
        sys.exit(SKIPPED)
    files = hidden_files()
    if not files:
        print('the packages for development are not Debian\'s: not tried')
        sys.exit(SKIPPED)
    script = ['set -e', f'give_up() {{ echo "nothing can be mounted here: not tried"; exit {SKIPPED}; }}']
    folders = {'/usr/include/tbb', '/usr/include/oneapi', '/usr/include/yaml-cpp', '/usr/include/nlohmann', '/usr/include/fmt',
               '/usr/include/fast_float'}
    # A link cannot be mounted over: the folder of libraries is seen through a layer in which it is gone.
    links = sorted(str(path) for path in files if path.is_symlink())
    configs = sorted(str(path) for path in files if not path.is_symlink() and path.suffix == '.cmake')
    layers = {}
    for path in links + configs:
        layers.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    for folder, names in sorted(layers.items()):
        script.append('layer=$(mktemp -d); mount -t tmpfs none "$layer" || give_up; mkdir "$layer/up" "$layer/work"')
        options = f'lowerdir={folder},upperdir="$layer/up",workdir="$layer/work"'
        script.append(f'mount -t overlay overlay -o {options} {folder} || give_up')
        script += [f'rm {folder}/{name}' for name in names]
    # After the layers, one of which may be /usr/include.
    script += ['none=$(mktemp -d)']
    script += [f'[ ! -d {folder} ] || mount --bind "$none" {folder} || give_up' for folder in sorted(folders)]
    script.append('for header in tbb/task_arena.h oneapi/dnnl/dnnl.hpp yaml-cpp/yaml.h; do')
    script.append('  if echo "#include <$header>" | c++ -x c++ -fsyntax-only - 2>/dev/null; then echo "$header is there"; exit 1; fi')
    script.append('done')
    script.append('if [ -e /usr/lib/x86_64-linux-gnu/libtbb.so ]; then echo "libtbb.so is there"; exit 1; fi')
    script.append(f'exec python3 {__file__} {build} {source} both')
    sys.exit(subprocess.run(['unshare', '--mount', 'sh', '-c', '\n'.join(script)]).returncode)


def headers(scratch, prefix):
    """There are few. Each includes no others of ours and compiles alone, as C++20, and those for C as C too."""
    include = prefix / 'include'
    files = sorted(path.relative_to(include) for path in include.rglob('*') if path.is_file())
    assert 0 < len(files) <= 41, f'{len(files)} headers are installed, and each is a promise: {files}'
    for file in files:
        for included in re.findall(r'^\s*#\s*include ["<](millrace/[^">]+)', (include / file).read_text(), re.M):
            assert (include / included).exists(), f'{file} includes {included}, which is not installed'
    everything = [file for file in files if file.suffix == '.h']
    waiting = [header for header in everything if not str(header).startswith('millrace/core/cuda/')]
    failed = []
    heavy = re.compile(r'#\s*include\s*<(tbb|oneapi|dnnl|yaml-cpp|nlohmann|fast_float|fmt|xxhash|omp|zlib|libdeflate|zstd|snappy|lz4|jpeglib|png)')
    for header in everything:
        assert not heavy.search((include / header).read_text()), f'{header} needs a library that its user need not have'
    running = []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            header = waiting.pop()
            unit = scratch / (str(header).replace('/', '_') + '.cpp')
            unit.write_text(f'#include <{header}>\n')
            running.append((header, subprocess.Popen(
                ['c++', '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wpedantic', '-Werror', f'-I{include}', str(unit)])))
        header, process = running.pop(0)
        if process.wait() != 0:
            failed.append(header)
    assert not failed, failed
    unit = scratch / 'c.c'
    unit.write_text('#include <millrace/c.h>\n')
    run('cc', '-std=c99', '-pedantic', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', f'-I{include}', unit)


def names(prefix):
    """What headers declare as exported is exported, and nothing else."""
    library = next((prefix / 'lib').glob('libmillrace.so.*.*.*'))
    exported = run('nm', '-D', '--defined-only', '-C', library)
    symbols = [line.split(' ', 2)[2] for line in exported.splitlines()]
    # Neither of the standard library's templates nor of what it was linked with.
    foreign = [name for name in symbols if not re.search(r'\bmillrace(::|_)', name)]
    assert not foreign, foreign
    text = (prefix / 'include/millrace/c.h').read_text()
    declared = set(re.findall(r'MILLRACE_C_EXPORT [^;(]*?\b(millrace_\w+)\(', text))
    there = {name for name in symbols if re.fullmatch(r'millrace_\w+', name)}
    assert declared == there, declared ^ there
    for header in (prefix / 'include').rglob('*.h'):
        # For layers that are compiled as CUDA, where the library is.
        if '/core/cuda/' in str(header):
            continue
        for kind in re.findall(r'^class MILLRACE_EXPORT (\w+)[^;{]*\{', header.read_text(), re.M):
            assert any(re.search(rf'::{kind}\b', name) for name in symbols), f'{header}: nothing of {kind} is exported'


def deb(build, scratch):
    """Debian packages say what they need, break none of Debian's rules, and programs are built with what they hold."""
    run('cpack', '-G', 'DEB', '-D', f'CPACK_OUTPUT_FILE_PREFIX={scratch}', '--config', build / 'CPackConfig.cmake', '-B', scratch)
    packages = sorted(scratch.glob('*.deb'))
    kinds = [re.sub('_.*', '', package.name) for package in packages]
    assert kinds == ['libmillrace-dev', 'libmillrace0.2', 'millrace'], kinds
    for package in packages:
        run('dpkg-deb', '--extract', package, scratch / 'root')
        if shutil.which('lintian'):
            said = run('lintian', '--allow-root', package)
            assert not re.search('^E: ', said, re.M), said
    for kind, needed in (('libmillrace0.2', ['libtbb12', 'libdnnl2', 'libyaml-cpp0.7', 'libgomp1', 'zlib1g', 'libzstd1']),
                         ('libmillrace-dev', ['libmillrace0.2']), ('millrace', ['libtbb12', 'libdnnl2', 'libfmt9'])):
        depends = run('dpkg-deb', '--field', packages[kinds.index(kind)], 'Depends')
        for one in needed:
            assert one in depends, depends
    run(scratch / 'root/usr/bin/trainer', '--version')
    by_cmake(scratch, scratch / 'root/usr', 'shared')


def main():
    build, source, way = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if way == 'bare':
        return bare(build, source)
    # Not below /tmp, of which lintian complains; but CMake wants folders that are given as a whole outside of the sources.
    with tempfile.TemporaryDirectory(prefix='install_', dir=None if way == 'archive' else build) as folder:
        scratch = pathlib.Path(folder)
        prefix = scratch / 'prefix'
        if way == 'subdirectory':
            launcher, compiler = shutil.which('ccache'), shutil.which('clang++-16')
            options = [f'-DMILLRACE_SOURCE={source}', '-DMILLRACE_CUDA=OFF']
            if compiler:  # takes half the time, and tries the headers with another one
                options += [f'-DCMAKE_CXX_COMPILER={compiler}']
            if launcher:
                options += [f'-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}']
            return by_cmake(scratch, prefix, way, *options)
        if way == 'archive':
            return archive(build, source, scratch)
        if way == 'deb':
            if not shutil.which('dpkg-shlibdeps'):
                print('there is no dpkg-shlibdeps: not tried')
                sys.exit(SKIPPED)
            return deb(build, scratch)
        install(build, prefix)
        if way == 'pkg-config':
            by_pkg_config(scratch, prefix)
        elif way == 'cuda':
            cuda(scratch, prefix, source)
        elif way == 'headers':
            headers(scratch, prefix)
        elif way == 'names':
            names(prefix)
        else:
            for one in ('shared', 'static') if way == 'both' else (way,):
                by_cmake(scratch, prefix, one)


main()
