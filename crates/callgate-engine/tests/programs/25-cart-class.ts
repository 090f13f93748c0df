class Cart {
  #items = new Map<string, { price: number; quantity: number }>();
  private readonly taxRate: number;
  constructor(taxRate: number) {
    this.taxRate = taxRate;
  }
  async add(sku: string, quantity = 1): Promise<this> {
    const { price, stock } = await tools.product_get({ sku });
    if (stock < quantity) throw new RangeError(`only ${stock} of ${sku} left`);
    const known = this.#items.get(sku);
    this.#items.set(sku, { price, quantity: (known?.quantity ?? 0) + quantity });
    return this;
  }
  get net(): number {
    let sum = 0;
    for (const { price, quantity } of this.#items.values()) sum += price * quantity;
    return sum;
  }
  get gross() {
    return Math.round(this.net * (1 + this.taxRate) * 100) / 100;
  }
  static empty = new Cart(0);
}

const cart = new Cart(0.19);
await cart.add("K-1", 2);
await cart.add("D-3");
let problem = "";
try {
  await cart.add("M-7");
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  problem = error.message;
}
return { net: cart.net, gross: cart.gross, problem, empty: Cart.empty.gross };
