type Level =
  | { kind: "none" }
  | { kind: "low"; left: number }
  | { kind: "plenty" };

function level(stock: number): Level {
  if (stock === 0) return { kind: "none" };
  return stock < 10 ? { kind: "low", left: stock } : { kind: "plenty" };
}
function describe(l: Level): string {
  switch (l.kind) {
    case "none":
      return "sold out";
    case "low":
      return `only ${l.left} left`;
    case "plenty":
      return "in stock";
    default: {
      const never: never = l;
      throw new Error(`unhandled ${never}`);
    }
  }
}
const skus = ["K-1", "M-7", "D-3"];
const report: [string, string][] = [];
for (const sku of skus) {
  const { stock } = await tools.product_get({ sku });
  report.push([sku, describe(level(stock))]);
}
return Object.fromEntries(report);
