"""The parent of programs: imports everything, then forks a child for each program.

It never runs the text of a program itself.
"""

import gc
import importlib
import os
import signal
import sys

CONTROL = 0
# How a child tells its measures, in the order of the host.
SYSTEM_CALLS, PRIVILEGES, LIMITS, FILES, DEATH, PRIVACY, DESCRIPTORS = range(7)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 4, 22, 2


class Confiner:
    """Prepares in the parent what a child does with three system calls."""

    def __init__(self, program):
        import ctypes

        class Program(ctypes.Structure):
            _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

        self._errno = ctypes.get_errno
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        self._prctl.restype = ctypes.c_int
        self._filter = ctypes.create_string_buffer(program, len(program))
        self._program = Program(len(program) // 8, ctypes.addressof(self._filter))
        self._address = ctypes.addressof(self._program)

    def prctl(self, option, first=0, second=0):
        if self._prctl(option, first, second, 0, 0) != 0:
            error = self._errno()
            return {"none": os.strerror(error)}
        return {}

    def confine(self, effects, parent):
        effects[DEATH] = self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
        effects[PRIVACY] = self.prctl(PR_SET_DUMPABLE, 0)
        effects[SYSTEM_CALLS] = self.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, self._address)


def serve(boot):
    """Forks children for as long as the host is there."""
    control = socket.socket(fileno=CONTROL)
    try:
        os.closerange(3, 1 << 16)
        warm(boot["warm"])
        choose_warnings()
        boot["importing"] = importer(boot["offered"])
        program = bytes.fromhex(boot["filter"] or "")
        confiner = Confiner(program) if program else None
        loop = Loop()
        pretouch(loop)
        loop = Loop()
        asyncio.events.set_event_loop(loop)
        gc.collect()
        gc.freeze()
    except BaseException as error:
        control.send(f"!{type(error).__name__}: {error}".encode()[:4096])
        os._exit(1)
    control.send(b"ready")
    me = os.getpid()
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 64, 1)
        if not request:
            os._exit(0)
        if request[:1] == b"F":
            try:
                pid = os.fork()
            except OSError as error:
                pid = f"!{error.strerror}"
            if pid == 0:
                try:
                    child(boot, loop, confiner, descriptors[0], me)
                finally:
                    os._exit(1)
            for descriptor in descriptors:
                os.close(descriptor)
            control.send(str(pid).encode())
        elif request[:1] == b"R":
            try:
                _, status = os.waitpid(int(request[1:]), 0)
            except OSError:
                status = -1
            control.send(str(status).encode())


def warm(modules):
    for name in modules:
        importlib.import_module(name)
    # Read at first use, else: there are no files then.
    sys.modules["time"].strftime("%Z %c")
    for codec in ("idna", "latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252", "punycode", "ascii",
                  "utf-8-sig", "unicode_escape", "raw_unicode_escape", "hex", "base64", "rot13"):
        try:
            "".encode(codec)
        except (LookupError, ImportError):
            pass
    import datetime

    datetime.datetime.strptime("2020-01-01 00:00", "%Y-%m-%d %H:%M")


def pretouch(loop):
    """Runs all of this once, so that its memory is there before it is needed."""
    source = (
        "import asyncio\n"
        "async def one(x):\n    return x\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    pass\n"
        "return [await asyncio.gather(one(1), one(2)), {'a': [1.5, None, f'{1:>3}']}]"
    )
    names = {"__builtins__": __builtins__}
    exec(build(parse(source), source), names)
    value = loop.run_until_complete(names["__program__"]())
    decode(encode(value, "value", 1 << 20).decode())
    describe(ValueError("x"))


_SOME_ERROR = {"name": "E", "memberProperty": "member"}


def child(boot, loop, confiner, descriptor, parent):
    """One program, and then the end."""
    os.dup2(descriptor, CONTROL)
    os.close(descriptor)
    os.close(1)
    os.close(2)
    effects = boot["effects"]
    if confiner is not None:
        confiner.confine(effects, parent)
    wire = Wire(boot["frameCap"])
    pretouch(loop)
    run = Run(boot, loop, wire)
    run.names([{"global": "tools", "members": ["a"], "errorClass": _SOME_ERROR}])
    prepare_process(run)
    wire.push(READY, encode(effects, "", 1 << 20))
    wire.flush()
    while True:
        frame = wire.next()
        if frame is None:
            wire.receive()
        elif frame[0] == CHECK:
            wire.push(CHECKED, check(boot, decode(frame[1].decode())))
            wire.flush()
        elif frame[0] == PROGRAM:
            break
    program = decode(frame[1].decode())
    frame = None
    try:
        end = run_program(run, program["source"], program["namespaces"])
        run.end(end)
    except MemoryError:
        sys.modules["__main__"].__dict__.clear()
        run.end(_failure("worker-exit", _out_of_memory(run)))
    os._exit(0)


def check(boot, program):
    """Looks through a program, which may come next, without running any of it."""
    try:
        return encode(look(program["source"], program["global"], boot["offered"]), "", 1 << 26)
    except (Refused, TooLarge, RecursionError, MemoryError):
        return b"{}"
