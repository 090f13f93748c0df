const template: string = await tools.file_read({ path: "template.txt" });
const { orders: [order] } = await tools.orders_list({ userId: 1 });
const user = await tools.user_get({ id: order.userId });
const values: Map<string, string | number> = new Map<string, string | number>([
  ["name", user.name],
  ["amount", (order.items[0].quantity * order.items[0].unit_price).toFixed(2)],
  ["currency", order.currency],
]);
const unknown: string[] = [];
const text = template.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, key: string) => {
  if (!values.has(key)) unknown.push(key);
  return String(values.get(key) ?? whole);
});
return { text, unknown };
