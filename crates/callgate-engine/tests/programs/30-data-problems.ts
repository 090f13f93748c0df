class ValidationError extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.name = "ValidationError";
    this.field = field;
  }
}
type Check = (p: any) => void;
const checks: Check[] = [
  (p) => { if (!p.name) throw new ValidationError("name", "is empty"); },
  (p) => { if (p.stock === 0) throw new ValidationError("stock", "is zero"); },
  (p) => { if (p.tags.length === 0) throw new ValidationError("tags", "are missing"); },
  (p) => { if (p.price <= 0) throw new ValidationError("price", "is not positive"); },
];
const complaints: Record<string, string[]> = {};
for (const { sku } of await tools.products_search({ query: "" })) {
  const product = await tools.product_get({ sku });
  for (const check of checks) {
    try { check(product); }
    catch (e) {
      if (e instanceof ValidationError) (complaints[sku] ??= []).push(e.message);
      else throw e;
    }
  }
}
return complaints;
