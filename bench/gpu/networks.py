"""The networks whose steps are timed, and what of their configurations the peers must know. `tiny` is for a GPU that is
emulated, which has no peers."""

from __future__ import annotations

# Additions and multiplications of a step, gradients included, but that of the input.
NETWORKS = {
    "mlp": {
        "title": "1024 -> 1024 ReLU -> 1, mean squared error, batch of 256",
        "config": "bench/gpu/mlp.yaml",
        "settings": (),
        "tiny": ("input.synthetic.features=24", "model[0].units=16", "input.batch.batch_size=8"),
        "flop": 2 * 256 * (2 * 1024 * 1024 + 3 * 1024),
    },
    "lenet": {
        "title": "LeNet of bench/peers/lenet.yaml, batch of 64",
        "config": "bench/peers/lenet.yaml",
        "settings": ("input.synthetic.constant=false",),
        "tiny": ("input.batch.batch_size=2",),
        "flop": 2 * 64 * (2 * 288_000 + 3 * (1_600_000 + 400_000 + 5_000)),
    },
}
PARAMETERS = {
    "mlp": {
        "dense.weight": (1024, 1024),
        "dense.bias": (1024,),
        "dense_2.weight": (1, 1024),
        "dense_2.bias": (1,),
    },
    "lenet": {
        "conv2d.weight": (20, 1, 5, 5),
        "conv2d.bias": (20,),
        "conv2d_2.weight": (50, 20, 5, 5),
        "conv2d_2.bias": (50,),
        "dense.weight": (500, 800),
        "dense.bias": (500,),
        "dense_2.weight": (10, 500),
        "dense_2.bias": (10,),
    },
}
FEATURES = {"mlp": 1024, "lenet": 784}
LEARNING_RATES = {"mlp": 0.001, "lenet": 0.01}  # of mlp.yaml, and bench/peers/lenet.yaml
