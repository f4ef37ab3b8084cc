"""PyTorch: eager, torch.compile in two modes, and a CUDA graph captured by hand. SGD is fused."""

from __future__ import annotations

import time
from typing import Callable

import torch
from peer import Job, Task, serve
from torch import Tensor, nn

WARM_UP = 3  # on a stream of its own, as capturing wants it
COMPILE_MODES = {"compile": "default", "compile_max": "max-autotune"}


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1))


def lenet() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 20, 5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )


def set_precision(precision: str) -> None:
    tf32 = precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True  # the fastest engine for these shapes, tried out before anything is timed


class Training:
    """A network with the initial weights of the task, and its step."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.features, self.label = (torch.from_numpy(part).to(task.device) for part in task.batch())
        self.model = {"mlp": perceptron, "lenet": lenet}[task.network]().to(task.device)
        with torch.no_grad():
            for parameter, value in zip(self.model.parameters(), task.parameters()):
                parameter.copy_(torch.from_numpy(value))
        self.loss_of = {"mlp": nn.MSELoss, "lenet": nn.CrossEntropyLoss}[task.network]()
        self.sgd = torch.optim.SGD(self.model.parameters(), task.rate, fused=True)
        self.forward: Callable[[], Tensor] = lambda: self.loss_of(self.model(self.features), self.label)

    def step(self) -> Tensor:
        self.sgd.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        self.sgd.step()
        return loss

    def restart(self) -> None:
        """The initial weights again, in the same memory."""
        with torch.no_grad():
            for parameter, value in zip(self.model.parameters(), self.task.parameters()):
                parameter.copy_(torch.from_numpy(value))


def captured(training: Training) -> Callable[[], Tensor]:
    """The step as a CUDA graph; without a GPU the step itself, so that this can be rehearsed."""
    if training.task.device == "cpu":
        return training.step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            training.step()
    torch.cuda.current_stream().wait_stream(stream)
    # Gradients are made in the graph's own memory, as nothing holds them before it.
    training.sgd.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = training.step()
    training.restart()

    def replay() -> Tensor:
        graph.replay()
        return loss

    return replay


def make_step(training: Training) -> Callable[[], Tensor]:
    mode = training.task.mode
    if mode == "graph":
        return captured(training)
    if mode in COMPILE_MODES:
        training.forward = torch.compile(training.forward, mode=COMPILE_MODES[mode])
    return training.step


def timer(task: Task, step: Callable[[], Tensor]) -> Callable[[], float]:
    def on_gpu() -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(task.steps):
            step()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end) / task.steps

    def on_cpu() -> float:
        begin = time.perf_counter()
        for _ in range(task.steps):
            step()
        return 1e6 * (time.perf_counter() - begin) / task.steps

    return on_cpu if task.device == "cpu" else on_gpu


def make(task: Task) -> Job:
    set_precision(task.precision)
    training = Training(task)
    step = make_step(training)
    losses = [step().item() for _ in range(task.losses)]
    return Job(losses, timer(task, step), {"torch": torch.__version__})


if __name__ == "__main__":
    serve(make)
