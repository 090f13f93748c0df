const { orders } = await tools.orders_list({ userId: 1 });
const user = await tools.user_get({ id: 1 });

const lines: string[] = [];
for (const order of orders) {
  for (const item of order.items) {
    const product = await tools.product_get({ sku: item.sku });
    const name = product.name || "(unnamed)";
    lines.push(`${user.name} bought ${item.quantity} x ${name} for ${(item.quantity * item.unit_price).toFixed(2)} ${order.currency}`);
  }
}
return lines.join("\n");
