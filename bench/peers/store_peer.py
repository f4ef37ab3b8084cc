"""Stores of the same rows, each written and read by the library that other programs use for it; only the TFRecords are
written by `trainer convert`. run.py makes the stores, so each library is imported by the functions that use it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from protocol import COLUMNS, ROWS, Job, Task, serve, unequal

FILE = "- filename_queue: {files: '%s', shuffle: false, epochs: 1}\n"
ARRAY = f"{{x: {{type: float32, size: {COLUMNS}}}}}"
# The ops that read each store.
OPS = {
    "parquet": f"{FILE}- parquet_reader: {{fields: {{x: {{columns: 0-{COLUMNS - 1}}}}}}}\n",
    "hdf5": f"{FILE}- hdf5_reader: {{fields: {{x: /x}}}}\n",
    "lmdb": f"- lmdb_reader: {{path: '%s', fields: {ARRAY}, shuffle: false, epochs: 1}}\n",
    "tfrecord": f"{FILE}- tfrecord_reader\n- decode_example: {{fields: {ARRAY}}}\n",
}
Reader = tuple[Callable[[], list[np.ndarray]], str]  # a function that returns all rows, and the library's version


def columns() -> list[np.ndarray]:
    """float32 and float64 in turn; and random, rounded to two decimals, and 68 % zeros in turn."""
    random = np.random.default_rng(1)
    out = []
    for i in range(COLUMNS):
        values = random.standard_normal(ROWS)
        values = (values, values.round(2), np.where(abs(values) < 1, 0, values))[i % 3]
        out.append(values.astype((np.float32, np.float64)[i % 2]))
    return out


def write(trainer: Path, kind: str, path: Path, rows: Path) -> None:
    if kind == "hdf5":
        import h5py

        with h5py.File(path, "w") as file:
            data = np.fromfile(rows, np.float32).reshape(ROWS, COLUMNS)
            file.create_dataset("x", data=data, chunks=(1024, COLUMNS), compression="gzip")
    elif kind == "lmdb":
        import lmdb

        store = lmdb.open(str(path), map_size=1 << 30, subdir=False, lock=False)
        with store, store.begin(write=True) as transaction:
            for number, row in enumerate(np.fromfile(rows, f"V{4 * COLUMNS}")):
                transaction.put(b"%08d" % number, row.tobytes(), append=True)
    elif kind == "tfrecord":
        config = path.with_suffix(".yaml")
        records = f"- record_reader: {{bytes: {4 * COLUMNS}, fields: {ARRAY}}}\n- batch: {{batch_size: 1000}}\n"
        config.write_text(f"input:\n{FILE % rows}{records}")
        words = [trainer, "convert", "--config", config, "--to", "tfrecord", "--out", path, "--quiet"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    else:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table(columns(), [f"c{i}" for i in range(COLUMNS)])
        parquet.write_table(table, path, compression=kind.removeprefix("parquet-"))


def make_store(trainer: Path, folder: Path, kind: str) -> None:
    """Raises ImportError without the library that writes the store."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, path, partial = folder / "rows.f32", folder / kind, folder / f"{kind}.partial"
    if not rows.exists():
        np.column_stack([column.astype(np.float32) for column in columns()]).tofile(rows)
    if not path.exists():
        partial.unlink(missing_ok=True)
        write(trainer, kind, partial, rows)
        partial.rename(path)
    path.with_suffix(".yaml").write_text(OPS[kind.split("-")[0]] % path)
    path.read_bytes()  # into the page cache


def by_pyarrow(path: str) -> Reader:
    import pyarrow as pa
    from pyarrow import parquet

    rows = np.empty((ROWS, COLUMNS), np.float32)

    # 2,048 rows stay in a core's cache: whole columns, one after another, took twice as long.
    def read() -> list[np.ndarray]:
        table = parquet.ParquetFile(path).read(use_threads=False)
        values = [column.to_numpy() for column in table.columns]
        for begin in range(0, ROWS, 2048):
            for i, column in enumerate(values):
                rows[begin : begin + 2048, i] = column[begin : begin + 2048]
        return [rows]

    return read, pa.__version__


def by_h5py(path: str) -> Reader:
    import h5py

    rows = np.empty((ROWS, COLUMNS), np.float32)

    def read() -> list[np.ndarray]:
        with h5py.File(path) as file:
            file["x"].read_direct(rows)
        return [rows]

    return read, f"{h5py.__version__} with libhdf5 {h5py.version.hdf5_version}"


def by_lmdb(path: str) -> Reader:
    import lmdb

    store = lmdb.open(path, subdir=False, readonly=True, lock=False)

    # The fastest way that was found. numpy.frombuffer for each value took five times as long.
    def read() -> list[np.ndarray]:
        values = bytearray()
        with store.begin() as transaction:
            for value in transaction.cursor().iternext(keys=False):
                values += value
        return [np.frombuffer(values, np.float32).reshape(-1, COLUMNS)]

    return read, lmdb.__version__


def by_tensorflow(path: str) -> Reader:
    import tensorflow as tf

    feature = {"x": tf.io.FixedLenFeature([COLUMNS], tf.float32)}
    records = tf.data.TFRecordDataset(path, buffer_size=1 << 20).batch(4096)
    rows = records.map(lambda batch: tf.io.parse_example(batch, feature)["x"])
    return lambda: list(rows.as_numpy_iterator()), tf.__version__


LIBRARIES = {"pyarrow": by_pyarrow, "h5py": by_h5py, "lmdb": by_lmdb, "tensorflow": by_tensorflow}


def store(task: Task, variant: str) -> Job:
    library, kind = variant.split("/")
    read, version = LIBRARIES[library](str(task.data / "store" / kind))

    def run() -> int:
        read()
        return 1

    return Job(run, {library: version}, unequal(task, np.concatenate(read()), "store/rows.f32"))


if __name__ == "__main__":
    serve({"store": store})
