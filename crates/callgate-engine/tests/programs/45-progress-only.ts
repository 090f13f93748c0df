const skus: string[] = ["K-1", "M-7", "D-3", "C-9"];
for (const [n, sku] of skus.entries()) {
  const { name, price, tags } = await tools.product_get({ sku });
  console.log(`[${n + 1}/${skus.length}]`, name, { price, tags });
}
console.log("done");
