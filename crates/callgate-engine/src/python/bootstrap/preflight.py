"""Pre-flight: what the text of a program tells about its calls, without running any of it."""

import ast

# Calls that are looked at in one program, and how deep a literal is followed.
MOST_CALLS, LITERAL_DEPTH = 5000, 64

_SHADOWS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def look(source, space, offered):
    """The calls of a program on an object, and what is wrong with it apart from them."""
    try:
        tree = parse(source)
        # The compiler finds more than the parser does.
        build(parse(source), source)
    except Rejected as why:
        place_ = (why.line or 1, why.column or 1)
        text = why.text.split("\n", 1)[0].partition(": ")[2] or why.text
        return {"calls": [], "findings": [["syntax", *place_, f"syntax error: {text}"]]}
    looking = _Looking(source, space, offered)
    try:
        looking.survey(tree)
        looking.statements(tree.body)
        return looking.finish()
    except RecursionError:
        return {"calls": [], "findings": []}


class _Function:
    """A function that a program defines once and calls by its name."""

    def __init__(self, node):
        self.node = node
        self.is_async = isinstance(node, ast.AsyncFunctionDef)
        # The bodies it is called from, where nothing catches what it raises.
        self.called_from = []


class _Looking:
    def __init__(self, source, space, offered):
        self.lines = [line.encode("utf-8", "surrogatepass") for line in source.split("\n")]
        self.space = space
        self.importable = importable(offered)
        self.calls, self.imports = [], []
        self.functions, self.constants = {}, {}
        self.is_shadowed = self.is_tested = False
        # Where the walk is: the function, and whether something may catch a failure here.
        self.body, self.is_guarded = None, False

    # What is known before the walk.

    def survey(self, tree):
        bound, functions, constants = {}, {}, {}
        for node in walk(tree.body):
            names = ()
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    names = (node.id,)
                elif node.id in ("hasattr", "getattr"):
                    self.is_tested = True
            elif isinstance(node, _SHADOWS):
                names = (node.name,)
            elif isinstance(node, ast.arg):
                names = (node.arg,)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                names = (node.name,)
            elif isinstance(node, ast.Compare):
                if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops) and any(
                    self._is_space(item) for item in node.comparators
                ):
                    self.is_tested = True
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                names = [name for name in node.names for _ in (0, 1)]
            for name in names:
                bound[name] = bound.get(name, 0) + 1
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if not node.decorator_list and not _has_yield(node):
                    functions[node.name] = _Function(node)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant):
                    constants[target.id] = node.value
        self.functions = {name: it for name, it in functions.items() if bound[name] == 1}
        self.constants = {name: it for name, it in constants.items() if bound[name] == 1}
        self.is_shadowed = self.space in bound or "*" in bound

    def _is_space(self, node):
        return isinstance(node, ast.Name) and node.id == self.space

    def _is_fixed(self, test):
        """Whether a condition depends on nothing but the text; and if so, on what it comes to."""
        if isinstance(test, ast.Name) and test.id in self.constants:
            test = self.constants[test.id]
        if isinstance(test, ast.Constant):
            return True, bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            is_fixed, value = self._is_fixed(test.operand)
            return is_fixed, not value
        return False, None

    # Statements.

    def statements(self, body):
        """Walks a list; whether what follows it is out of reach."""
        outer, is_over = self.is_guarded, False
        for node in body:
            self.is_guarded = outer or is_over
            is_over = self.statement(node) or is_over
        self.is_guarded = outer
        return is_over

    def guarded(self, is_guarded, then, *args):
        outer = self.is_guarded
        self.is_guarded = outer or is_guarded
        result = then(*args)
        self.is_guarded = outer
        return result

    def statement(self, node):
        if isinstance(node, ast.Expr):
            self.expression(node.value, "dropped")
        elif isinstance(node, (ast.Return, ast.Raise)):
            for value in ast.iter_child_nodes(node):
                self.expression(value, None)
            return True
        elif isinstance(node, (ast.Break, ast.Continue)):
            return True
        elif isinstance(node, ast.If):
            self.expression(node.test, None)
            is_fixed, value = self._is_fixed(node.test)
            first = self.guarded(is_fixed and not value, self.statements, node.body)
            second = self.guarded(is_fixed and value, self.statements, node.orelse)
            return first and second and bool(node.orelse)
        elif isinstance(node, (ast.While, ast.For, ast.AsyncFor)):
            is_fixed = value = False
            if isinstance(node, ast.While):
                self.expression(node.test, None)
                is_fixed, value = self._is_fixed(node.test)
            else:
                self.expression(node.iter, None)
                if isinstance(node.iter, (ast.List, ast.Tuple)) and not node.iter.elts:
                    is_fixed, value = True, False
            self.guarded(is_fixed and not value, self.statements, node.body)
            self.guarded(is_fixed and bool(value), self.statements, node.orelse)
            is_endless = is_fixed and bool(value)
            return is_endless and not any(isinstance(it, ast.Break) for it in walk(node.body))
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self.guarded(True, self.statements, node.body)
            for handler in node.handlers:
                self.statements(handler.body)
            self.guarded(True, self.statements, node.orelse)
            self.statements(node.finalbody)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            # Whatever was entered may swallow what is raised inside.
            for item in node.items:
                self.expression(item.context_expr, None)
            self.guarded(True, self.statements, node.body)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            # Methods are called by whoever has the object.
            self.guarded(True, self.statements, node.body)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.import_(node)
        elif isinstance(node, ast.Match):
            self.expression(node.subject, None)
            for case in node.cases:
                self.statements(case.body)
        else:
            for value in ast.iter_child_nodes(node):
                self.expression(value, None)
        return False

    def function(self, node):
        known = self.functions.get(node.name)
        outer = self.body, self.is_guarded
        for value in node.decorator_list + node.args.defaults:
            self.expression(value, None)
        if known is not None and known.node is node and self.body is None:
            self.body, self.is_guarded = known, False
        else:
            self.is_guarded = True
        self.statements(node.body)
        self.body, self.is_guarded = outer

    def import_(self, node):
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module and not node.level else []
        else:
            names = [alias.name for alias in node.names]
        for name in names:
            if not self.importable(name) and not self.is_guarded:
                line, column = self.at(node)
                self.imports.append((self.body, ["import", line, column, refusal(name)]))

    # Expressions. The fate of a value: "awaited" where its error is raised here, "dropped" where
    # it is a whole statement, else nothing that is known.

    def expression(self, root, fate):
        pending = [(root, fate, self.is_guarded)]
        outer = self.is_guarded
        while pending:
            node, fate, self.is_guarded = pending.pop()
            guarded = self.is_guarded
            if isinstance(node, ast.Await):
                pending.append((node.value, "awaited", guarded))
                continue
            if isinstance(node, ast.Call):
                self.call(node, fate, pending)
                continue
            if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
                guarded = True
            elif isinstance(node, ast.IfExp):
                is_fixed, value = self._is_fixed(node.test)
                pending.append((node.test, None, guarded))
                pending.append((node.body, fate, guarded or (is_fixed and not value)))
                pending.append((node.orelse, fate, guarded or (is_fixed and value)))
                continue
            elif isinstance(node, ast.BoolOp):
                is_fixed, _ = self._is_fixed(node.values[0])
                pending.append((node.values[0], None, guarded))
                pending.extend((value, None, guarded or is_fixed) for value in node.values[1:])
                continue
            elif isinstance(node, (ast.Attribute, ast.Subscript)) and self._is_space(node.value):
                # Looked up, and perhaps called later by somebody else.
                self.member(node, None, None, guarded)
                continue
            pending.extend((child, None, guarded) for child in ast.iter_child_nodes(node))
        self.is_guarded = outer

    def call(self, node, fate, pending):
        guarded, function = self.is_guarded, node.func
        if isinstance(function, (ast.Attribute, ast.Subscript)) and self._is_space(function.value):
            self.member(function, node, fate, guarded)
        elif isinstance(function, ast.Name) and function.id in self.functions:
            known = self.functions[function.id]
            if not guarded and (not known.is_async or fate == "awaited"):
                known.called_from.append(self.body)
        else:
            pending.append((function, None, guarded))
        inner = None
        if _is_method(function, "asyncio", ("gather",)):
            names = [keyword.arg for keyword in node.keywords]
            inner = "awaited" if fate == "awaited" and not names else None
            guarded_args = guarded or bool(names)
        elif _is_method(function, "asyncio", ("run",)):
            inner, guarded_args = "awaited", guarded
        else:
            guarded_args = guarded
        for argument in node.args:
            star = isinstance(argument, ast.Starred)
            pending.append((argument, None if star else inner, guarded_args))
        pending.extend((keyword.value, None, guarded_args) for keyword in node.keywords)

    def member(self, function, call, fate, guarded):
        if isinstance(function, ast.Attribute):
            member, line = function.attr, function.end_lineno
            if member[:2] == "__" and member[-2:] == "__":
                return
            column = function.end_col_offset - len(member.encode())
        else:
            key = function.slice
            if not isinstance(key, ast.Constant) or type(key.value) is not str:
                return
            member, line, column = key.value, key.lineno, key.col_offset
        if len(self.calls) >= MOST_CALLS:
            return
        sketch = None if call is None else self.argument(call)
        self.calls.append((self.body, guarded, fate, member, self.place(line, column), sketch))

    def argument(self, call):
        line, column = self.at(call)
        names = [keyword.arg for keyword in call.keywords]
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        if not call.args:
            members = [
                [keyword.arg, *self.at(keyword), self.sketch(keyword.value, 1)]
                for keyword in call.keywords
                if keyword.arg is not None
            ]
            return ["o", line, column, members, None in names]
        if len(call.args) > 1 or [name for name in names if name is not None]:
            why = "arguments go in one dict, or as keywords"
            return ["x", line, column, why]
        return None if names else self.sketch(call.args[0], 0)

    # Literals.

    def sketch(self, node, depth):
        line, column = self.at(node)
        unknown = ["u", line, column]
        if depth > LITERAL_DEPTH:
            return unknown
        if isinstance(node, ast.Constant):
            return self.scalar(node.value, line, column)
        if isinstance(node, ast.JoinedStr):
            return ["t", line, column]
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ["b", line, column]
            operand = node.operand
            if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant):
                if type(operand.value) in (int, float):
                    return self.scalar(-operand.value, line, column)
            return unknown
        if isinstance(node, ast.List):
            whole = not any(isinstance(item, ast.Starred) for item in node.elts)
            items = []
            for item in node.elts:
                if isinstance(item, ast.Starred):
                    break
                items.append(self.sketch(item, depth + 1))
            return ["l", line, column, items, not whole]
        if isinstance(node, ast.Dict):
            return self.object(node, depth, line, column)
        if isinstance(node, ast.ListComp):
            return ["l", line, column, [], True]
        if isinstance(node, ast.DictComp):
            return ["o", line, column, [], True]
        for kinds, why in _UNFIT:
            if isinstance(node, kinds):
                return ["x", line, column, why]
        return unknown

    def object(self, node, depth, line, column):
        members, is_open = [], False
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and type(key.value) is str:
                if not _is_text(key.value):
                    return ["u", line, column]
                members.append([key.value, *self.at(key), self.sketch(value, depth + 1)])
            elif isinstance(key, ast.Constant):
                why = f"a key must be a string, not {type(key.value).__name__}"
                return ["x", *self.at(key), why]
            else:
                # What comes after may replace what came before.
                members, is_open = [], True
        return ["o", line, column, members, is_open]

    def scalar(self, value, line, column):
        why = _fault(value)
        if why is not None:
            return ["x", line, column, why]
        return ["s", line, column, value]

    # Places: lines and columns from 1, columns in characters.

    def at(self, node):
        return self.place(node.lineno, node.col_offset)

    def place(self, line, column):
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else b""
        return [line, len(text[:column].decode("utf-8", "replace")) + 1]

    # What came of it.

    def finish(self):
        certain, pending = {None}, [None]
        callers = {}
        for function in self.functions.values():
            for body in function.called_from:
                callers.setdefault(body, []).append(function)
        while pending:
            for function in callers.get(pending.pop(), ()):
                if function not in certain:
                    certain.add(function)
                    pending.append(function)
        calls = []
        for body, guarded, fate, member, place_, sketch in () if self.is_shadowed else self.calls:
            is_certain = not guarded and body in certain
            calls.append(
                {
                    "member": member,
                    "at": place_,
                    "argument": sketch,
                    "lookup": is_certain and not self.is_tested,
                    "refusal": is_certain and fate == "awaited" and not self.is_tested,
                    "forgotten": fate == "dropped" and not guarded,
                }
            )
        findings = [finding for body, finding in self.imports if body in certain]
        return {"calls": calls, "findings": findings}


_UNFIT = (
    (ast.Tuple, "a tuple is not JSON: use a list"),
    ((ast.Set, ast.SetComp), "a set is not JSON: use a list"),
    (ast.Lambda, "a function is not JSON"),
    (ast.GeneratorExp, "a generator is not JSON: use a list"),
)


def _is_method(node, owner, names):
    return (
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.value, ast.Name)
        and node.value.id == owner
    )


def _has_yield(function):
    pending = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _SHADOWS + (ast.Lambda,)):
            pending.extend(ast.iter_child_nodes(node))
    return False
