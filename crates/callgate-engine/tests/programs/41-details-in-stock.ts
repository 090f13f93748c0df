const hits = await tools.products_search({ tag: "desk" });
const detailed = await Promise.all(
  hits.map(async (hit: any) => ({ ...hit, ...(await tools.product_get({ sku: hit.sku })) })),
);
const available = detailed.filter(({ stock }) => stock > 0);
console.log(`${available.length} of ${hits.length} in stock`);
return available.map(({ sku, price, tags: [first] }) => ({ sku, price, first }));
