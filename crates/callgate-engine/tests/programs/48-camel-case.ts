type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
const camel = (key: string) => key.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase());
function rename(value: Json): Json {
  if (Array.isArray(value)) return value.map(rename);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [camel(k), rename(v)]));
  }
  return value;
}
const { orders } = await tools.orders_list({ userId: 2 });
return rename(orders[0]);
