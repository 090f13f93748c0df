async function firstOf<T>(...sources: Array<() => Promise<T>>): Promise<{ from: number; value: T }> {
  const errors: Error[] = [];
  for (const [from, source] of sources.entries()) {
    try {
      return { from, value: await source() };
    } catch (error) {
      errors.push(error as Error);
    }
  }
  throw new AggregateError(errors, "no source answered");
}
const settings = await firstOf(
  () => tools.file_read({ path: "settings.yaml" }),
  () => tools.file_read({ path: "settings.ini" }),
);
const none = await firstOf(() => tools.fetch_page({ url: "missing" })).catch(
  (e: AggregateError) => `${e.message}: ${e.errors.map((x: Error) => x.message)}`,
);
return { from: settings.from, length: settings.value.length, none };
