"""What a program may import: the part of the standard library that only computes."""

import builtins
import sys


class Refusing:
    """The last finder of modules: nothing is read from files any more."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        raise ImportError(f"no module `{name}` in a program", name=name)


def importable(offered):
    """Whether a program may import a module of that name."""
    offered = frozenset(offered)
    packages = frozenset(
        ".".join(parts[:count])
        for parts in (name.split(".") for name in offered)
        for count in range(1, len(parts))
    )
    return lambda name: name in offered or name in packages


def importer(offered):
    """The `__import__` of programs: modules of a set of names."""
    is_importable = importable(offered)
    real = builtins.__import__

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        if level:
            raise ImportError("a program is no package: there is nothing to import relatively")
        if type(name) is not str or (
            not is_importable(name) and name not in _LAZY
        ):
            raise ImportError(refusal(str(name)), name=str(name))
        return real(name, None, None, fromlist, 0)

    return __import__


# What C code imports on behalf of whoever called it.
_LAZY = frozenset({"_strptime", "linecache", "copyreg", "_pydecimal", "_io", "encodings"})


def refusal(name):
    top = name.partition(".")[0]
    for names, why in _REASONS:
        if top in names or name in names:
            return f"`{name}` cannot be imported: {why}"
    if top in sys.stdlib_module_names:
        return (
            f"`{name}` cannot be imported: programs have the part of the standard library that "
            "only computes; for the rest call a tool"
        )
    return (
        f"`{name}` cannot be imported: programs have only the standard library; "
        "do without it, or call a tool"
    )


_REASONS = (
    (
        {"socket", "ssl", "http", "urllib.request", "urllib.error", "ftplib", "smtplib", "imaplib",
         "poplib", "socketserver", "xmlrpc", "requests", "httpx", "aiohttp", "urllib3", "select",
         "selectors", "webbrowser", "telnetlib", "websockets"},
        "programs have no network; call a tool instead",
    ),
    (
        {"subprocess", "multiprocessing", "pty", "fcntl", "signal", "resource", "posix", "pwd",
         "grp", "termios", "sched", "_posixsubprocess"},
        "programs cannot reach other processes or the system; call a tool instead",
    ),
    (
        {"threading", "_thread", "concurrent", "concurrent.futures", "queue"},
        "programs have no threads; use asyncio.gather",
    ),
    (
        {"tempfile", "shutil", "glob", "fileinput", "sqlite3", "dbm", "shelve", "zipfile",
         "tarfile", "mmap", "bz2", "lzma"},
        "programs have no files; call a tool instead",
    ),
    (
        {"ctypes", "_ctypes", "cffi", "importlib", "imp", "pkgutil", "runpy", "gc", "site", "code",
         "codeop", "pdb", "marshal", "pickle", "builtins"},
        "programs do not reach the interpreter itself",
    ),
    ({"tools"}, "`tools` is there already; call `await tools.name({...})`"),
    (
        {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "bs4", "lxml", "yaml", "dateutil",
         "pytz", "pydantic", "regex"},
        "programs have only the standard library; compute it with that, or call a tool",
    ),
)
