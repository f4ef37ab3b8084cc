"""PyTorch: eager or compiled, SGD fused; a DataLoader reads whole batches, in as many processes as
there are threads or in the training's own."""

import os
from collections.abc import Callable, Iterator

import torch
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
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

VERSIONS = {"torch": torch.__version__}
Train = Callable[[Tensor, Tensor], None]


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, UNITS), nn.ReLU(), nn.Linear(UNITS, 1))


def lenet_model() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, PIXELS, PIXELS)),
        nn.Conv2d(1, 20, 5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )


def make_train(model: nn.Module, loss: nn.Module, compiled: bool) -> Train:
    sgd = torch.optim.SGD(model.parameters(), LEARNING_RATE, fused=True)

    def forward(features: Tensor, label: Tensor) -> Tensor:
        return loss(model(features), label)

    if compiled:
        forward = torch.compile(forward)

    def train(features: Tensor, label: Tensor) -> None:
        sgd.zero_grad(set_to_none=True)
        forward(features, label).backward()
        sgd.step()

    return train


class Rows(IterableDataset):
    """Batches of this process's share of the files."""

    def __init__(self, files: list[str], read: str) -> None:
        self.files = files
        self.read = read

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        info = get_worker_info()
        share = self.files[info.id :: info.num_workers] if info else self.files
        for features, label in batches(share, reader(self.read), seed=info.id if info else 0):
            yield torch.from_numpy(features), torch.from_numpy(label)


def step(task: Task, variant: str) -> Job:
    torch.set_num_threads(task.threads)
    train = make_train(perceptron(), nn.BCEWithLogitsLoss(), variant == "compile")
    return steps(train, *map(torch.from_numpy, constant_batch()))


def lenet(task: Task, variant: str) -> Job:
    torch.set_num_threads(task.threads)
    model = lenet_model()
    if "channels_last" in variant:
        model = model.to(memory_format=torch.channels_last)
    train = make_train(model, nn.CrossEntropyLoss(), "compile" in variant)
    return steps(train, *map(torch.from_numpy, constant_images()))


def steps(train: Train, features: Tensor, label: Tensor) -> Job:
    def run() -> int:
        for _ in range(STEPS):
            train(features, label)
        return STEPS

    run()
    return Job(run, VERSIONS)


def training(task: Task, variant: str) -> Job:
    torch.set_num_threads(task.threads)
    train = make_train(perceptron(), nn.BCEWithLogitsLoss(), False)
    rows = Rows(task.files, variant.removeprefix("inline_"))
    if variant.startswith("inline_"):
        loader = DataLoader(rows, batch_size=None)
    else:
        os.environ["POLARS_MAX_THREADS"] = "1"  # inherited: the processes are as many as the threads already
        loader = DataLoader(rows, batch_size=None, num_workers=task.threads, multiprocessing_context="spawn")
    batch = iter(loader)

    def run() -> int:
        for _ in range(STEPS):
            train(*next(batch))
        return STEPS * BATCH

    run()
    return Job(run, VERSIONS)


def start(task: Task, variant: str) -> Job:
    torch.set_num_threads(task.threads)
    features, label = next(batches(task.files, reader(variant)))
    train = make_train(perceptron(), nn.BCEWithLogitsLoss(), False)
    train(torch.from_numpy(features), torch.from_numpy(label))
    return Job(lambda: 0, VERSIONS)


if __name__ == "__main__":
    serve({"step": step, "lenet": lenet, "training": training, "start": start})
