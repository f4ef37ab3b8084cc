"""Who takes part in which work."""

from dataclasses import dataclass

OURS = "Millrace"


@dataclass(frozen=True)
class Contender:
    name: str
    peer: str  # peer_peer.py of this folder, or OURS
    variant: str = ""
    how: str = ""  # what is compared, where the name does not say it
    mkl: bool = False  # MKL's check for an Intel processor is answered with yes


@dataclass(frozen=True)
class Work:
    title: str
    unit: str
    note: str
    contenders: tuple[Contender, ...]  # the first is the one that the others, and the noise, are measured against
    one_thread: bool = False
    scale: float = 1  # of amount / seconds, or of what `lower` says
    lower: bool = False  # less is better: milliseconds for an amount of 1
    wanted: float | None = None  # ours is to be so many times as fast as each of the others

    def value(self, amount: float, seconds: float) -> float:
        return self.scale * (1e3 * seconds / amount if self.lower else amount / seconds)


DECODE = (
    Contender(OURS, OURS, "whole", "the input graph, the file as one block of float32 rows in fresh memory"),
    Contender(f"{OURS}, batches of 256", OURS, "batches", "the input graph, batches in the same memory"),
    Contender("polars", "polars", how="read_csv, schema Float32; its columns"),
    Contender("pyarrow", "arrow", how="csv.read_csv, column_types float32, blocks of 4 MiB; its columns"),
    Contender("pandas", "pandas", "default", "C engine, dtype float32"),
    Contender("pandas, round_trip", "pandas", "round_trip", "C engine, dtype float32, float_precision='round_trip'"),
    Contender("numpy", "numpy", how="loadtxt, dtype float32"),
    Contender(
        "tf.data, split", "tensorflow", "split", "TextLineDataset, batches of 256 lines, strings.split, to_number"
    ),
    Contender(
        "tf.data, decode_csv", "tensorflow", "decode_csv", "TextLineDataset, batches of 256 lines, io.decode_csv"
    ),
)
STEP = (
    Contender(OURS, OURS),
    Contender("TensorFlow, graph", "tensorflow", "graph", "compat.v1, a session's callable"),
    Contender("TensorFlow, tf.function", "tensorflow", "function"),
    Contender("TensorFlow, XLA", "tensorflow", "xla", "tf.function(jit_compile=True)"),
    Contender("PyTorch, eager", "torch", "eager", "fused SGD"),
    Contender("PyTorch, torch.compile", "torch", "compile", "fused SGD"),
    Contender("PyTorch, eager, MKL as on Intel", "torch", "eager", mkl=True),
    Contender("PyTorch, torch.compile, MKL as on Intel", "torch", "compile", mkl=True),
    Contender("JAX, jit", "jax", how="parameters donated"),
)
LENET = (
    Contender(OURS, OURS, how="trainer --config bench/peers/lenet.yaml"),
    Contender("TensorFlow, graph", "tensorflow", "graph", "compat.v1, a session's callable"),
    Contender("TensorFlow, tf.function", "tensorflow", "function"),
    Contender("TensorFlow, XLA", "tensorflow", "xla", "tf.function(jit_compile=True)"),
    Contender("PyTorch, eager", "torch", "eager", "fused SGD"),
    Contender("PyTorch, eager, channels last", "torch", "eager_channels_last", "fused SGD"),
    Contender("PyTorch, torch.compile", "torch", "compile", "fused SGD"),
    Contender("PyTorch, eager, MKL as on Intel", "torch", "eager", mkl=True),
    Contender("PyTorch, eager, channels last, MKL as on Intel", "torch", "eager_channels_last", mkl=True),
    Contender("PyTorch, torch.compile, MKL as on Intel", "torch", "compile", mkl=True),
    Contender("JAX, jit", "jax", how="parameters donated"),
)
TRAINING = (
    Contender(OURS, OURS, "native"),
    Contender(f"{OURS}, delivery: feed", OURS, "feed", "the training thread alone makes the batches"),
    Contender(
        "TensorFlow, queues", "tensorflow", "queues", "compat.v1: filename queue, reader, decode_csv, shuffle_batch"
    ),
    Contender("TensorFlow, feed_dict", "tensorflow", "feed_polars", "compat.v1, operations built once, read by polars"),
    Contender("tf.data, decode_csv by line", "tensorflow", "by_line", "parallel map, tf.function"),
    Contender("tf.data, decode_csv", "tensorflow", "decode_csv", "batches of lines, parallel map, tf.function"),
    Contender(
        "tf.data, split", "tensorflow", "split", "batches of lines, strings.split, to_number, parallel map, tf.function"
    ),
    Contender("PyTorch, DataLoader, pandas", "torch", "pandas", "a process a thread"),
    Contender("PyTorch, DataLoader, polars", "torch", "polars", "a process a thread, each with one thread of polars"),
    Contender(
        "PyTorch, DataLoader, polars, MKL as on Intel",
        "torch",
        "polars",
        "a process a thread, each with one thread of polars",
        mkl=True,
    ),
    Contender(
        "PyTorch, in one process, MKL as on Intel",
        "torch",
        "inline_polars",
        "polars in the process that trains",
        mkl=True,
    ),
    Contender("JAX, pandas", "jax", "pandas"),
    Contender("JAX, polars", "jax", "polars"),
)
START = (
    Contender(OURS, OURS, how="trainer --config bench/peers/training.yaml"),
    Contender("TensorFlow", "tensorflow", "split", "tf.data, tf.function"),
    Contender("PyTorch", "torch", "pandas", "eager"),
    Contender("JAX", "jax", "pandas", "jit"),
)

DECODED = (
    "A file of 4,000 rows of 1,024 features and a label, the shortest text of float32, in the page cache, becomes"
    " float32 in memory; a tool that has columns may stop at its columns. *Other bits*: of 4.1 million numbers, those"
    " that differ from strtof's."
)
STORED = (
    "A file of 400,000 rows of 20 numbers, in the page cache, becomes float32 rows, in memory that is used again. A"
    " third of the columns is random, a third rounded to two decimals, a third mostly zeros. *Other bits*: of 8 million"
    " numbers, those that differ from what was written."
)


def store(title: str, kind: str, library: str, how: str, wanted: float | None = None) -> Work:
    contenders = (
        Contender(OURS, OURS, kind, "the input graph, batches of 256"),
        Contender(library, "store", f"{library}/{kind}", how),
    )
    title = f"{title} to float32 rows, one core"
    note = f"{STORED} Wanted: {wanted}x." if wanted else STORED
    return Work(title, "ms", note, contenders, one_thread=True, lower=True, wanted=wanted)


def row(features: int, units: int, wanted: float | None = None) -> Work:
    layers = f"{features}/{units}"
    contenders = (
        Contender(OURS, OURS, layers, "Network::predict() of C++"),
        Contender("onnxruntime, bound", "onnx", f"{layers}/bound", "run_with_iobinding() of Python, arrays bound once"),
        Contender("onnxruntime", "onnx", f"{layers}/run", "run() of Python"),
    )
    note = f"The network {features} -> {units} (relu) -> 1 predicts rows one by one."
    note = f"{note} Wanted: {wanted}x." if wanted else note
    return Work(f"A row through {features} -> {units} -> 1, one core", "us", note, contenders, one_thread=True, scale=1e3, lower=True, wanted=wanted)


ARROW = "ParquetFile.read, its columns copied into an array of rows, by blocks of rows"
WORKS = {
    "decode-1": Work("CSV text to float32, one core", "GB/s", DECODED, DECODE, one_thread=True, scale=1e-9),
    "decode": Work("CSV text to float32, all cores", "GB/s", DECODED, DECODE, scale=1e-9),
    "store-parquet-snappy": store("Parquet, snappy,", "parquet-snappy", "pyarrow", ARROW, wanted=1.5),
    "store-parquet-zstd": store("Parquet, zstd,", "parquet-zstd", "pyarrow", ARROW, wanted=1.5),
    "store-parquet-none": store("Parquet, uncompressed,", "parquet-none", "pyarrow", ARROW, wanted=1.5),
    "store-hdf5": store("HDF5, gzip,", "hdf5", "h5py", "read_direct into an array of all rows"),
    "store-lmdb": store("LMDB", "lmdb", "lmdb", "the values of a cursor, one after another in a bytearray"),
    "store-tfrecord": store("TFRecord", "tfrecord", "tensorflow", "tf.data, io.parse_example of batches of 4,096"),
    "step": Work(
        "A training step",
        "ms",
        "The network 1024 -> 1024 (relu) -> 1, sigmoid cross entropy, SGD, on a constant batch of 256 rows.",
        STEP,
        lower=True,
    ),
    "lenet": Work(
        "A step of LeNet",
        "ms",
        "conv 20 of 5 x 5, max-pool 2, conv 50 of 5 x 5, max-pool 2, dense 500 (relu), dense 10, softmax cross entropy,"
        " SGD, on a constant batch of 64 images of 28 x 28.",
        LENET,
        lower=True,
    ),
    "row-32": row(32, 64),
    "row-256": row(256, 256),
    "row-1024": row(1024, 1024, wanted=1),
    "training": Work(
        "Training from CSV files",
        "rows/s",
        "The same network fed from 20 files of 300 rows in the page cache, shuffled, batches of 256.",
        TRAINING,
    ),
    "start": Work(
        "From start to the first step",
        "s",
        "Seconds from the start of the process to the end of the first step of that training, imports, reading and"
        " compiling included, and the most memory until then.",
        START,
        lower=True,
    ),
}
