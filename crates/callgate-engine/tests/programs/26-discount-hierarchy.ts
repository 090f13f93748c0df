abstract class Discount {
  abstract apply(total: number): number;
  describe(): string {
    return this.constructor.name;
  }
}
class Percent extends Discount {
  rate: number;
  constructor(rate: number) {
    super();
    this.rate = rate;
  }
  apply(total: number) {
    return total * (1 - this.rate);
  }
  override describe() {
    return `${super.describe()}(${this.rate * 100}%)`;
  }
}
class Flat extends Discount {
  public amount = 5;
  apply(total: number): number {
    return Math.max(0, total - this.amount);
  }
}
const { price } = await tools.product_get({ sku: "K-1" });
const discounts: Discount[] = [new Percent(0.1), new Flat()];
const final = discounts.reduce((total, d) => d.apply(total), price as number);
return `${discounts.map((d) => d.describe()).join(" then ")}: ${price} -> ${final.toFixed(2)}`;
