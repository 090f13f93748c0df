"""Programs: their text becomes the inside of an async function, and their errors are told in
terms of that text."""

import ast
import linecache
import traceback

FILE = "program.py"
MAIN = "<program>"
# Frames of a traceback that are shown, from its two ends.
FIRST_FRAMES, LAST_FRAMES = 6, 14
# A longer text of an error is cut: it has to leave the process.
TEXT_LENGTH = 1 << 20
STAR = "__callgate_star__"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Rejected(Exception):
    """A program that cannot be run: the text says why and where."""

    def __init__(self, text, line=None, column=None):
        super().__init__(text)
        self.text, self.line, self.column = text, line, column


def parse(source):
    """The syntax tree of a program."""
    remember(source)
    try:
        return ast.parse(source, FILE)
    except IndentationError as error:
        tree = _parse_indented(source)
        if tree is None:
            raise rejected(error, source) from None
        return tree
    except SyntaxError as error:
        raise rejected(error, source) from None
    except ValueError as error:
        raise Rejected(f"syntax error: {error}") from None
    except (RecursionError, MemoryError):
        raise Rejected("syntax error: the program is nested too deeply") from None


def remember(source):
    """Lets tracebacks show the lines of a text."""
    lines = source.splitlines(True)
    if lines and lines[-1][-1:] != "\n":
        # As `linecache` reads files: some versions place carets by it.
        lines[-1] += "\n"
    linecache.cache[FILE] = (len(source), None, lines, FILE)


def _parse_indented(source):
    """The tree of a program that is indented as a whole."""
    first = next((line for line in source.splitlines() if line.strip()), "")
    if first[:1] not in (" ", "\t"):
        return None
    try:
        tree = ast.parse("if 1:\n" + source, FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(tree.body) != 1:
        return None
    tree.body = tree.body[0].body
    for node in walk(tree.body):
        if hasattr(node, "lineno"):
            node.lineno -= 1
            if node.end_lineno is not None:
                node.end_lineno -= 1
    return tree


def walk(nodes):
    """All nodes below some, without recursion; callers may put something else in `nodes`."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        pending.extend(ast.iter_child_nodes(node))


def rejected(error, source=None):
    """A syntax error, told with its place."""
    line, column = error.lineno, error.offset
    message = error.msg or "invalid syntax"
    if message == "'yield' outside function":
        message += ": the program itself cannot be a generator"
    if not line or line < 1:
        return Rejected(f"syntax error: {message}")
    column = max(column or 1, 1)
    lines = (source or "").splitlines()
    if 1 <= line <= len(lines):
        shown = lines[line - 1][:200].replace("\t", " ")
        frame = f"\n{line} | {shown}\n{' ' * len(str(line))} | {' ' * (column - 1)}^"
    else:
        frame = ""
    text = f"syntax error at line {line}, column {column}: {message}{frame}"
    return Rejected(text, line, column)


def build(tree, source):
    """The code that defines the program's function, `__program__`."""
    futures = [node for node in tree.body if _is_future(node)]
    body = [node for node in tree.body if not _is_future(node)]
    _refuse_generators(body, source)
    scope = _Scope()
    body = scope.rewrite(body)
    names = sorted((scope.bound - scope.nonlocals) | scope.globals)
    function = ast.parse("async def __program__():\n    pass").body[0]
    head = [_at_start(ast.Global(names=names))] if names else []
    function.body = head + body or function.body
    module = ast.Module(body=futures + [function], type_ignores=[])
    try:
        return compile(module, FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise rejected(error, source) from None
    except ValueError as error:
        raise Rejected(f"syntax error: {error}") from None
    except (RecursionError, MemoryError):
        raise Rejected("syntax error: the program is nested too deeply") from None


def _is_future(node):
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level


def _at_start(node):
    node.lineno = node.end_lineno = 1
    node.col_offset = node.end_col_offset = 0
    return node


def _refuse_generators(body, source):
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            error = SyntaxError("'yield' outside function")
            error.lineno, error.offset = node.lineno, node.col_offset + 1
            raise rejected(error, source)
        if isinstance(node, _FUNCTIONS):
            continue
        pending.extend(ast.iter_child_nodes(node))


class _Scope:
    """What the outermost level of a program binds.

    Those names become globals, as in a module: functions and classes of the program then see
    them as they would there. A name that a function declares `nonlocal` stays a local variable.
    """

    def __init__(self):
        self.bound, self.globals, self.nonlocals = set(), set(), set()

    def rewrite(self, body):
        body = self._statements(body)
        pending = [(node, 0) for node in body]
        while pending:
            # 0: the outermost level; 1: a comprehension there; 2: inside a function or class.
            node, depth = pending.pop()
            self._collect(node, depth)
            inner = depth
            if isinstance(node, _SCOPES):
                inner = 2
            elif isinstance(node, _COMPREHENSIONS):
                inner = max(depth, 1)
            if depth == 0 and not isinstance(node, _SCOPES):
                self._rewrite_fields(node)
            for child in ast.iter_child_nodes(node):
                pending.append((child, inner))
        return body

    def _statements(self, body):
        return [self._statement(node) for node in body]

    def _statement(self, node):
        """A statement of the outermost level in terms of a function that declares its names."""
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            # The name of an annotation cannot be declared global.
            if node.value is None:
                return ast.copy_location(ast.Pass(), node)
            assign = ast.Assign(targets=[node.target], value=node.value, type_comment=None)
            return ast.copy_location(assign, node)
        if isinstance(node, ast.Global):
            self.globals.update(node.names)
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.ImportFrom) and any(name.name == "*" for name in node.names):
            if not node.level and node.module:
                name = ast.copy_location(ast.Name(id=STAR, ctx=ast.Load()), node)
                module = ast.copy_location(ast.Constant(value=node.module, kind=None), node)
                call = ast.Call(func=name, args=[module], keywords=[])
                call = ast.copy_location(call, node)
                return ast.copy_location(ast.Expr(value=call), node)
        return node

    def _rewrite_fields(self, node):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    setattr(node, name, self._statements(value))
                else:
                    value[:] = [_awaited(item) for item in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, _awaited(value))

    def _collect(self, node, depth):
        if isinstance(node, ast.Global):
            self.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            self.nonlocals.update(node.names)
        elif depth == 2:
            return
        elif isinstance(node, ast.NamedExpr):
            self.bound.add(node.target.id)
        elif depth == 1:
            return
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.bound.add(alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler):
            if node.name:
                self.bound.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
            if node.name:
                self.bound.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            if node.rest:
                self.bound.add(node.rest)


def _awaited(node):
    """`asyncio.run(x)` of the outermost level is `await x`: a loop runs already."""
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "asyncio"
        and all(keyword.arg == "debug" for keyword in node.keywords)
    ):
        return ast.copy_location(ast.Await(value=node.args[0]), node)
    return node


def rename(function):
    """Gives the program's function the name that tracebacks show."""
    code = function.__code__
    names = {"co_name": MAIN}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = MAIN
    function.__code__ = code.replace(**names)


def describe(error):
    """The text of an error, like a traceback, and its place in the program."""
    line, column = place(error)
    try:
        text = _traceback(error)
    except (RecursionError, MemoryError):
        text = None
    except Exception:
        text = None
    if text is None:
        text = f"{_name(error)}: (this error has no text)"
    if len(text) > TEXT_LENGTH:
        text = text[:TEXT_LENGTH] + "…"
    return text, line, column


def headline(error):
    """The type and the text of an error, in one line."""
    try:
        return "".join(traceback.format_exception_only(type(error), error)).strip()
    except Exception:
        return f"{_name(error)}: (this error has no text)"


def _name(error):
    name = type(error).__name__
    return name if type(name) is str else "Exception"


def _traceback(error):
    told = traceback.TracebackException(
        type(error), error, error.__traceback__, lookup_lines=True
    )
    pending = [told]
    while pending:
        part = pending.pop()
        if part is None:
            continue
        _shorten(part)
        pending.append(part.__cause__)
        pending.append(part.__context__)
        pending.extend(getattr(part, "exceptions", None) or ())
    text = "".join(told.format())
    return text.replace("__program__.<locals>.", "").rstrip("\n")


def _shorten(part):
    """Keeps the frames of the program, and of many the outermost and innermost."""
    frames = [frame for frame in part.stack if frame.filename == FILE]
    if len(frames) > FIRST_FRAMES + LAST_FRAMES:
        frames = frames[:FIRST_FRAMES] + frames[-LAST_FRAMES:]
    part.stack[:] = frames


def place(error):
    """The line and column of the innermost frame of the program; both from 1."""
    if isinstance(error, SyntaxError) and error.filename == FILE and error.lineno:
        return error.lineno, max(error.offset or 1, 1)
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            found = trace
        trace = trace.tb_next
    if found is None:
        return None, None
    line, lines = found.tb_lineno, linecache.cache.get(FILE)
    text = ""
    if lines and line and 0 < line <= len(lines[2]):
        text = lines[2][line - 1]
    column = len(text) - len(text.lstrip()) + 1
    code = found.tb_frame.f_code
    if hasattr(code, "co_positions"):
        positions = list(code.co_positions())
        at = found.tb_lasti // 2
        if at < len(positions) and positions[at][2] is not None and positions[at][0] == line:
            before = text.encode("utf-8", "surrogatepass")[: positions[at][2]]
            column = len(before.decode("utf-8", "replace")) + 1
    return line, column
