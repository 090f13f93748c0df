const now = new Date(await tools.now({}));
const { orders } = await tools.orders_list({ userId: 1 });
const DAY = 24 * 60 * 60 * 1000;
return orders.map((o: { id: number; placed: string }) => ({
  id: o.id,
  daysAgo: Math.floor((now.getTime() - Date.parse(o.placed)) / DAY),
  weekday: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][new Date(o.placed).getUTCDay()],
  due: new Date(Date.parse(o.placed) + 30 * DAY).toISOString().slice(0, 10),
}));
