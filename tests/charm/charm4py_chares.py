# SPDX-License-Identifier: Apache-2.0
"""Chares of charm4py read their slices of a file, and migrate while their reads are in progress.

Usage: python -m charmrun.start +p2 charm4py_chares.py BRIDGE WORDS CHARES

WORDS is a file of 8-byte words, each equal to its index. Prints lines that charm4py_test.py checks.
"""

import ctypes
import struct
import sys
from pathlib import Path

from charm4py import Array, Chare, Future, Group, Reducer, charm, coro

BRIDGE, WORDS, CHARES = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Callbacks below CHARES are those of chares; the main chare waits for this one.
ANSWER = CHARES

bridge = ctypes.PyDLL(BRIDGE)
NUMBER, SIZE = ctypes.c_uint64, ctypes.c_size_t
DELIVER = ctypes.CFUNCTYPE(None, NUMBER, ctypes.c_void_p, SIZE, ctypes.c_char_p)
TRANSMIT = ctypes.CFUNCTYPE(None, SIZE, ctypes.c_void_p, SIZE)
bridge.bridge_open.argtypes = [ctypes.c_char_p, NUMBER]
bridge.bridge_start_session.argtypes = [ctypes.c_char_p, SIZE, SIZE, NUMBER]
bridge.bridge_read.argtypes = [ctypes.c_char_p, SIZE, SIZE, NUMBER]
bridge.bridge_close_session.argtypes = [ctypes.c_char_p, NUMBER]
bridge.bridge_close_file.argtypes = [ctypes.c_char_p, NUMBER]
bridge.bridge_start.argtypes = [SIZE, DELIVER, TRANSMIT]
bridge.bridge_receive.argtypes = [ctypes.c_char_p]


class Pe(Chare):
    """Connects the bridge of a process with charm4py, and polls its queue."""

    def __init__(self):
        self.answer = None
        self.is_polling = True

    def connect(self, readers):
        self.readers = readers
        self.functions = DELIVER(self.deliver), TRANSMIT(self.transmit)
        bridge.bridge_start(charm.numPes(), *self.functions)
        self.thisProxy[charm.myPe()].poll()

    def deliver(self, callback, data, size, error):
        data = ctypes.string_at(data, size) if size else b""
        if callback == ANSWER:
            self.thisProxy[0].have_answer(data, error.decode())
        else:
            self.readers[callback].have(data, error.decode())

    def transmit(self, process, data, size):
        self.thisProxy[process].receive(ctypes.string_at(data, size))

    def receive(self, command):
        bridge.bridge_receive(command)

    def poll(self):
        bridge.bridge_poll()
        if self.is_polling:
            self.thisProxy[charm.myPe()].poll()

    def stop(self):
        self.is_polling = False

    @coro
    def ask(self, function, *arguments):
        """Calls `function` of the bridge on this PE, and returns the message of its callback."""
        self.answer = Future()
        getattr(bridge, function)(*arguments, ANSWER)
        return self.answer.get()

    def have_answer(self, data, error):
        self.answer.send((data, error))


class Reader(Chare):
    """Reads one slice. Its state is pickled when it migrates."""

    def start(self, session, slice_bytes, done):
        self.offset = self.thisIndex[0] * slice_bytes
        self.slice_bytes = slice_bytes
        self.first_pe = charm.myPe()
        self.done = done
        bridge.bridge_read(session, slice_bytes, self.offset, self.thisIndex[0])
        self.migrate((self.first_pe + 1) % charm.numPes())

    def have(self, data, error):
        first = self.offset // 8
        expected = struct.pack(f"={self.slice_bytes // 8}Q", *range(first, first + len(data) // 8))
        is_good = data == expected and not error and charm.myPe() != self.first_pe
        self.reduce(self.done, int(is_good), Reducer.sum)


@coro
def main(_args):
    readers = Array(Reader, CHARES)
    pes = Group(Pe)
    pes.connect(readers, awaitable=True).get()
    ask = lambda *words: pes[0].ask(*words, ret=True).get()  # noqa: E731

    _token, error = ask("bridge_open", f"{WORDS}.missing".encode())
    print(f"missing file: {error}")
    file, error = ask("bridge_open", WORDS.encode())
    size = Path(WORDS).stat().st_size
    session, error = ask("bridge_start_session", file, size, 0)
    print(f"session: {error or 'started'}")
    done = Future()
    readers.start(session, size // CHARES, done)
    print(f"{done.get()} of {CHARES} chares have their bytes on another PE")
    for function, token in ("bridge_close_session", session), ("bridge_close_file", file):
        _nothing, error = ask(function, token)
        print(f"{function}: {error or 'closed'}")
    pes.stop(awaitable=True).get()
    charm.exit()


charm.start(main)
