"""PyTorch: eager or compiled, SGD fused; a DataLoader reads whole batches, in as many processes as
there are threads or in the training's own."""

import os
from collections.abc import Callable, Iterator

import torch
from batches import batches, reader
from protocol import BATCH, FEATURES, LEARNING_RATE, STEPS, UNITS, Job, Task, constant_batch, serve
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

VERSIONS = {"torch": torch.__version__}
Train = Callable[[Tensor, Tensor], None]


def make_train(compiled: bool) -> Train:
    model = nn.Sequential(nn.Linear(FEATURES, UNITS), nn.ReLU(), nn.Linear(UNITS, 1))
    sgd = torch.optim.SGD(model.parameters(), LEARNING_RATE, fused=True)
    loss = nn.BCEWithLogitsLoss()

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
    train = make_train(variant == "compile")
    features, label = map(torch.from_numpy, constant_batch())

    def run() -> int:
        for _ in range(STEPS):
            train(features, label)
        return STEPS

    run()
    return Job(run, VERSIONS)


def training(task: Task, variant: str) -> Job:
    torch.set_num_threads(task.threads)
    train = make_train(False)
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
    make_train(False)(torch.from_numpy(features), torch.from_numpy(label))
    return Job(lambda: 0, VERSIONS)


if __name__ == "__main__":
    serve({"step": step, "training": training, "start": start})
