const totals: number[] = [];
for (let page = 1, pages = 1; page <= pages; page++) {
  const result = await tools.orders_list({ page });
  pages = result.pages;
  for (const o of result.orders) totals.push(o.items.reduce((s: number, i: any) => s + i.quantity * i.unit_price, 0));
}
const buckets = [0, 10, 50, 100, 500, Infinity];
const rows: string[] = [];
for (let b = 0; b + 1 < buckets.length; b++) {
  const n = totals.filter((t) => t >= buckets[b] && t < buckets[b + 1]).length;
  const label = buckets[b + 1] === Infinity ? `${buckets[b]}+` : `${buckets[b]}-${buckets[b + 1]}`;
  rows.push(`${label.padStart(8)} | ${"#".repeat(n)}`);
}
return rows.join("\n");
