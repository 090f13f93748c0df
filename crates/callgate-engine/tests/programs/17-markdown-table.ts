const hits: Array<{ sku: string; name: string }> = await tools.products_search({});
const products = await Promise.all(hits.map(({ sku }) => tools.product_get({ sku })));
const escape = (s: string) => s.replaceAll("|", "\\|");
const rows = products.map((p) => `| ${p.sku.padEnd(4)} | ${escape(p.name || "–")} | ${p.price.toFixed(2).padStart(7)} | ${p.stock ? "yes" : "**no**"} |`);
return ["| SKU | Name | Price | In stock |", "| --- | --- | ---: | --- |", ...rows].join("\n");
