async function* pages() {
  let page = 1;
  for (;;) {
    const result = await tools.orders_list({ page });
    yield result;
    if (page++ >= result.pages) return;
  }
}

const byStatus: Record<string, number[]> = {};
for await (const { orders } of pages()) {
  for (const { id, status } of orders) (byStatus[status] ??= []).push(id);
}
return byStatus;
