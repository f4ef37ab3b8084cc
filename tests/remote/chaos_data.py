"""Small data of several formats, each in versions that differ in one file, and trainings on them."""

from __future__ import annotations

import array
import random
import struct
import zlib
from pathlib import Path
from typing import Any

OTHERS = 3  # other versions of the data
KINDS = ("quoted", "bgzf", "npy", "bad", "gzip", "skipped", "judged")
# What a training says at its end that must be the same with any workers.
EQUAL = ("reason", "steps", "rows", "epochs", "last_batch", "loss", "metrics", "dropped", "bad", "weights")


def numbers(draw: random.Random) -> tuple[list[float], int]:
    values = [draw.gauss(0, 1) for _ in range(8)]
    return values, int(sum(values) > 0)


def csv_text(draw: random.Random, rows: int, bad: bool = False) -> bytes:
    """Records with a text of several lines, quotes and delimiters."""
    lines = ["note,a,b,c,d,e,f,g,h,label\n"]
    for row in range(rows):
        values, label = numbers(draw)
        texts = ["%.5f" % value for value in values]
        if bad and draw.random() < 0.02:
            texts[draw.randrange(8)] = draw.choice(["bad", "1.2.3", "4 5"])
        lines.append('"row ""%d"",\n%s","%s",%d\n' % (row, "x" * draw.randrange(30), '","'.join(texts), label)
                     if draw.random() < 0.5 else "plain %d,%s,%d\n" % (row, ",".join(texts), label))
    return "".join(lines).encode()


def bgzf(text: bytes) -> bytes:
    """Gzip members that tell their lengths, and the empty one at the end."""
    out = bytearray()
    for at in [*range(0, len(text), 8000), len(text)]:
        part = text[at:at + 8000]
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = packer.compress(part) + packer.flush()
        out += struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25)
        out += body + struct.pack("<II", zlib.crc32(part), len(part))
    return bytes(out)


def npy(values: array.array[float], shape: tuple[int, ...], kind: str) -> bytes:
    header = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values.tobytes()


def write_data(folder: Path, other: int | None = None) -> None:
    """The files of all kinds; in another version, the middle one of each kind differs."""
    folder.mkdir(parents=True)
    for number in range(3):
        draw = random.Random(number)
        rows = 1500 + 100 * number
        text = csv_text(draw, rows)
        bad = csv_text(draw, rows, bad=True)
        images, labels = array.array("f"), array.array("f")
        for _ in range(rows):
            values, label = numbers(draw)
            images.extend(values + values)
            labels.append(label)
        if other is not None and number == 1:
            # One row more; another first row; another last row of the same length.
            if other == 0:
                text += b"more,1,2,3,4,5,6,7,8,1\n"
                bad += b"more,1,2,3,4,5,6,7,8,1\n"
                images.extend([1.0] * 16)
                labels.append(1)
            else:
                text, bad = (turned(one, first=other == 1) for one in (text, bad))
                at = 0 if other == 1 else len(images) - 1
                images[at] += 1
        (folder / f"quoted-{number}.csv").write_bytes(text)
        (folder / f"blocks-{number}.csv.gz").write_bytes(bgzf(text))
        (folder / f"plain-{number}.csv.gz").write_bytes(zlib.compress(text, 6, 31))
        (folder / f"bad-{number}.csv").write_bytes(bad)
        (folder / f"images-{number}.npy").write_bytes(npy(images, (len(images) // 16, 1, 4, 4), "<f4"))
        (folder / f"labels-{number}.npy").write_bytes(npy(labels, (len(labels),), "<f4"))


def turned(text: bytes, first: bool) -> bytes:
    """With another label in the first or the last row."""
    at = text.index(b"\n", text.index(b"\n", 30) + 200) - 1 if first else len(text) - 2
    while text[at:at + 2] not in (b"0\n", b"1\n"):
        at += 1
    return text[:at] + (b"1" if text[at:at + 1] == b"0" else b"0") + text[at + 1:]


def configuration(kind: str) -> dict[str, Any]:
    """The training of one kind of data, without workers. Small chunks make many requests."""
    fields = {"features": {"columns": list("abcdefgh")},
              "label": {"columns": "label"}}
    batch = {"shuffle_batch": {"batch_size": 32, "min_after_dequeue": 300, "threads": 4}}
    if kind in ("npy", "judged"):
        rows = [{"npy_reader": {"fields": {"features": "images-*.npy", "label": "labels-*.npy"}, "epochs": 30,
                                "chunk_bytes": 1024}},
                {"hold_out": {"share": 0.2}},
                {"augment": {"fields": "features", "shift": 1, "flip": "horizontal", "noise": 0.1}}]
    else:
        files = {"quoted": "quoted-*.csv", "bgzf": "blocks-*.csv.gz", "gzip": "plain-*.csv.gz", "bad": "bad-*.csv",
                 "skipped": "bad-*.csv"}
        rows = [{"filename_queue": {"files": files[kind], "epochs": 30}},
                {"csv_reader": {"header": True, "chunk_bytes": 2048, "readers": 2}},
                {"decode_csv": {"fields": fields}}]
        if kind in ("bad", "skipped"):
            rows[-1]["decode_csv"]["on_bad_row"] = "skip"
    out = {"seed": 7, "device": "cpu", "threads": 2, "input": [*rows, batch],
           "model": [*(["flatten"] if kind in ("npy", "judged") else []),
                     {"dense": {"units": 32, "activation": "relu"}},
                     {"dense": {"units": 1}}],
           "loss": "sigmoid_cross_entropy", "metrics": ["accuracy"], "optimizer": {"adam": {"learning_rate": 0.003}},
           "train": {"log_every": 100, "report_over": "window"}}
    if kind == "judged":
        out["validation"] = {"held_out": True, "every": 500}
    return out


def judged(events: list[dict[str, Any]]) -> dict[int, Any]:
    """What validations found, by step."""
    return {one["step"]: (one["rows"], one["loss"], one["metrics"]) for one in events if one["event"] == "validation"}
