"""JAX: one jitted function a step, parameters donated."""

import functools

import jax
import jax.numpy as jnp
from batches import batches, reader
from protocol import BATCH, FEATURES, LEARNING_RATE, STEPS, UNITS, Job, Task, constant_batch, serve

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


@functools.partial(jax.jit, donate_argnums=0)
def train(params: Params, features: jax.Array, label: jax.Array) -> tuple[Params, jax.Array]:
    value, gradients = jax.value_and_grad(loss)(params, features, label)
    return [param - LEARNING_RATE * gradient for param, gradient in zip(params, gradients, strict=True)], value


def step(_: Task, __: str) -> Job:
    features, label = map(jnp.asarray, constant_batch())
    params = fresh_params()

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
    serve({"step": step, "training": training, "start": start})
