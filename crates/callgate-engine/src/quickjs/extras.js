// The parts of the environment that few programs need. Made when the first of them is asked for.
(function () {
  "use strict";

  const fail = (name, message) => Object.assign(new Error(message), { name });

  // Text and bytes.

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }

    encode(input = "") {
      const text = String(input);
      const bytes = new Uint8Array(text.length * 3);
      return bytes.slice(0, utf8(text, bytes).written);
    }

    encodeInto(input, target) {
      return utf8(String(input), target);
    }
  }

  function utf8(text, bytes) {
    let read = 0;
    let written = 0;
    while (read < text.length) {
      let code = text.codePointAt(read);
      const units = code > 0xffff ? 2 : 1;
      if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (written + size > bytes.length) break;
      if (size === 1) {
        bytes[written] = code;
      } else {
        for (let at = size - 1; at > 0; at--) {
          bytes[written + at] = 0x80 | (code & 0x3f);
          code >>= 6;
        }
        bytes[written] = [0, 0, 0xc0, 0xe0, 0xf0][size] | code;
      }
      written += size;
      read += units;
    }
    return { read, written };
  }

  class TextDecoder {
    #fatal;
    #keepMark;
    #rest = [];
    #started = false;

    constructor(label = "utf-8", options = {}) {
      if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(String(label).trim().toLowerCase())) {
        throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
      }
      this.#fatal = Boolean(options.fatal);
      this.#keepMark = Boolean(options.ignoreBOM);
    }

    get encoding() {
      return "utf-8";
    }

    get fatal() {
      return this.#fatal;
    }

    get ignoreBOM() {
      return this.#keepMark;
    }

    decode(input = new Uint8Array(), options = {}) {
      let bytes = asBytes(input);
      if (this.#rest.length > 0) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const end = options.stream ? complete(bytes) : bytes.length;
      this.#rest = Array.from(bytes.subarray(end));
      let text = decodeUtf8(bytes.subarray(0, end), this.#fatal);
      if (!this.#started && text.length > 0) {
        if (!this.#keepMark && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
        this.#started = true;
      }
      if (!options.stream) this.#started = false;
      return text;
    }
  }

  function asBytes(input) {
    if (input instanceof ArrayBuffer) return new Uint8Array(input);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    throw new TypeError("decode takes an ArrayBuffer or a typed array");
  }

  // Where the last character that is complete ends.
  function complete(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back];
      if (byte >= 0xc0) {
        const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        return size > back ? bytes.length - back : bytes.length;
      }
      if (byte < 0x80) break;
    }
    return bytes.length;
  }

  function decodeUtf8(bytes, fatal) {
    const parts = [];
    let codes = [];
    let at = 0;
    while (at < bytes.length) {
      const first = bytes[at++];
      let code = first;
      if (first >= 0x80) {
        const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
        let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
        let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
        code = more === 0 ? -1 : first & (0x3f >> more);
        for (let step = 0; step < more; step++) {
          const next = bytes[at];
          if (next === undefined || next < low || next > high) {
            code = -1;
            break;
          }
          at++;
          code = (code << 6) | (next & 0x3f);
          low = 0x80;
          high = 0xbf;
        }
        if (code === -1) {
          if (fatal) throw new TypeError("the bytes are not UTF-8");
          code = 0xfffd;
        }
      }
      codes.push(code);
      if (codes.length === 4096) {
        parts.push(String.fromCodePoint.apply(null, codes));
        codes = [];
      }
    }
    parts.push(String.fromCodePoint.apply(null, codes));
    return parts.join("");
  }

  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  function btoa(input) {
    const text = String(input);
    const parts = [];
    for (let at = 0; at < text.length; at += 3) {
      let bits = 0;
      for (let step = 0; step < 3; step++) {
        const code = at + step < text.length ? text.charCodeAt(at + step) : 0;
        if (code > 0xff) throw fail("InvalidCharacterError", "btoa takes characters up to U+00FF: encode the text with TextEncoder first");
        bits = (bits << 8) | code;
      }
      const left = text.length - at;
      parts.push(
        ALPHABET[bits >> 18] + ALPHABET[(bits >> 12) & 63] + (left > 1 ? ALPHABET[(bits >> 6) & 63] : "=") + (left > 2 ? ALPHABET[bits & 63] : "="),
      );
    }
    return parts.join("");
  }

  function atob(input) {
    let text = String(input).replace(/[\t\n\f\r ]/g, "");
    if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
    if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw fail("InvalidCharacterError", "the text is not base64");
    const parts = [];
    for (let at = 0; at < text.length; at += 4) {
      const group = text.slice(at, at + 4);
      let bits = 0;
      for (let step = 0; step < 4; step++) bits = (bits << 6) | (step < group.length ? ALPHABET.indexOf(group[step]) : 0);
      parts.push(String.fromCharCode((bits >> 16) & 255, (bits >> 8) & 255, bits & 255).slice(0, group.length - 1));
    }
    return parts.join("");
  }

  // Copies.

  function structuredClone(value, options) {
    if (options && options.transfer && options.transfer.length > 0) {
      throw fail("DataCloneError", "structuredClone transfers nothing here: leave `transfer` out");
    }
    const copies = new Map();
    const pending = [];
    const copy = (original) => {
      if (typeof original === "function" || typeof original === "symbol") {
        throw fail("DataCloneError", `a ${typeof original} cannot be cloned`);
      }
      if (typeof original !== "object" || original === null) return original;
      if (copies.has(original)) return copies.get(original);
      const made = shell(original);
      copies.set(original, made);
      pending.push([original, made]);
      return made;
    };
    const result = copy(value);
    while (pending.length > 0) {
      const [from, to] = pending.pop();
      if (from instanceof Map) {
        for (const [key, item] of Map.prototype.entries.call(from)) Map.prototype.set.call(to, copy(key), copy(item));
      } else if (from instanceof Set) {
        for (const item of Set.prototype.values.call(from)) Set.prototype.add.call(to, copy(item));
      } else if (from instanceof Error) {
        if (Object.hasOwn(from, "cause")) define(to, "cause", copy(from.cause), false);
      } else if (Array.isArray(from) || isPlain(from)) {
        for (const key of Object.keys(from)) define(to, key, copy(from[key]), true);
      }
    }
    return result;
  }

  const define = (target, name, value, enumerable) =>
    Object.defineProperty(target, name, { value, enumerable, writable: true, configurable: true });

  const isPlain = (value) => Object.prototype.toString.call(value) === "[object Object]";

  function shell(value) {
    if (Array.isArray(value)) return new Array(value.length);
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (value instanceof Map) return new Map();
    if (value instanceof Set) return new Set();
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (ArrayBuffer.isView(value)) {
      const bytes = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
      return new value.constructor(bytes);
    }
    if (value instanceof Error) {
      const kinds = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
      const Kind = Object.hasOwn(kinds, value.name) ? kinds[value.name] : Error;
      return new Kind(value.message);
    }
    if (value instanceof Boolean || value instanceof Number || value instanceof String) return Object(value.valueOf());
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
      throw fail("DataCloneError", `a ${value.constructor.name} cannot be cloned`);
    }
    return {};
  }

  // Addresses.

  const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
  const isSpecial = (protocol) => Object.hasOwn(PORTS, protocol);

  const FRAGMENT = /[^\x21\x23-\x3b\x3d\x3f-\x5f\x61-\x7e]/gu;
  const QUERY = /[^\x21\x24-\x3b\x3d\x3f-\x7e]/gu;
  const SPECIAL_QUERY = /[^\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]/gu;
  const PATH = /[^\x21\x24-\x3b\x3d\x40-\x5d\x5f\x61-\x7a\x7c\x7e]/gu;
  const USER = /[^\x21\x24-\x2e\x30-\x39\x41-\x5a\x5f\x61-\x7a\x7e]/gu;
  const CONTROL = /[^\x20-\x7e]/gu;

  const escapeOne = (char) => {
    const escaped = encodeURIComponent(char);
    return escaped === char ? "%" + char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0") : escaped;
  };
  const escape = (text, allowed) => text.toWellFormed().replace(allowed, escapeOne);

  function unescape(text) {
    if (!text.includes("%")) return text;
    const bytes = new TextEncoder().encode(text);
    const out = new Uint8Array(bytes.length);
    let length = 0;
    for (let at = 0; at < bytes.length; at++) {
      const pair = bytes[at] === 0x25 ? String.fromCharCode(bytes[at + 1], bytes[at + 2]) : "";
      if (/^[0-9a-fA-F]{2}$/.test(pair)) {
        out[length++] = parseInt(pair, 16);
        at += 2;
      } else {
        out[length++] = bytes[at];
      }
    }
    return decodeUtf8(out.subarray(0, length), false);
  }

  const formEscape = (text) =>
    encodeURIComponent(String(text).toWellFormed())
      .replace(/[!'()~]/g, escapeOne)
      .replace(/%20/g, "+");
  const formUnescape = (text) => unescape(text.replace(/\+/g, " "));

  let attach;

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};

    static {
      attach = (params, query, changed) => {
        params.#pairs = parsePairs(query);
        params.#changed = changed;
      };
    }

    constructor(init = "") {
      if (init !== null && typeof init === "object") {
        const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
        for (const pair of pairs) {
          const [name, value, ...rest] = pair;
          if (value === undefined || rest.length > 0) throw new TypeError("each pair has a name and a value");
          this.#pairs.push([String(name), String(value)]);
        }
      } else {
        this.#pairs = parsePairs(String(init).replace(/^\?/, ""));
      }
    }

    get size() {
      return this.#pairs.length;
    }

    append(name, value) {
      this.#pairs.push([String(name), String(value)]);
      this.#changed();
    }

    delete(name, value) {
      this.#pairs = this.#pairs.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
      this.#changed();
    }

    get(name) {
      const pair = this.#pairs.find(([n]) => n === String(name));
      return pair ? pair[1] : null;
    }

    getAll(name) {
      return this.#pairs.filter(([n]) => n === String(name)).map(([, value]) => value);
    }

    has(name, value) {
      return this.#pairs.some(([n, v]) => n === String(name) && (value === undefined || v === String(value)));
    }

    set(name, value) {
      const first = this.#pairs.findIndex(([n]) => n === String(name));
      if (first < 0) {
        this.#pairs.push([String(name), String(value)]);
      } else {
        this.#pairs[first][1] = String(value);
        this.#pairs = this.#pairs.filter(([n], at) => at <= first || n !== String(name));
      }
      this.#changed();
    }

    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }

    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }

    *entries() {
      for (let at = 0; at < this.#pairs.length; at++) yield [...this.#pairs[at]];
    }

    *keys() {
      for (const [name] of this.entries()) yield name;
    }

    *values() {
      for (const [, value] of this.entries()) yield value;
    }

    [Symbol.iterator]() {
      return this.entries();
    }

    toString() {
      return this.#pairs.map(([name, value]) => `${formEscape(name)}=${formEscape(value)}`).join("&");
    }
  }

  const parsePairs = (query) =>
    query
      .split("&")
      .filter((part) => part !== "")
      .map((part) => {
        const at = part.indexOf("=");
        return at < 0 ? [formUnescape(part), ""] : [formUnescape(part.slice(0, at)), formUnescape(part.slice(at + 1))];
      });

  const invalid = (input) => new TypeError(`Invalid URL: ${input}`);

  function punycode(label) {
    const codes = Array.from(label, (char) => char.codePointAt(0));
    let output = codes.filter((code) => code < 0x80).map((code) => String.fromCharCode(code)).join("");
    const basic = output.length;
    if (basic > 0) output += "-";
    let [code, delta, bias, handled] = [128, 0, 72, basic];
    while (handled < codes.length) {
      const next = Math.min(...codes.filter((other) => other >= code));
      delta += (next - code) * (handled + 1);
      code = next;
      for (const other of codes) {
        if (other < code) delta++;
        if (other !== code) continue;
        let rest = delta;
        for (let k = 36; ; k += 36) {
          const threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          const digit = rest < threshold ? rest : threshold + ((rest - threshold) % (36 - threshold));
          output += String.fromCharCode(digit + (digit < 26 ? 97 : 22));
          if (rest < threshold) break;
          rest = Math.floor((rest - threshold) / (36 - threshold));
        }
        delta = handled === basic ? Math.floor(delta / 700) : delta >> 1;
        delta += Math.floor(delta / (handled + 1));
        let k = 0;
        for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
        bias = Math.floor(k + (36 * delta) / (delta + 38));
        delta = 0;
        handled++;
      }
      delta++;
      code++;
    }
    return "xn--" + output;
  }

  function parseHost(text, special, input) {
    if (text.startsWith("[")) {
      if (!/^\[[0-9a-fA-F:.]+\]$/.test(text)) throw invalid(input);
      return ipv6(text.slice(1, -1), input);
    }
    if (!special) {
      if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(text)) throw invalid(input);
      return escape(text, CONTROL);
    }
    const host = unescape(text)
      .normalize("NFKC")
      .toLowerCase()
      .split(/[.\u3002]/)
      .map((label) => (/[^\0-\x7f]/.test(label) ? punycode(label) : label))
      .join(".");
    if (host === "" || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(host)) throw invalid(input);
    return ipv4(host, input) ?? host;
  }

  function ipv4(host, input) {
    const parts = host.replace(/\.$/, "").split(".");
    if (!/^(0x[0-9a-f]*|[0-9]+)$/.test(parts.at(-1))) return undefined;
    const numbers = parts.map((part) => {
      const [digits, radix] = /^0x/.test(part) ? [part.slice(2) || "0", 16] : /^0./.test(part) ? [part.slice(1), 8] : [part, 10];
      const valid = { 8: /^[0-7]+$/, 10: /^[0-9]+$/, 16: /^[0-9a-f]+$/ }[radix].test(digits);
      return valid ? parseInt(digits, radix) : NaN;
    });
    const last = numbers.pop();
    if (parts.length > 4 || numbers.some((part) => !(part <= 255)) || !(last < 256 ** (4 - numbers.length))) throw invalid(input);
    const value = numbers.reduce((sum, part, at) => sum + part * 256 ** (3 - at), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
  }

  function ipv6(text, input) {
    let address = text.toLowerCase();
    const tail = /^(.*:)([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$/.exec(address);
    if (tail) {
      const [a, b, c, d] = tail.slice(2).map(Number);
      if ([a, b, c, d].some((part) => part > 255)) throw invalid(input);
      address = tail[1] + (a * 256 + b).toString(16) + ":" + (c * 256 + d).toString(16);
    }
    const halves = address.split("::");
    const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
    const count = groups.flat().length;
    if (halves.length > 2 || (halves.length === 2 ? count > 7 : count !== 8)) throw invalid(input);
    if (groups.flat().some((group) => !/^[0-9a-f]{1,4}$/.test(group))) throw invalid(input);
    const full = halves.length === 2 ? [...groups[0], ...Array(8 - count).fill("0"), ...groups[1]] : groups[0];
    const short = full.map((group) => parseInt(group, 16).toString(16));
    let best = "";
    for (const run of short.join(":").matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)) if (run[0].replace(/^:/, "").length > best.length) best = run[0].replace(/^:/, "");
    const joined = short.join(":");
    if (best === "") return `[${joined}]`;
    const at = joined.search(new RegExp(`(?:^|:)${best}(?=:|$)`)) + (joined.startsWith(best) ? 0 : 1);
    return `[${joined.slice(0, at).replace(/:$/, "")}::${joined.slice(at + best.length).replace(/^:/, "")}]`;
  }

  function parsePort(text, protocol, input) {
    if (text === "") return "";
    if (!/^[0-9]+$/.test(text) || Number(text) > 65535) throw invalid(input);
    const port = String(Number(text));
    return port === PORTS[protocol] ? "" : port;
  }

  function parseAuthority(url, text, input) {
    const at = text.lastIndexOf("@");
    if (at >= 0) {
      const [, username, password = ""] = /^([^:]*)(?::(.*))?$/su.exec(text.slice(0, at));
      url.username = escape(username, USER);
      url.password = escape(password, USER);
    }
    const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/su.exec(text.slice(at + 1)) ?? [];
    if (host === undefined) throw invalid(input);
    url.host = url.protocol === "file:" && (host === "" || host === "localhost") ? "" : parseHost(host, isSpecial(url.protocol), input);
    if (port !== "" && url.protocol === "file:") throw invalid(input);
    url.port = parsePort(port, url.protocol, input);
  }

  function parsePath(text, protocol, before) {
    const segments = [...before];
    const parts = text.split(isSpecial(protocol) ? /[/\\]/ : "/");
    parts.forEach((part, at) => {
      const last = at === parts.length - 1;
      const dots = part.replace(/%2e/gi, ".");
      if (dots === "..") segments.pop();
      else if (dots !== ".") segments.push(escape(part, PATH));
      if (last && (dots === "." || dots === "..")) segments.push("");
    });
    return segments;
  }

  function parse(input, base) {
    const text = String(input)
      .replace(/^[\0-\x20]+|[\0-\x20]+$/g, "")
      .replace(/[\t\n\r]/g, "");
    const hashAt = text.indexOf("#");
    const hash = hashAt < 0 ? null : escape(text.slice(hashAt + 1), FRAGMENT);
    let rest = hashAt < 0 ? text : text.slice(0, hashAt);
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(rest);
    const url = { protocol: "", username: "", password: "", host: null, port: "", path: [], opaque: null, query: null, hash };
    if (scheme) {
      url.protocol = scheme[1].toLowerCase() + ":";
      rest = rest.slice(scheme[0].length);
    } else if (!base) {
      throw invalid(input);
    } else {
      url.protocol = base.protocol;
    }
    if (!scheme && base.opaque !== null) {
      if (rest !== "" || hash === null) throw invalid(input);
      return { ...base, hash };
    }
    const special = isSpecial(url.protocol);
    const queryAt = rest.indexOf("?");
    if (queryAt >= 0) {
      url.query = escape(rest.slice(queryAt + 1), special ? SPECIAL_QUERY : QUERY);
      rest = rest.slice(0, queryAt);
    }
    const slashes = special ? /^[/\\]{2}/ : /^\/\//;
    const relative = base && base.opaque === null && base.protocol === url.protocol && !(scheme && (!special || slashes.test(rest)));
    if (slashes.test(rest) || (scheme && special && url.protocol !== "file:" && !relative)) {
      rest = special && url.protocol !== "file:" ? rest.replace(/^[/\\]*/, "") : rest.slice(2);
      const end = rest.search(special ? /[/\\]/ : /\//);
      parseAuthority(url, end < 0 ? rest : rest.slice(0, end), input);
      rest = end < 0 ? "" : rest.slice(end + 1);
      url.path = end < 0 && !special ? [] : parsePath(rest, url.protocol, []);
      return url;
    }
    if (scheme && !special && !rest.startsWith("/")) {
      url.opaque = escape(rest, CONTROL);
      return url;
    }
    if (!relative) {
      if (url.protocol === "file:") url.host = "";
      url.path = parsePath(rest.replace(/^[/\\]/, ""), url.protocol, []);
      return url;
    }
    for (const part of ["username", "password", "host", "port"]) url[part] = base[part];
    if (rest === "") {
      url.path = base.path;
      if (queryAt < 0) url.query = base.query;
    } else if (/^[/\\]/.test(rest) && (special || rest.startsWith("/"))) {
      url.path = parsePath(rest.slice(1), url.protocol, []);
    } else {
      url.path = parsePath(rest, url.protocol, base.path.slice(0, -1));
    }
    return url;
  }

  class URL {
    #url;
    #params = null;

    static canParse(input, base) {
      return URL.parse(input, base) !== null;
    }

    static parse(input, base) {
      try {
        return new URL(input, base);
      } catch {
        return null;
      }
    }

    constructor(input, base) {
      this.#url = parse(input, base === undefined ? null : parse(base, null));
    }

    get href() {
      const { protocol, username, password, host, port, hash } = this.#url;
      const user = username || password ? username + (password ? ":" + password : "") + "@" : "";
      const authority = host === null ? "" : "//" + user + host + (port ? ":" + port : "");
      return protocol + authority + this.pathname + this.#query + (hash === null ? "" : "#" + hash);
    }

    set href(value) {
      this.#url = parse(value, null);
      this.#refresh();
    }

    get #query() {
      return this.#url.query === null ? "" : "?" + this.#url.query;
    }

    #refresh() {
      if (this.#params) this.#attach();
    }

    #attach() {
      attach(this.#params, this.#url.query ?? "", () => {
        this.#url.query = this.#params.toString() || null;
      });
    }

    get origin() {
      const { protocol, host, port } = this.#url;
      return isSpecial(protocol) && protocol !== "file:" ? `${protocol}//${host}${port ? ":" + port : ""}` : "null";
    }

    get protocol() {
      return this.#url.protocol;
    }

    set protocol(value) {
      const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):?/.exec(String(value));
      const protocol = scheme && scheme[1].toLowerCase() + ":";
      const kinds = [protocol, this.#url.protocol];
      if (!protocol || isSpecial(kinds[0]) !== isSpecial(kinds[1]) || kinds.includes("file:")) return;
      this.#url.protocol = protocol;
      if (this.#url.port === PORTS[protocol]) this.#url.port = "";
    }

    get username() {
      return this.#url.username;
    }

    set username(value) {
      if (this.#url.host) this.#url.username = escape(String(value), USER);
    }

    get password() {
      return this.#url.password;
    }

    set password(value) {
      if (this.#url.host) this.#url.password = escape(String(value), USER);
    }

    get host() {
      return (this.#url.host ?? "") + (this.#url.port ? ":" + this.#url.port : "");
    }

    set host(value) {
      if (this.#url.opaque !== null) return;
      try {
        const { protocol, username, password } = this.#url;
        const parsed = { protocol, username, password, port: this.#url.port };
        const text = String(value).replace(/[/\\?#].*$/s, "");
        parseAuthority(parsed, text, text);
        this.#url.host = parsed.host;
        if (/:[0-9]+$/.test(text)) this.#url.port = parsed.port;
      } catch {
        // A host that is none changes nothing.
      }
    }

    get hostname() {
      return this.#url.host ?? "";
    }

    set hostname(value) {
      if (!String(value).replace(/^\[[^\]]*\]/, "").includes(":")) this.host = value;
    }

    get port() {
      return this.#url.port;
    }

    set port(value) {
      const digits = /^[0-9]*/.exec(String(value))[0];
      if (this.#url.host && (digits !== "" || String(value) === "") && Number(digits) <= 65535) {
        this.#url.port = parsePort(digits, this.#url.protocol, digits);
      }
    }

    get pathname() {
      const { opaque, path, host, protocol } = this.#url;
      if (opaque !== null) return opaque;
      if (path.length === 0) return isSpecial(protocol) ? "/" : "";
      return (host === null && path.length > 1 && path[0] === "" ? "/." : "") + "/" + path.join("/");
    }

    set pathname(value) {
      if (this.#url.opaque !== null) return;
      const text = String(value).replace(/[?#]/g, escapeOne);
      this.#url.path = parsePath(text.replace(/^[/\\]/, ""), this.#url.protocol, []);
    }

    get search() {
      return this.#url.query ? this.#query : "";
    }

    set search(value) {
      const text = String(value).replace(/^\?/, "");
      this.#url.query = text === "" ? null : escape(text.replace(/#/g, "%23"), isSpecial(this.#url.protocol) ? SPECIAL_QUERY : QUERY);
      this.#refresh();
    }

    get searchParams() {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        this.#attach();
      }
      return this.#params;
    }

    get hash() {
      return this.#url.hash ? "#" + this.#url.hash : "";
    }

    set hash(value) {
      const text = String(value).replace(/^#/, "");
      this.#url.hash = text === "" ? null : escape(text, FRAGMENT);
    }

    toString() {
      return this.href;
    }

    toJSON() {
      return this.href;
    }
  }

  return { URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, atob, btoa };
});
