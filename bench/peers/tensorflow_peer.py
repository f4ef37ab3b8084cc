"""TensorFlow: the graphs and queues of its first version (compat.v1), tf.function and tf.data."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
from batches import batches, reader
from protocol import (
    BATCH,
    FEATURES,
    LEARNING_RATE,
    PIXELS,
    POOL,
    STEPS,
    UNITS,
    Job,
    Task,
    constant_batch,
    constant_images,
    serve,
    unequal,
)

VERSIONS = {"tensorflow": tf.__version__}
DEFAULTS = [[0.0]] * (FEATURES + 1)
Parse = Callable[[tf.Tensor], tf.Tensor]
v1 = tf.compat.v1


def set_threads(task: Task) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(task.threads)
    tf.config.threading.set_inter_op_parallelism_threads(task.threads)


def by_decode_csv(lines: tf.Tensor) -> tf.Tensor:
    return tf.stack(tf.io.decode_csv(lines, DEFAULTS), axis=-1)


def by_split(lines: tf.Tensor) -> tf.Tensor:
    return tf.reshape(tf.strings.to_number(tf.strings.split(lines, ",").flat_values), [-1, FEATURES + 1])


PARSE = {"decode_csv": by_decode_csv, "split": by_split}


def parsed(lines: tf.data.Dataset, parse: Parse, threads: int, ordered: bool = False) -> tf.data.Dataset:
    return lines.map(parse, num_parallel_calls=threads, deterministic=ordered).prefetch(threads)


def decode(task: Task, variant: str) -> Job:
    set_threads(task)
    lines = tf.data.TextLineDataset(task.file, buffer_size=1 << 20).batch(BATCH)
    rows = parsed(lines, PARSE[variant], task.threads)
    in_order = parsed(lines, PARSE[variant], task.threads, ordered=True)

    @tf.function
    def count() -> tf.Tensor:
        return rows.reduce(0, lambda so_far, batch: so_far + tf.shape(batch)[0])

    def run() -> int:
        count().numpy()
        return task.file_bytes

    run()
    return Job(run, VERSIONS, unequal(task, tf.concat(list(in_order), axis=0).numpy()))


def weights() -> list[tf.Variable]:
    def normal(shape: list[int]) -> tf.Variable:
        return tf.Variable(tf.random.stateless_normal(shape, [1, 2], stddev=shape[0] ** -0.5))

    return [normal([FEATURES, UNITS]), tf.Variable(tf.zeros(UNITS)), normal([UNITS, 1]), tf.Variable(tf.zeros(1))]


def mean_loss(params: list[tf.Variable], features: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    weight, bias, head, head_bias = params
    logit = tf.matmul(tf.nn.relu(tf.matmul(features, weight) + bias), head) + head_bias
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logit, labels=label))


LENET = ((5, 5, 1, 20), (5, 5, 20, 50), (800, 500), (500, 10), (20,), (50,), (500,), (10,))


def lenet_weights() -> list[tf.Variable]:
    return [tf.Variable(tf.random.stateless_normal(shape, [1, 2], stddev=0.05)) for shape in LENET]


def convolved(images: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """With the largest value of every 2 x 2 pixels."""
    return tf.nn.max_pool2d(tf.nn.bias_add(tf.nn.conv2d(images, weight, 1, "VALID"), bias), 2, 2, "VALID")


def lenet_loss(params: list[tf.Variable], pixels: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    first, second, weight, head, first_bias, second_bias, bias, head_bias = params
    images = convolved(tf.reshape(pixels, [-1, PIXELS, PIXELS, 1]), first, first_bias)
    rows = tf.reshape(convolved(images, second, second_bias), [-1, 800])
    logits = tf.matmul(tf.nn.relu(tf.matmul(rows, weight) + bias), head) + head_bias
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))


def graph_train(features: tf.Tensor, label: tf.Tensor) -> tf.Operation:
    """The operation of a step, in the graph that is being built."""
    weight = v1.get_variable("weight", [FEATURES, UNITS])
    bias = v1.get_variable("bias", [UNITS], initializer=v1.zeros_initializer())
    head = v1.get_variable("head", [UNITS, 1])
    head_bias = v1.get_variable("head_bias", [1], initializer=v1.zeros_initializer())
    loss = mean_loss([weight, bias, head, head_bias], features, label)
    return v1.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)


def graph_session(task: Task) -> v1.Session:
    session = v1.Session(
        config=v1.ConfigProto(intra_op_parallelism_threads=task.threads, inter_op_parallelism_threads=task.threads)
    )
    session.run(v1.global_variables_initializer())
    return session


def graph_lenet(pixels: tf.Tensor, label: tf.Tensor) -> tf.Operation:
    normal = v1.random_normal_initializer(stddev=0.05)
    params = [v1.get_variable(f"lenet_{i}", shape, initializer=normal) for i, shape in enumerate(LENET)]
    return v1.train.GradientDescentOptimizer(LEARNING_RATE).minimize(lenet_loss(params, pixels, label))


def graph_steps(task: Task, make: Callable[..., tf.Operation], batch: tuple[np.ndarray, np.ndarray]) -> Job:
    with tf.Graph().as_default():
        train = make(*map(tf.constant, batch))
        call = graph_session(task).make_callable(train)

    def run() -> int:
        for _ in range(STEPS):
            call()
        return STEPS

    run()
    return Job(run, VERSIONS)


def make_train(
    params: list[tf.Variable], loss_of: Callable[..., tf.Tensor], xla: bool
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    @tf.function(jit_compile=xla)
    def train(features: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(params, features, label)
        for param, gradient in zip(params, tape.gradient(loss, params), strict=True):
            param.assign_sub(LEARNING_RATE * gradient)
        return loss

    return train


def step(task: Task, variant: str) -> Job:
    if variant == "graph":
        return graph_steps(task, graph_train, constant_batch())
    set_threads(task)
    return steps(make_train(weights(), mean_loss, variant == "xla"), constant_batch())


def lenet(task: Task, variant: str) -> Job:
    if variant == "graph":
        return graph_steps(task, graph_lenet, constant_images())
    set_threads(task)
    return steps(make_train(lenet_weights(), lenet_loss, variant == "xla"), constant_images())


def steps(train: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], batch: tuple[np.ndarray, np.ndarray]) -> Job:
    features, label = map(tf.constant, batch)

    def run() -> int:
        for _ in range(STEPS):
            loss = train(features, label)
        loss.numpy()
        return STEPS

    run()
    return Job(run, VERSIONS)


def queue_training(task: Task) -> Job:
    with tf.Graph().as_default():
        names = v1.train.string_input_producer(task.files, shuffle=True)
        _, line = v1.TextLineReader().read(names)
        row = tf.stack(tf.io.decode_csv(line, DEFAULTS))
        rows = v1.train.shuffle_batch(
            [row], BATCH, capacity=1024, min_after_dequeue=POOL - BATCH, num_threads=task.threads
        )
        train = graph_train(rows[:, :FEATURES], rows[:, FEATURES:])
        session = graph_session(task)
        v1.train.start_queue_runners(session)
        call = session.make_callable(train)

    # Steps are slow here: a look at the clock for each.
    def run() -> int:
        call()
        return BATCH

    run()
    return Job(run, VERSIONS)


def feed_training(task: Task, read: str) -> Job:
    with tf.Graph().as_default():
        features = v1.placeholder(tf.float32, [BATCH, FEATURES])
        label = v1.placeholder(tf.float32, [BATCH, 1])
        train = graph_train(features, label)
        call = graph_session(task).make_callable(train, [features, label])
    rows = batches(task.files, reader(read))

    def run() -> int:
        for _ in range(STEPS):
            call(*next(rows))
        return STEPS * BATCH

    run()
    return Job(run, VERSIONS)


def shuffled_lines(task: Task) -> tf.data.Dataset:
    names = tf.data.Dataset.from_tensor_slices(task.files).shuffle(len(task.files)).repeat()
    return names.interleave(
        lambda name: tf.data.TextLineDataset(name, buffer_size=1 << 20), cycle_length=task.threads
    ).shuffle(POOL)


def shuffled_rows(task: Task, variant: str) -> tf.data.Dataset:
    lines = shuffled_lines(task)
    if variant == "by_line":
        return parsed(lines, by_decode_csv, task.threads).batch(BATCH).prefetch(2)
    return parsed(lines.batch(BATCH), PARSE[variant], task.threads)


def training(task: Task, variant: str) -> Job:
    if variant == "queues":
        return queue_training(task)
    if variant.startswith("feed_"):
        return feed_training(task, variant.removeprefix("feed_"))
    set_threads(task)
    train = make_train(weights(), mean_loss, False)
    rows = iter(shuffled_rows(task, variant))

    @tf.function
    def steps(count: tf.Tensor) -> None:
        for _ in tf.range(count):
            batch = next(rows)
            train(batch[:, :FEATURES], batch[:, FEATURES:])

    count = 1 if variant == "by_line" else STEPS

    def run() -> int:
        steps(tf.constant(count))
        return count * BATCH

    run()
    return Job(run, VERSIONS)


def start(task: Task, variant: str) -> Job:
    set_threads(task)
    batch = next(iter(shuffled_rows(task, variant)))
    make_train(weights(), mean_loss, False)(batch[:, :FEATURES], batch[:, FEATURES:]).numpy()
    return Job(lambda: 0, VERSIONS)


if __name__ == "__main__":
    serve({"decode": decode, "step": step, "lenet": lenet, "training": training, "start": start})
