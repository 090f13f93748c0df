type Tree = Record<string, unknown>;
const isObject = (v: unknown): v is Tree => typeof v === "object" && v !== null && !Array.isArray(v);
function merge(...trees: Tree[]): Tree {
  const out: Tree = {};
  for (const tree of trees) {
    for (const [key, value] of Object.entries(tree)) {
      const old = out[key];
      out[key] = isObject(old) && isObject(value) ? merge(old, value) : structuredClone(value);
    }
  }
  return out;
}
const { rules, ...base } = JSON.parse(await tools.file_read({ path: "config.json" })) as Tree;
return merge(base, { server: { port: 8080, tls: { enabled: true } } }, { debug: true, server: { hosts: ["b", "c"] } });
