"""Loads the bootstrap of Python workers, and is a host for its runs."""

import json
import os
import pathlib
import socket
import sys
import traceback

BOOTSTRAP = pathlib.Path(__file__).parents[2] / "src" / "python" / "bootstrap"
FILES = ("values.py", "program.py", "imports.py", "preflight.py", "run.py", "zygote.py")


def load():
    source = "\n".join((BOOTSTRAP / name).read_text() for name in FILES)
    names = {"__name__": "<callgate>"}
    exec(compile(source, "<callgate>", "exec"), names)
    return names


MEMBERS = ["echo", "fail", "class", "a-b", "__class__", "_private"]
OUTPUT = 1 << 20
CAP = 8 << 20


def boot():
    modules = [name for name in (BOOTSTRAP / "modules.txt").read_text().split()]
    if sys.version_info < (3, 11):
        modules.remove("tomllib")
    return {
        "offered": modules,
        "memory": 512 << 20,
        "output": OUTPUT,
        "frameCap": CAP,
    }


def spaces():
    error = {"name": "ToolCallError", "memberProperty": "toolName"}
    return [{"global": "tools", "members": MEMBERS, "errorClass": error}]


def run(source, names=None, answer=None):
    """Runs a program in a child process: its end, its log, its calls."""
    names = names or load()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            boot_ = boot()
            names["warm"](boot_["offered"] + ["_strptime", "linecache"])
            names["choose_warnings"]()
            run_ = names["Run"](boot_, names["Loop"](), names["Wire"](CAP, theirs.detach()))
            names["prepare_process"](run_)
            run_.end(names["run_program"](run_, source, spaces()))
        except BaseException:
            traceback.print_exc(file=open(2, "w"))
        finally:
            os._exit(0)
    theirs.close()
    end, log, calls = None, [], []
    stream = ours.makefile("rb")
    while head := stream.read(4):
        frame = stream.read(int.from_bytes(head, "little"))
        kind, payload = frame[:1], frame[1:]
        if kind == b"L":
            log.append(payload.decode())
        elif kind == b"E":
            end = json.loads(payload)
        elif kind == b"C":
            number, space, member, arguments = json.loads(payload)
            calls.append((member, arguments))
            reply = (answer or echo)(member, arguments)
            data = b"A" + json.dumps([number, *reply]).encode()
            ours.sendall(len(data).to_bytes(4, "little") + data)
    stream.close()
    ours.close()
    os.waitpid(pid, 0)
    return end, log, calls


def echo(member, arguments):
    if member == "fail":
        return [None, "failed: as asked"]
    return [arguments]
