// Runs before the program, in every fresh interpreter. What it captures here cannot be replaced by the program.
(function (load, log, schedule, cancel) {
  "use strict";
  const global = globalThis;
  const { Error, EvalError, TypeError } = global;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { apply } = Reflect;
  const define = (target, name, value, enumerable) =>
    defineProperty(target, name, { value, enumerable, writable: true, configurable: true });
  const hide = (target, name, value) => define(target, name, value, false);

  // Code from strings.
  const noCode = (sample) => {
    const prototype = getPrototypeOf(sample);
    const { name } = prototype.constructor;
    const constructor = function () {
      throw new EvalError("code cannot be made from strings here: write the function itself");
    };
    defineProperty(constructor, "name", { value: name });
    defineProperty(constructor, "prototype", { value: prototype, writable: false });
    hide(prototype, "constructor", constructor);
    return constructor;
  };
  const functionToString = global.Function.prototype.toString;
  [async function () {}, function* () {}, async function* () {}].forEach(noCode);
  hide(global, "Function", noCode(function () {}));
  hide(global, "eval", {
    eval() {
      throw new EvalError("code cannot be made from strings here: write the code itself");
    },
  }.eval);

  // A bigint prints its digits.
  const { rawJSON } = JSON;
  const digits = BigInt.prototype.toString;
  hide(BigInt.prototype, "toJSON", {
    toJSON() {
      return rawJSON(apply(digits, this, []));
    },
  }.toJSON);

  // Output and time.
  hide(global, "console", { log, info: log, warn: log, error: log, debug: log });
  const timer = (repeat, callback, delay, args) => {
    if (typeof callback !== "function") throw new TypeError("a timer takes a function first");
    return schedule(callback, +delay, args, repeat);
  };
  hide(global, "setTimeout", function setTimeout(callback, delay, ...args) {
    return timer(false, callback, delay, args);
  });
  hide(global, "setInterval", function setInterval(callback, delay, ...args) {
    return timer(true, callback, delay, args);
  });
  hide(global, "clearTimeout", function clearTimeout(id) {
    cancel(+id);
  });
  hide(global, "clearInterval", function clearInterval(id) {
    cancel(+id);
  });
  const resolved = Promise.resolve();
  const { then } = Promise.prototype;
  hide(global, "queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask takes a function");
    apply(then, resolved, [() => void callback()]);
  });

  // Larger parts come when they are first asked for.
  for (const name of ["URL", "URLSearchParams", "TextEncoder", "TextDecoder", "structuredClone", "atob", "btoa"]) {
    defineProperty(global, name, {
      configurable: true,
      get() {
        const parts = load();
        const value = parts[name];
        hide(global, name, value);
        return value;
      },
      set(value) {
        hide(global, name, value);
      },
    });
  }

  const errorClass = (name, property) =>
    ({
      [name]: class extends Error {
        constructor(message, member) {
          super(message);
          hide(this, "name", name);
          define(this, property, member, true);
        }
      },
    })[name];

  // The text of a regular expression, whatever properties the program gave it.
  const getter = (name) => getOwnPropertyDescriptor(RegExp.prototype, name).get;
  const source = getter("source");
  const flags = [
    ["d", getter("hasIndices")],
    ["g", getter("global")],
    ["i", getter("ignoreCase")],
    ["m", getter("multiline")],
    ["s", getter("dotAll")],
    ["u", getter("unicode")],
    ["v", getter("unicodeSets")],
    ["y", getter("sticky")],
  ];
  const regExpText = function () {
    let text = "/" + apply(source, this, []) + "/";
    for (let at = 0; at < flags.length; at++) if (apply(flags[at][1], this, [])) text += flags[at][0];
    return text;
  };

  const next = (iterator) => getPrototypeOf(iterator).next;
  return [
    Object.prototype,
    Array.prototype,
    new Error(),
    getOwnPropertyDescriptor(Error.prototype, "stack").get,
    errorClass,
    Date.prototype.toISOString,
    regExpText,
    Symbol.prototype.toString,
    digits,
    functionToString,
    Map.prototype.entries,
    next(new Map().entries()),
    Set.prototype.values,
    next(new Set().values()),
    getOwnPropertyDescriptor(Map.prototype, "size").get,
    getOwnPropertyDescriptor(Set.prototype, "size").get,
    getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), "length").get,
    apply,
  ];
});
