"""Values at the border: lossless JSON, checked strictly and iteratively in both directions."""

import json
import math

# Text from outside may open so many brackets; the host refuses more.
DEPTH_LIMIT = 5000
# Deeper values are written and read iteratively: the C code of `json` recurses.
C_DEPTH = 400
# A longer path is cut.
PATH_LENGTH = 100
INT_MIN, INT_MAX = -(2**63), 2**64 - 1

_quote = json.encoder.encode_basestring
_scan = json.JSONDecoder().scan_once
_scan_string = json.decoder.scanstring
_write_c = json.encoder.c_make_encoder and json.encoder.c_make_encoder(
    None, None, _quote, None, ":", ",", False, False, False
)
_copysign, _isnan = math.copysign, math.isnan
_LEAVES = frozenset({str, int, float, bool, type(None)})
_HARMLESS = frozenset({str, bool, type(None)})
_ONLY_STR = frozenset({str})
_NONE = type(None)


class Refused(Exception):
    """A value that is not lossless JSON; the text says where and what to do."""


class TooLarge(Exception):
    """A value that has no room in a frame."""


def encode(value, root, cap):
    """The JSON bytes of a value of at most `cap` bytes."""
    depth = _check(value, cap)
    if depth is None:
        raise Refused(_explain(value, root))
    if depth < C_DEPTH and _write_c is not None:
        text = "".join(_write_c(value, 0))
    else:
        text = _write(value)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise Refused(_explain(value, root)) from None
    if len(data) > cap:
        raise TooLarge
    return data


def _check(value, cap):
    """The depth of a value that is lossless; `None` if it is not, or too deep to tell.

    Level by level: a cycle is a value without an end, and ends at the depth limit.
    """
    level, depth, count = [value], 0, 0
    while level:
        kinds = set(map(type, level))
        if not kinds <= _HARMLESS:
            if int in kinds:
                for item in level:
                    if type(item) is int and not INT_MIN <= item <= INT_MAX:
                        return None
            if float in kinds:
                for item in level:
                    if type(item) is float and (
                        item - item != 0.0 or (item == 0.0 and _copysign(1.0, item) < 0.0)
                    ):
                        return None
            if not kinds <= _LEAVES:
                below = []
                for item in level:
                    kind = type(item)
                    if kind is dict:
                        if item and set(map(type, item)) != _ONLY_STR:
                            return None
                        below.extend(item.values())
                    elif kind is list:
                        below.extend(item)
                    elif kind not in _LEAVES:
                        return None
                    if len(below) > cap:
                        raise TooLarge
                depth += 1
                count += len(below)
                if depth > DEPTH_LIMIT:
                    return None
                if count > cap:
                    raise TooLarge
                level = below
                continue
        break
    return depth


def _write(value):
    """JSON text, whatever the depth."""
    chunks = []
    # Iterators over what is left of each open container, and what closes it.
    stack = []
    current = value
    while True:
        kind = type(current)
        if kind is str:
            chunks.append(_quote(current))
        elif current is None:
            chunks.append("null")
        elif kind is bool:
            chunks.append("true" if current else "false")
        elif kind is list:
            chunks.append("[")
            stack.append((iter(current), "]", [""]))
        elif kind is dict:
            chunks.append("{")
            stack.append((iter(current.items()), "}", [""]))
        else:
            chunks.append(repr(current))
        while stack:
            rest, closing, comma = stack[-1]
            try:
                current = next(rest)
            except StopIteration:
                chunks.append(closing)
                stack.pop()
                continue
            chunks.append(comma[0])
            comma[0] = ","
            if closing == "}":
                key, current = current
                chunks.append(_quote(key))
                chunks.append(":")
            break
        else:
            return "".join(chunks)


def output_size(value, cap):
    """The bytes of what is lossless in a value; stops soon after `cap`, and at the depth limit."""
    size, pending, entered = 0, [iter((value,))], [None]
    path = set()
    while pending:
        for item in pending[-1]:
            kind = type(item)
            if kind is str:
                size += _string_size(item)
            elif item is None:
                size += 4
            elif kind is bool:
                size += 5 - item
            elif kind is int:
                if INT_MIN <= item <= INT_MAX:
                    size += len(repr(item))
            elif kind is float:
                size += len(repr(item))
            elif kind is list or kind is dict:
                size += 2 + max(0, len(item) - 1)
                if id(item) not in path:
                    path.add(id(item))
                    entered.append(id(item))
                    if kind is dict:
                        size += sum(_string_size(key) + 1 for key in item if type(key) is str)
                        pending.append(iter(item.values()))
                    else:
                        pending.append(iter(item))
                    if size > cap or len(pending) > DEPTH_LIMIT:
                        return size
                    break
            if size > cap:
                return size
        else:
            pending.pop()
            path.discard(entered.pop())
    return size


def _string_size(text):
    return len(_quote(text).encode("utf-8", "surrogatepass"))


def _explain(value, root):
    """Where a value is not lossless, why, and what to do: a slower walk, after a refusal."""
    # The open containers, their iterators, and how the path came to them.
    path, steps, pending = {id(value): 0}, [], []
    why = _fault(value)
    if why is None and type(value) in (list, dict):
        pending.append((value, _members(value)))
    while why is None and pending:
        container, members = pending[-1]
        for key, item in members:
            step = f"[{key}]" if type(container) is list else _member(key)
            if type(container) is dict and type(key) is not str:
                steps.append("")
                why = f"a key must be a string, not {_kind(key)}: write str(key)"
                break
            if type(key) is str and not _is_text(key):
                steps.append("")
                why = f"a key with {_SURROGATE}"
                break
            why = _fault(item)
            if why is not None:
                steps.append(step)
                break
            if type(item) in (list, dict):
                if id(item) in path:
                    at = _path(root, steps[: path[id(item)]])
                    steps.append(step)
                    why = f"a cycle is not JSON: this is {at} again"
                    break
                steps.append(step)
                path[id(item)] = len(steps)
                if len(pending) >= DEPTH_LIMIT:
                    why = f"more than {DEPTH_LIMIT} levels deep"
                    break
                pending.append((item, _members(item)))
                break
        else:
            pending.pop()
            path.pop(id(container))
            if steps:
                steps.pop()
    return f"{_path(root, steps)}: {why or 'it is not JSON'}"


def _members(value):
    return enumerate(value) if type(value) is list else iter(value.items())


def _member(key):
    if type(key) is not str:
        return ""
    return f".{key}" if key.isidentifier() else f"[{_quote(key)}]"


def _path(root, steps):
    text = root + "".join(steps)
    if len(text) > PATH_LENGTH:
        text = text[: PATH_LENGTH // 2] + "…" + text[-PATH_LENGTH // 2 :]
    return text.encode("utf-8", "backslashreplace").decode()


_SURROGATE = "half of a surrogate pair is not text: use s.encode('utf-8', 'replace').decode()"


def _is_text(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value):
    name = type(value).__name__
    return name if type(name) is str and _is_text(name) else "an object"


def _fault(value):
    """Why a value is not lossless, looked at by itself."""
    kind = type(value)
    if kind is str:
        return None if _is_text(value) else _SURROGATE
    if value is None or kind is bool or kind is list or kind is dict:
        return None
    if kind is int:
        if INT_MIN <= value <= INT_MAX:
            return None
        return "an integer beyond 64 bits is not JSON: pass str(x)"
    if kind is float:
        if _isnan(value):
            return "nan is not JSON: use None"
        if value - value != 0.0:
            return "an infinity is not JSON: use None or a finite number"
        if value == 0.0 and _copysign(1.0, value) < 0.0:
            return "-0.0 is not JSON: write x + 0.0"
        return None
    return _foreign(value, kind)


def _foreign(value, kind):
    name = _kind(value)
    article = "an" if name[:1].lower() in "aeiou" else "a"
    for base, remedy in _REMEDIES:
        if issubclass(kind, base):
            return f"{article} {name} is not JSON: {remedy}"
    if isinstance(getattr(kind, "__dataclass_fields__", None), dict):
        return f"the dataclass {name} is not JSON: pass dataclasses.asdict(x)"
    if issubclass(kind, type):
        return "a class is not JSON"
    module = getattr(kind, "__module__", None)
    if module == "datetime":
        remedy = "pass x.total_seconds()" if name == "timedelta" else "pass x.isoformat()"
        return f"a {name} is not JSON: {remedy}"
    if module == "decimal" or module == "fractions":
        return f"a {name} is not JSON: pass str(x), or float(x) if that is exact enough"
    if hasattr(kind, "__await__"):
        return f"{article} {name} is not JSON: `await` it first"
    if name in ("function", "builtin_function_or_method", "method"):
        return "a function is not JSON: call it"
    return f"{article} {name} is not JSON: pass the fields you need in a dict"


_REMEDIES = (
    (bool, "pass bool(x)"),
    (int, "pass int(x), or x.value of an enum"),
    (float, "pass float(x)"),
    (str, "pass str(x), or x.value of an enum"),
    (dict, "pass dict(x)"),
    (list, "pass list(x)"),
    (tuple, "pass list(x)"),
    (set, "pass list(x), or sorted(x)"),
    (frozenset, "pass list(x), or sorted(x)"),
    (bytes, "pass x.decode(), or base64 text"),
    (bytearray, "pass x.decode(), or base64 text"),
    (memoryview, "pass bytes(x).decode(), or base64 text"),
    (complex, "pass [x.real, x.imag]"),
    (range, "pass list(x)"),
    (type({}.keys()), "pass list(x)"),
    (type({}.values()), "pass list(x)"),
    (type({}.items()), "pass dict(x), or a list of lists"),
    (type(iter([])), "pass list(x)"),
    (map, "pass list(x)"),
    (filter, "pass list(x)"),
    (zip, "pass a list of lists"),
    (enumerate, "pass a list of lists"),
    (type(_ for _ in ()), "pass list(x)"),
    (BaseException, "pass str(x)"),
)


def decode(text):
    """The value of a JSON text of the host, whatever its depth."""
    try:
        return _scan(text, 0)[0]
    except RecursionError:
        return _read(text)


_END_OF_SCALAR = frozenset(",]} \n\t\r")


def _read(text):
    """Reads JSON text without recursion. Its author is the host, so it is well-formed."""
    at, stack = 0, []
    while True:
        char = text[at]
        if char in " \n\t\r,:":
            at += 1
            continue
        if char == "[" or char == "{":
            # The container, and the key that waits for its value.
            stack.append([[] if char == "[" else {}, None])
            at += 1
            continue
        if char == "]" or char == "}":
            value = stack.pop()[0]
            at += 1
        elif char == '"':
            value, at = _scan_string(text, at + 1, True)
            if stack and type(stack[-1][0]) is dict and stack[-1][1] is None:
                stack[-1][1] = (value,)
                continue
        else:
            value, at = _scan(text, at)
        if not stack:
            return value
        container, key = stack[-1]
        if key is None:
            container.append(value)
        else:
            container[key[0]] = value
            stack[-1][1] = None
