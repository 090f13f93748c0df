"""The bootstrap of Python workers, by itself: `python3 -m unittest` in this directory."""

import json
import random
import sys
import unittest

import harness

NAMES = harness.load()
encode, decode, look = NAMES["encode"], NAMES["decode"], NAMES["look"]
Refused, TooLarge = NAMES["Refused"], NAMES["TooLarge"]
CAP = 1 << 24


def some_value(rng, depth):
    kind = rng.randrange(9 if depth else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, 2**53 + 1, 2**64 - 1, -(2**63), rng.randrange(10**6)])
    if kind == 2:
        return rng.choice([0.0, 1.5, -2.5e-300, 5e-324, 1e22, 1.7976931348623157e308])
    if kind < 6:
        return rng.choice(["", "x", "\0\n\"\\", "é€🦀", "\u2028", "a" * 50])
    items = [some_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return items if kind == 6 else {f"k{n}": item for n, item in enumerate(items)}


class Values(unittest.TestCase):
    def test_any_value_goes_there_and_back(self):
        rng = random.Random(5)
        for _ in range(2000):
            value = some_value(rng, 4)
            data = encode(value, "value", CAP)
            self.assertEqual(json.loads(data), value)
            self.assertEqual(repr(decode(data.decode())), repr(value))
            self.assertEqual(NAMES["_write"](value).encode(), data)
            self.assertEqual(repr(NAMES["_read"](data.decode())), repr(value))
            self.assertEqual(NAMES["output_size"](value, CAP), len(data))

    def test_deep_values_go_there_and_back(self):
        for wrap in (lambda x: [x], lambda x: {"k": x}):
            value = 1
            for _ in range(4999):
                value = wrap(value)
            data = encode(value, "value", CAP)
            back = decode(data.decode())
            self.assertEqual(encode(back, "value", CAP), data)
            with self.assertRaises(Refused):
                encode(wrap(wrap(value)), "value", CAP)

    def test_shared_values_are_bounded(self):
        value = [1]
        for _ in range(60):
            value = [value, value]
        with self.assertRaises(TooLarge):
            encode(value, "value", 1 << 16)

    def test_refusals_name_the_path_and_the_remedy(self):
        for value, told in [
            ((1,), "v: a tuple is not JSON: pass list(x)"),
            ([{"a": {1}}], "v[0].a: a set is not JSON: pass list(x), or sorted(x)"),
            ({"a b": float("nan")}, 'v["a b"]: nan is not JSON: use None'),
            ({"x": [0, -0.0]}, "v.x[1]: -0.0 is not JSON: write x + 0.0"),
            ([2**64], "v[0]: an integer beyond 64 bits is not JSON: pass str(x)"),
            ({1: 2}, "v: a key must be a string, not int: write str(key)"),
        ]:
            with self.assertRaises(Refused) as refused:
                encode(value, "v", CAP)
            self.assertEqual(str(refused.exception), told)


class Programs(unittest.TestCase):
    def ends(self, source, end, log=()):
        got = harness.run(source, NAMES)
        self.assertEqual((got[0], got[1]), (end, list(log)), source)

    def test_a_program_returns_and_prints(self):
        self.ends("print('a')\nreturn await tools.echo([1])", {"value": [1]}, ["a"])
        self.ends("x = 1", {})

    def test_failures_have_kinds_and_places(self):
        end, _, _ = harness.run("x = 1\nreturn undefined", NAMES)
        failure = end["failure"]
        self.assertEqual((failure["kind"], failure["line"]), ("exception", 2))
        self.assertIn("NameError", failure["message"])
        end, _, _ = harness.run("return {1: 2}", NAMES)
        self.assertEqual(end["failure"]["kind"], "invalid-output")

    def test_any_text_is_run_or_rejected(self):
        rng = random.Random(7)
        pieces = ["await ", "tools.echo(", ")", "\n", "    ", "x = ", "def f():", "return ", "'", "[1", "]", "yield ",
                  "import json", "lambda: ", "if 1:", "try:", "except:", "é", "\0", "\ud800", "global x", "nonlocal x"]
        for _ in range(500):
            source = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
            try:
                NAMES["build"](NAMES["parse"](source), source)
            except NAMES["Rejected"] as why:
                self.assertTrue(why.text.startswith("syntax error"), why.text)
            look(source, "tools", ["json"])

    def test_pre_flight_says_what_it_sees(self):
        seen = look("await tools.echo({'a': -1}, 2)", "tools", [])
        call = {
            "member": "echo",
            "at": [1, 13],
            "argument": ["x", 1, 7, "arguments go in one dict, or as keywords"],
            "lookup": True,
            "refusal": True,
            "forgotten": False,
        }
        self.assertEqual(seen, {"calls": [call], "findings": []})


if __name__ == "__main__":
    unittest.main()
