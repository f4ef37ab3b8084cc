"""JAX: one jitted function a step, parameters donated."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from batches import batches, reader
from protocol import (
    BATCH,
    FEATURES,
    LEARNING_RATE,
    PIXELS,
    STEPS,
    UNITS,
    Job,
    Task,
    constant_batch,
    constant_images,
    serve,
)

VERSIONS = {"jax": jax.__version__, "jaxlib": jax.lib.__version__}
Params = list[jax.Array]


def fresh_params() -> Params:
    first, second = jax.random.split(jax.random.key(1))
    return [
        jax.random.normal(first, (FEATURES, UNITS)) / FEATURES**0.5,
        jnp.zeros(UNITS),
        jax.random.normal(second, (UNITS, 1)) / UNITS**0.5,
        jnp.zeros(1),
    ]


def loss(params: Params, features: jax.Array, label: jax.Array) -> jax.Array:
    weight, bias, head, head_bias = params
    logit = jax.nn.relu(features @ weight + bias) @ head + head_bias
    return jnp.mean(jnp.maximum(logit, 0) - logit * label + jnp.log1p(jnp.exp(-jnp.abs(logit))))


def train_by(loss: Callable[..., jax.Array]) -> Callable[..., tuple[Params, jax.Array]]:
    @functools.partial(jax.jit, donate_argnums=0)
    def train(params: Params, features: jax.Array, label: jax.Array) -> tuple[Params, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(params, features, label)
        return [param - LEARNING_RATE * gradient for param, gradient in zip(params, gradients, strict=True)], value

    return train


train = train_by(loss)


def lenet_params() -> Params:
    shapes = [(20, 1, 5, 5), (50, 20, 5, 5), (800, 500), (500, 10)]
    fans = [25, 500, 800, 500]
    keys = jax.random.split(jax.random.key(1), len(shapes))
    weights = [jax.random.normal(key, shape) / fan**0.5 for key, shape, fan in zip(keys, shapes, fans, strict=True)]
    return weights + [jnp.zeros(count) for count in (20, 50, 500, 10)]


def convolved(images: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """With the largest value of every 2 x 2 pixels."""
    images = jax.lax.conv_general_dilated(images, weight, (1, 1), "VALID") + bias[:, None, None]
    return jax.lax.reduce_window(images, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet_loss(params: Params, pixels: jax.Array, label: jax.Array) -> jax.Array:
    first, second, weight, head, first_bias, second_bias, bias, head_bias = params
    images = convolved(pixels.reshape(-1, 1, PIXELS, PIXELS), first, first_bias)
    rows = convolved(images, second, second_bias).reshape(len(pixels), -1)
    logits = jax.nn.relu(rows @ weight + bias) @ head + head_bias
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1))


def step(_: Task, __: str) -> Job:
    return steps(train, fresh_params(), *map(jnp.asarray, constant_batch()))


def lenet(_: Task, __: str) -> Job:
    return steps(train_by(lenet_loss), lenet_params(), *map(jnp.asarray, constant_images()))


def steps(train: Callable[..., tuple[Params, jax.Array]], params: Params, features: jax.Array, label: jax.Array) -> Job:
    def run() -> int:
        nonlocal params
        for _ in range(STEPS):
            params, value = train(params, features, label)
        value.block_until_ready()
        return STEPS

    run()
    return Job(run, VERSIONS)


def training(task: Task, variant: str) -> Job:
    params = fresh_params()
    rows = batches(task.files, reader(variant))

    # A step runs while the next batch is read: JAX waits for nothing but the last one.
    def run() -> int:
        nonlocal params
        for _ in range(STEPS):
            params, value = train(params, *next(rows))
        value.block_until_ready()
        return STEPS * BATCH

    run()
    return Job(run, VERSIONS)


def start(task: Task, variant: str) -> Job:
    _, value = train(fresh_params(), *next(batches(task.files, reader(variant))))
    value.block_until_ready()
    return Job(lambda: 0, VERSIONS)


if __name__ == "__main__":
    serve({"step": step, "lenet": lenet, "training": training, "start": start})
