interface RetryOptions { tries?: number; onError?: (error: unknown, attempt: number) => void }
async function retry<T>(work: () => Promise<T>, { tries = 3, onError }: RetryOptions = {}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      onError?.(error, attempt);
      if (attempt >= tries) throw error;
    }
  }
}
const seen: number[] = [];
const page = await retry<{ tries: number }>(() => tools.fetch_page({ url: "https://flaky.example.com/a" }), {
  onError: (_, attempt) => seen.push(attempt),
});
const gone = await retry(() => tools.fetch_page({ url: "https://missing.example.com" })).catch((e: Error) => e.message);
return { tries: page.tries, seen, gone };
