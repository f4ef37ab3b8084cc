"""JAX: one jitted function a step, parameters donated. Timed on the wall's clock, from the first call to the end of the
last one: JAX shows nothing of CUDA's streams and events."""

from __future__ import annotations

import functools
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from peer import Job, Task, serve

PRECISIONS = {"fp32": "highest", "tf32": "tensorfloat32"}
Params = list


def mlp_loss(params: Params, features: jax.Array, label: jax.Array) -> jax.Array:
    weight, bias, head, head_bias = params
    prediction = jax.nn.relu(features @ weight.T + bias) @ head.T + head_bias
    return jnp.mean((prediction - label) ** 2)


def convolved(images: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """With the largest value of every 2 x 2 pixels."""
    images = jax.lax.conv_general_dilated(images, weight, (1, 1), "VALID") + bias[:, None, None]
    return jax.lax.reduce_window(images, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet_loss(params: Params, pixels: jax.Array, label: jax.Array) -> jax.Array:
    first, first_bias, second, second_bias, weight, bias, head, head_bias = params
    images = convolved(pixels.reshape(-1, 1, 28, 28), first, first_bias)
    rows = convolved(images, second, second_bias).reshape(len(pixels), -1)
    logits = jax.nn.relu(rows @ weight.T + bias) @ head.T + head_bias
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1))


def make(task: Task) -> Job:
    jax.config.update("jax_platforms", task.device)
    jax.config.update("jax_default_matmul_precision", PRECISIONS[task.precision])
    loss_of = {"mlp": mlp_loss, "lenet": lenet_loss}[task.network]
    features, label = (jnp.asarray(part) for part in task.batch())
    params = [jnp.asarray(value) for value in task.parameters()]

    @functools.partial(jax.jit, donate_argnums=0)
    def train(params: Params, features: jax.Array, label: jax.Array) -> tuple:
        value, gradients = jax.value_and_grad(loss_of)(params, features, label)
        return [param - task.rate * gradient for param, gradient in zip(params, gradients)], value

    losses = []
    for _ in range(task.losses):
        params, value = train(params, features, label)
        losses.append(float(value))

    def repeat() -> float:
        nonlocal params
        begin = time.perf_counter()
        for _ in range(task.steps):
            params, value = train(params, features, label)
        jax.block_until_ready((params, value))
        return 1e6 * (time.perf_counter() - begin) / task.steps

    return Job(losses, repeat, {"jax": jax.__version__})


if __name__ == "__main__":
    serve(make)
