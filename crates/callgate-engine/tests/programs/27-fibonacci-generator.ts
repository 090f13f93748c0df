function* fibonacci(limit: number): Generator<number, string, void> {
  let [a, b] = [0, 1];
  while (a < limit) {
    yield a;
    [a, b] = [b, a + b];
  }
  return "done";
}
const numbers = [...fibonacci(100)];
await tools.store_put({ key: "fibonacci", value: numbers });
const stored: number[] = await tools.store_get({ key: "fibonacci" });
const even = stored.filter((n) => n % 2 === 0);
return { stored, even, sum: even.reduce((a, b) => a + b) };
