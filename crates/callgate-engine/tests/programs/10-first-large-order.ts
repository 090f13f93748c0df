const total = (order: any): number =>
  order.items.reduce((sum: number, { quantity, unit_price }: any) => sum + quantity * unit_price, 0);

for (let page = 1; ; page++) {
  const res = await tools.orders_list({ page });
  const hit = res.orders.find((o: any) => total(o) > 500);
  if (hit) {
    console.log("found on page", page);
    return { id: hit.id, total: total(hit) };
  }
  if (page >= res.pages) return null;
}
