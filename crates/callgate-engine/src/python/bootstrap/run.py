"""One run: frames on the socket, the event loop, the calls, what is printed, the end."""

import _socket
import asyncio
import builtins
import difflib
import io
import os
import select
import socket
import sys
import time
import types
import warnings
import weakref

# The descriptor of the socket to the host.
SOCKET = 0
CHUNK = 64 << 10
# How often a program that computes looks for answers.
LOOK = 0.001
# Output that no line break ended leaves when it is that long.
PARTIAL = 64 << 10

PROGRAM, ANSWER, STOP, CHECK = b"P"[0], b"A"[0], b"S"[0], b"K"[0]
READY, CALL, LOG, END, CHECKED = b"R", b"C", b"L", b"E", b"K"

_exit = os._exit
_monotonic = time.monotonic
_poll_events = select.poll


class Wire:
    """The child's end of the socket: frames with their length in front."""

    def __init__(self, cap, descriptor=SOCKET):
        self.socket = _socket.socket(fileno=descriptor)
        self.cap = cap
        self.inbox = bytearray()
        self.outbox = []
        self.looked = 0.0

    def push(self, kind, payload):
        """Adds a frame to what is sent next; whether it is short enough."""
        length = len(payload) + 1
        if length > self.cap:
            return False
        self.outbox.append(length.to_bytes(4, "little") + kind + payload)
        return True

    def flush(self):
        """Sends everything. While the host takes nothing, its answers are taken in."""
        if not self.outbox:
            return
        rest = memoryview(b"".join(self.outbox))
        self.outbox.clear()
        while rest:
            try:
                rest = rest[self.socket.send(rest, _SEND) :]
            except BlockingIOError:
                if self.wait_for(select.POLLIN | select.POLLOUT, None) & select.POLLIN:
                    self.receive(_socket.MSG_DONTWAIT)
            except OSError:
                _exit(0)

    def receive(self, flags=0):
        """Reads what is there. Without a host there is nothing left to do."""
        self.looked = _monotonic()
        try:
            data = self.socket.recv(CHUNK, flags)
        except BlockingIOError:
            return
        except OSError:
            _exit(0)
        if not data:
            _exit(0)
        self.inbox += data

    def wait_for(self, events, timeout):
        """Waits for the socket, at most so many seconds."""
        poll = _poll_events()
        poll.register(self.socket, events)
        ready = poll.poll(None if timeout is None else max(0, int(timeout * 1000 + 0.999)))
        return ready[0][1] if ready else 0

    def next(self):
        """The next frame that is there as a whole, as kind and payload."""
        inbox = self.inbox
        if len(inbox) < 5:
            return None
        end = 4 + int.from_bytes(inbox[:4], "little")
        if len(inbox) < end:
            return None
        kind, payload = inbox[4], bytes(inbox[5:end])
        del inbox[:end]
        return kind, payload


_SEND = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL


class NoWire:
    """What a loop has before it serves a program."""

    def flush(self):
        pass


class NeverEnds(BaseException):
    """Nothing is left that the program could wait for."""


class Loop(asyncio.BaseEventLoop):
    """An event loop that waits for timers and for answers of the host, and for nothing else."""

    def __init__(self):
        super().__init__()
        self._selector = self
        self.wire = NoWire()
        self.calls = {}
        self.tasks = weakref.WeakSet()
        self.lost = []
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._note)

    def _make_task(self, loop, coroutine, **options):
        task = asyncio.Task(coroutine, loop=loop, **options)
        self.tasks.add(task)
        return task

    def _note(self, loop, context):
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.lost.append(error)

    # What `BaseEventLoop` asks of a loop.

    def select(self, timeout):
        wire = self.wire
        wire.flush()
        calls = self.calls
        if not calls:
            if timeout is None:
                raise NeverEnds
            if timeout > 0:
                time.sleep(timeout)
            return ()
        if self._answers():
            return ()
        if timeout is None:
            wire.receive()
        elif timeout > 0:
            if wire.wait_for(select.POLLIN, timeout):
                wire.receive(_socket.MSG_DONTWAIT)
        elif _monotonic() - wire.looked >= LOOK:
            wire.receive(_socket.MSG_DONTWAIT)
        self._answers()
        return ()

    def _answers(self):
        """Hands the answers that are there to their calls; whether there was one."""
        wire, calls, some = self.wire, self.calls, False
        while calls:
            frame = wire.next()
            if frame is None:
                break
            if frame[0] != ANSWER:
                continue
            answer = decode(frame[1].decode())
            future = calls.pop(answer[0], None)
            some = True
            if future is None or future.done():
                continue
            if len(answer) == 3:
                future.set_exception(_Failed(answer[2]))
            else:
                future.set_result(answer[1])
        return some

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


class _Failed(Exception):
    """The answer to a call that failed."""


def namespace(spec, run):
    """The object through which a program calls its functions, and the class of its errors."""
    members = {name: None for name in spec["members"]}
    global_name = spec["global"]
    error = spec.get("errorClass")
    failure = _error_class(error) if error else None
    member_property = error["memberProperty"] if error else None

    def fail(member, message):
        if failure is None:
            return RuntimeError(message)
        raised = failure(message)
        setattr(raised, member_property, member)
        return raised

    async def submit(member, payload):
        wire, loop = run.wire, run.loop
        run.last_call += 1
        number = run.last_call
        head = f"[{number},{_json_global},{_json_names[member]},".encode()
        if not wire.push(CALL, b"".join((head, payload, b"]"))):
            raise fail(member, _TOO_LARGE)
        future = loop.create_future()
        loop.calls[number] = future
        try:
            return await future
        except _Failed as answer:
            message = answer.args[0]
        raise fail(member, message)

    async def refuse(member, message):
        raise fail(member, message)

    def function(member):
        def call(*args, **keywords):
            try:
                coroutine = submit(member, encode(_arguments(args, keywords), "arguments", run.cap))
            except Refused as why:
                message = f"invalid arguments: arguments must be lossless JSON; {why}"
                coroutine = refuse(member, message)
            except TooLarge:
                coroutine = refuse(member, _TOO_LARGE)
            except _Misused as why:
                shown = f"{global_name}.{member}" if member.isidentifier() else member
                coroutine = refuse(member, f"invalid arguments: `{shown}` {why}")
            coroutine.__name__ = member
            coroutine.__qualname__ = f"{global_name}.{member}"
            return coroutine

        call.__name__ = member
        call.__qualname__ = f"{global_name}.{member}"
        call.__module__ = "__main__"
        return call

    def lookup(member):
        found = members[member]
        if found is None:
            found = members[member] = function(member)
        return found

    def missing(name):
        near = difflib.get_close_matches(str(name), members, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        return f"`{global_name}` has no `{name}`{hint}"

    _json_global = encode(global_name, "", 1 << 30).decode()
    _json_names = {name: encode(name, "", 1 << 30).decode() for name in members}

    class Namespace:
        __slots__ = ()

        def __getattribute__(self, name):
            if name in members:
                return lookup(name)
            if name[:2] == "__" and name[-2:] == "__":
                return object.__getattribute__(self, name)
            raise AttributeError(missing(name))

        def __getitem__(self, name):
            if type(name) is str and name in members:
                return lookup(name)
            raise _NoMember(missing(name))

        def __setattr__(self, name, value):
            raise AttributeError(f"`{global_name}` cannot be changed")

        def __iter__(self):
            return iter(list(members))

        def __len__(self):
            return len(members)

        def __contains__(self, name):
            return name in members

        def __dir__(self):
            return list(members)

        def __repr__(self):
            return f"<{global_name}: {', '.join(members)}>"

    names = {global_name: Namespace()}
    if failure is not None:
        names[failure.__name__] = failure
    return names


_TOO_LARGE = "invalid arguments: they are too large to leave the worker process"


class _NoMember(KeyError):
    __module__ = "builtins"

    def __str__(self):
        return self.args[0]


_NoMember.__name__ = _NoMember.__qualname__ = "KeyError"


class _Misused(Exception):
    """Arguments that are no one value."""


def _arguments(args, keywords):
    if not args:
        return keywords
    if len(args) > 1:
        raise _Misused("takes its arguments in one dict, or as keywords")
    if keywords:
        raise _Misused("takes its arguments in one dict or as keywords, not both")
    return args[0]


def _error_class(spec):
    def __init__(self, message=""):
        Exception.__init__(self, message)
        self.name, self.message = spec["name"], message
        setattr(self, spec["memberProperty"], None)

    def __str__(self):
        return str(self.message)

    members = {"__init__": __init__, "__str__": __str__, "__module__": "builtins"}
    return type(spec["name"], (Exception,), members)


class Output(io.TextIOBase):
    """Standard output and error of a program: its lines become entries of the log."""

    encoding, errors = "utf-8", "backslashreplace"

    def __init__(self, run):
        self._run, self._partial = run, ""

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        lines = (self._partial + text).split("\n")
        self._partial = lines.pop()
        for line in lines:
            self._run.log(line)
        if len(self._partial) > PARTIAL:
            self.flush()
        return len(text)

    def flush(self):
        if self._partial:
            partial, self._partial = self._partial, ""
            self._run.log(partial)

    def entry(self, text):
        self.flush()
        self._run.log(text)

    def writable(self):
        return True

    def isatty(self):
        return False


class Input(io.TextIOBase):
    """The standard input of a program: there is none."""

    def readable(self):
        return True

    def read(self, size=-1):
        raise EOFError(_NO_INPUT)

    readline = read


_NO_INPUT = "programs have no input: put the value into the program, or ask a tool for it"


class Run:
    """Everything a run consists of."""

    def __init__(self, boot, loop, wire):
        self.boot, self.loop, self.wire = boot, loop, wire
        loop.wire = wire
        # Room for what stands around a value in a frame.
        self.cap = max(1, wire.cap - 1024)
        # A longer entry is also longer than all output may be, even when it is cut here.
        self.log_cap = min(self.cap - 1, boot["output"])
        self.last_call = 0
        self.out, self.err = Output(self), Output(self)

    def log(self, text):
        """Entries leave at once: what was printed before a crash is what helps most."""
        data = text.encode("utf-8", "backslashreplace")
        if len(data) > self.log_cap:
            data = data[: self.log_cap].decode("utf-8", "ignore").encode()
        self.wire.push(LOG, data)
        self.wire.flush()

    def names(self, spaces):
        """The global names of a program."""
        names = {"__name__": "__main__", "__doc__": None, "__builtins__": self.builtins()}
        for spec in spaces:
            names.update(namespace(spec, self))
        return names

    def builtins(self):
        names = dict(builtins.__dict__)
        names.pop("__loader__", None)
        names.pop("__spec__", None)
        # What belongs to the bootstrap alone.
        importing = self.boot.get("importing") or importer(self.boot["offered"])
        out, err = self.out, self.err
        real_print = builtins.print

        def print(*values, sep=" ", end="\n", file=None, flush=False):
            target = sys.stdout if file is None else file
            if target is not out and target is not err:
                return real_print(*values, sep=sep, end=end, file=target, flush=flush)
            text = (" " if sep is None else sep).join(map(str, values))
            end = "\n" if end is None else end
            target.entry(text if end == "\n" else text + end)

        def input(prompt=""):
            raise EOFError(_NO_INPUT)

        def open(*args, **keywords):
            raise PermissionError(1, "programs have no files: call a tool instead")

        def exit(code=None):
            raise SystemExit(code)

        def main_frame():
            frame = sys._getframe(2)
            code = frame.f_code
            is_main = code.co_name == MAIN and code.co_filename == FILE
            return frame, is_main

        def local_names(frame, is_main):
            if not is_main:
                return frame.f_locals
            names = dict(frame.f_globals)
            names.update(frame.f_locals)
            return names

        def locals():
            return local_names(*main_frame())

        def vars(*values):
            return real_vars(*values) if values else local_names(*main_frame())

        def dir(*values):
            return real_dir(*values) if values else sorted(local_names(*main_frame()))

        def running(real):
            def run(source, globals=None, locals=None, /, **options):
                frame, is_main = main_frame()
                if globals is None:
                    globals = frame.f_globals
                    if locals is None and not is_main:
                        locals = frame.f_locals
                return real(source, globals, globals if locals is None else locals, **options)

            run.__name__ = real.__name__
            return run

        def star(name):
            module = importing(name, None, None, ("*",), 0)
            public = getattr(module, "__all__", None)
            if public is None:
                public = [name for name in real_dir(module) if name[:1] != "_"]
            target = sys._getframe(1).f_globals
            for name in public:
                target[name] = getattr(module, name)

        real_vars, real_dir = builtins.vars, builtins.dir
        for function in (print, input, open, exit, locals, vars, dir):
            names[function.__name__] = function
        names["quit"] = exit
        names["exec"], names["eval"] = running(builtins.exec), running(builtins.eval)
        names["__import__"] = importing
        names[STAR] = star
        return names

    def end(self, end):
        """Tells how the program ended; whatever is too long is told so."""
        self.out.flush()
        self.err.flush()
        data = _encode_end(end, self.cap)
        if not self.wire.push(END, data):
            data = _encode_end(_failure("output-limit", ""), self.cap)
            self.wire.push(END, data)
        self.wire.flush()


def _encode_end(end, cap):
    if isinstance(end, bytes):
        return end
    return encode(end, "", cap)


def _failure(kind, message, line=None, column=None):
    # Half of a surrogate pair cannot leave.
    message = message.encode("utf-8", "backslashreplace").decode()
    failure = {"kind": kind, "message": message}
    if line and column:
        failure["line"], failure["column"] = line, column
    return {"failure": failure}


def run_program(run, source, spaces):
    """Runs a program; how it ended, as a frame says it."""
    try:
        tree = parse(source)
        code = build(tree, source)
    except Rejected as why:
        return _failure("exception", why.text, why.line, why.column)
    names = run.names(spaces)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    # Classes find the module they are from by its name.
    _replace_dict(main, names)
    names = main.__dict__
    try:
        exec(code, names)
        function = names.pop("__program__")
        rename(function)
        returned = run.loop.run_until_complete(run.loop.create_task(function()))
    except NeverEnds:
        return _failure("exception", _NEVER_ENDS)
    except MemoryError as error:
        line, column = place(error)
        error.__traceback__ = None
        names.clear()
        return _failure("worker-exit", _out_of_memory(run), line, column)
    except SystemExit as error:
        return _exited(error)
    except BaseException as error:
        return _failure("exception", *describe(error))
    return _returned(run, returned)


def _replace_dict(module, names):
    module.__dict__.clear()
    module.__dict__.update(names)


_NEVER_ENDS = "the program will never finish: it awaits something that nothing can settle any more"


def _out_of_memory(run):
    limit = run.boot["memory"] >> 20
    return f"the program ran out of memory: {limit} MiB is the limit: keep less at a time"


def _exited(error):
    code, place_ = error.code, place(error)
    status = 0 if code is None else code if type(code) is int else 1
    text = f"the program ended itself with status {status & 0xFF}"
    if type(code) is str:
        text += f": {code}"
    return _failure("worker-exit", f"{text}; use `return` to end it", *place_)


def _returned(run, value):
    lost = _lost_failure(run.loop)
    if lost is not None:
        text, line, column = describe(lost)
        what = f"a task failed and nothing awaited it: {text}"
        return _failure("exception", what, line, column)
    if value is None:
        return {}
    limit = run.boot["output"]
    try:
        return b'{"value":' + encode(value, "value", min(run.cap, limit)) + b"}"
    except Refused as why:
        if output_size(value, limit) > limit:
            return _failure("output-limit", "")
        close_coroutine(value)
        return _failure("invalid-output", f"the returned value must be lossless JSON; {why}")
    except TooLarge:
        if limit <= run.cap:
            return _failure("output-limit", "")
        return _failure(
            "worker-exit",
            "the returned value is too large to leave the worker process: return less",
        )
    except MemoryError:
        return _failure("worker-exit", _out_of_memory(run))


def close_coroutine(value):
    """That it was not awaited is said already."""
    if type(value) is types.CoroutineType:
        value.close()


def _lost_failure(loop):
    """The error of a task that nobody looked at."""
    for task in list(loop.tasks):
        if task.done() and not task.cancelled() and getattr(task, "_log_traceback", False):
            error = task.exception()
            if not isinstance(error, (SystemExit, KeyboardInterrupt)):
                return error
    return loop.lost[0] if loop.lost else None


def prepare_process(run):
    """Gives the standard library what it finds in an ordinary process."""
    sys.stdout = sys.__stdout__ = run.out
    sys.stderr = sys.__stderr__ = run.err
    sys.stdin = sys.__stdin__ = Input()
    sys.argv = [FILE]
    sys.path[:] = []
    sys.meta_path[:] = [Refusing]
    sys.path_hooks[:] = []

    def show(message, category, filename, lineno, file=None, line=None):
        run.log(f"{filename}:{lineno}: {category.__name__}: {message}")

    warnings.showwarning = show

    def unraisable(about):
        run.log(f"Exception ignored in {about.object!r}: {headline(about.exc_value)}")

    sys.unraisablehook = unraisable
    asyncio.run = _no_second_loop
    asyncio.events.set_event_loop(run.loop)


def choose_warnings():
    """Of all warnings a program's author hears only of calls that were not awaited."""
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    warnings.filterwarnings("always", ".*was never awaited", RuntimeWarning)


def _no_second_loop(main=None, **options):
    close_coroutine(main)
    raise RuntimeError(
        "asyncio.run() cannot be called here: the program runs in an event loop already; "
        "write `await main()` at its outermost level"
    )
