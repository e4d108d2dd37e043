"""The loop that a conversation is held in: a line in, a line out, until the input ends.

It decides how lines are read and written; what they say is its caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from wakefold.events import Json
from wakefold_shell.pipes.messages import LINE_BYTES_MAX, MessageFault, parse_message, refuse
from wakefold_shell.stores.rows import encode_line


def serve_lines(source: BinaryIO, sink: BinaryIO, answer: Callable[[Json], Json]) -> None:
    """Answer each line of the source on the sink, at once and in order, until the source ends."""
    for line in read_lines(source):
        try:
            reply = answer(parse_message(line))
        except MessageFault as fault:
            reply = refuse(None, fault)
        sink.write(encode_line(reply))
        sink.flush()


def read_lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a source, split at LF alone; of one that is too long, no more than tells it is."""
    while line := source.readline(LINE_BYTES_MAX + 1):
        rest = line
        while not rest.endswith(b"\n") and len(rest) > LINE_BYTES_MAX:
            rest = source.readline(LINE_BYTES_MAX + 1)
        yield line
