type Item = { sku: string; quantity: number; unit_price: number };
type Order = { id: number; userId: number; currency: string; items: Item[] };

let page = 1;
let pages = 1;
const totals: Record<number, number> = {};
while (page <= pages) {
  const res: { orders: Order[]; pages: number } = await tools.orders_list({ status: "paid", page });
  pages = res.pages;
  for (const order of res.orders) {
    const sum = order.items.reduce((acc, it) => acc + it.quantity * it.unit_price, 0);
    totals[order.userId] = (totals[order.userId] ?? 0) + sum;
  }
  page++;
}
const top = Object.entries(totals)
  .map(([userId, total]) => ({ userId: Number(userId), total: Math.round(total * 100) / 100 }))
  .sort((a, b) => b.total - a.total)
  .slice(0, 3);
const names = await Promise.all(top.map(async (t) => (await tools.user_get({ id: t.userId })).name));
return top.map((t, i) => ({ name: names[i], total: t.total }));
