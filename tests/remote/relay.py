"""A process between trainers and their workers that disturbs connections. Each route is a port that leads to another
one on this machine.

Usage: relay.py FROM:TO...
Prints `ready`, then reads commands, a line each, until its input ends. ROUTE is a number from 0.
  ROUTE delay PAUSE SECONDS    for SECONDS, bytes arrive PAUSE seconds later
  ROUTE stall WAY SECONDS      for SECONDS, nothing arrives; WAY is `in` (towards the worker), `out` or `both`
  ROUTE cut                    closes all connections, wherever they are in a message
  ROUTE reset                  the same with a TCP reset
  ROUTE refuse SECONDS         for SECONDS, resets every connection that is made
  ROUTE clear                  ends what the commands above began
At the end it prints a line for each route: connections, bytes in, bytes out."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time

WAYS = ("in", "out")
READ_BYTES, QUEUE_READS = 65536, 16


def reset(writer: asyncio.StreamWriter) -> None:
    """Closes with a reset, and drops what was not sent."""
    try:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass  # it is closed already
    writer.transport.abort()


def cut(writer: asyncio.StreamWriter) -> None:
    try:
        writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Route:
    def __init__(self, listens: int, leads_to: int) -> None:
        self.listens, self.leads_to = listens, leads_to
        self.pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self.connections = 0
        self.bytes = dict.fromkeys(WAYS, 0)
        self.clear()

    def clear(self) -> None:
        self.pause = self.slow_until = self.refuses_until = 0.0
        self.stalls_until = dict.fromkeys(WAYS, 0.0)

    def command(self, what: str, words: list[str]) -> None:
        now = time.monotonic()
        if what == "delay":
            self.pause, self.slow_until = float(words[0]), now + float(words[1])
        elif what == "stall":
            for way in WAYS if words[0] == "both" else words[:1]:
                self.stalls_until[way] = now + float(words[1])
        elif what == "refuse":
            self.refuses_until = now + float(words[0])
        elif what == "clear":
            self.clear()
        else:
            for writer in [writer for pair in self.pairs for writer in pair]:
                {"cut": cut, "reset": reset}[what](writer)

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if time.monotonic() < self.refuses_until:
            return reset(writer)
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.leads_to)
        except OSError:  # no worker
            return reset(writer)
        pair = (writer, there_writer)
        self.pairs.add(pair)
        self.connections += 1
        ways = [asyncio.create_task(self.carry("in", reader, there_writer)),
                asyncio.create_task(self.carry("out", there_reader, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        self.pairs.discard(pair)
        for end in pair:
            end.transport.abort()

    async def carry(self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until either end is closed."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUE_READS)

        async def read() -> None:
            try:
                while got := await reader.read(READ_BYTES):
                    now = time.monotonic()
                    await held.put((now + (self.pause if now < self.slow_until else 0), got))
            except OSError:
                pass  # as if it had ended
            await held.put((0, b""))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, got = await held.get()
                while (wait := max(due, self.stalls_until[way]) - time.monotonic()) > 0:
                    await asyncio.sleep(min(wait, 0.05))
                if not got or writer.transport.is_closing():
                    return
                writer.write(got)
                await writer.drain()
                self.bytes[way] += len(got)
        except OSError:
            return
        finally:
            reading.cancel()


async def main() -> None:
    routes = [Route(*map(int, word.split(":"))) for word in sys.argv[1:]]
    servers = [await asyncio.start_server(route.connect, "127.0.0.1", route.listens) for route in routes]
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        number, what, *words = line.split()
        routes[int(number)].command(what, words)
    for server in servers:
        server.close()
    for route in routes:
        print(route.connections, route.bytes["in"], route.bytes["out"], flush=True)


if __name__ == "__main__":
    asyncio.run(main())
