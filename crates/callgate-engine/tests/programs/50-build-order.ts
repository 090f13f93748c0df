const steps: Record<string, string[]> = {
  deploy: ["test", "package"],
  test: ["compile"],
  package: ["compile", "assets"],
  compile: ["fetch"],
  assets: [],
  fetch: [],
};
function order(graph: Record<string, string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): void => {
    if (done.has(node)) return;
    if (path.includes(node)) throw new Error(`cycle: ${[...path.slice(path.indexOf(node)), node].join(" -> ")}`);
    path.push(node);
    graph[node].forEach(visit);
    path.pop();
    done.add(node);
  };
  Object.keys(graph).forEach(visit);
  return [...done];
}
const plan = order(steps);
let cycle: string | null = null;
try {
  order({ ...steps, fetch: ["deploy"] });
} catch (e: any) {
  cycle = e.message;
}
await tools.store_put({ key: "plan", value: { plan, cycle } });
return await tools.store_get({ key: "plan" });
