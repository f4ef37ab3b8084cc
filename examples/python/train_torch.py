"""Trains a model of PyTorch on the batches of a configuration, and goes on where it was.

Usage: train_torch.py [CONFIG]
"""

import pathlib
import sys

import millrace
import torch
from torch import nn

CHECKPOINT = pathlib.Path("torch.pt")

torch.manual_seed(1)
data = millrace.Input(
    sys.argv[1] if len(sys.argv) > 1 else "digits.yaml", fields=["features", "label"], convert=torch.from_dlpack
)
model = nn.Sequential(nn.Linear(data.fields[0].width, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
loss_of = nn.CrossEntropyLoss()
steps = 0

if CHECKPOINT.exists():
    saved = torch.load(CHECKPOINT)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    data.restore(saved["input"])  # the next batch is the one that would have come
    steps = saved["steps"]

right = rows = 0
for features, label in data:
    outputs = model(features)
    loss = loss_of(outputs, label[:, 0].long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    steps += 1
    right += int((outputs.argmax(dim=1) == label[:, 0]).sum())
    rows += len(label)
    if steps % 100 == 0:
        print(f"step {steps}, epoch {data.epoch}: accuracy {right / rows:.3f} of the last {rows} rows")
        right = rows = 0
        saved = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "input": data.state(),
            "steps": steps,
        }
        torch.save(saved, CHECKPOINT)
