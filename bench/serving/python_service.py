"""What one would write in Python: rows of JSON, answered by onnxruntime, on uvicorn with its fast parts.

The environment says which model and which columns: MODEL, FEATURES."""

from __future__ import annotations

import os

import numpy
import onnxruntime
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

NAMES = [f"x{i}" for i in range(int(os.environ["FEATURES"]))]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])


async def predict(request: Request) -> Response:
    rows = orjson.loads(await request.body())
    values = numpy.array([[row[name] for name in NAMES] for row in rows], dtype=numpy.float32)
    answers = session.run(None, {"x": values})[0]
    out = [{"row": i, "class": int(p > 0.5), "probability": float(p)} for i, p in enumerate(answers[:, 0])]
    return Response(orjson.dumps(out), media_type="application/json")


app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
