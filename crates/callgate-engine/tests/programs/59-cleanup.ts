const steps: string[] = [];
async function withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  await tools.store_put({ key: `lock:${name}`, value: true });
  try {
    return await work();
  } finally {
    await tools.store_put({ key: `lock:${name}`, value: null });
    steps.push(`released ${name}`);
  }
}
const ok = await withLock("a", async () => (await tools.metric({ name: "load" })).length);
let failure: string | undefined;
try {
  await withLock("b", async () => {
    throw new TypeError("broken inside");
  });
} catch (error) {
  failure = `${error}`;
} finally {
  steps.push("end");
}
const locks = [await tools.store_get({ key: "lock:a" }), await tools.store_get({ key: "lock:b" })];
return { ok, failure, steps, locks };
