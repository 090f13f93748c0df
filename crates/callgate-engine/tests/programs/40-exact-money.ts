const cents: Record<string, bigint> = {};
let page = 0;
let more = true;
while (more) {
  const { orders, pages } = await tools.orders_list({ page: ++page });
  more = page < pages;
  for (const { currency, items } of orders) {
    for (const { quantity, unit_price } of items) {
      cents[currency] = (cents[currency] ?? 0n) + BigInt(Math.round(unit_price * 100)) * BigInt(quantity);
    }
  }
}
const format = (c: bigint) => `${c / 100n}.${String(c % 100n).padStart(2, "0")}`;
return Object.fromEntries(Object.keys(cents).sort().map((k) => [k, format(cents[k])]));
