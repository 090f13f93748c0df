const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

let lastError: unknown;
for (let attempt = 1; attempt <= 5; attempt++) {
  try {
    const page = await tools.fetch_page({ url: "https://flaky.example.com" });
    return { attempt, status: page.status, body: page.body };
  } catch (error) {
    lastError = error;
    console.warn(`attempt ${attempt} failed: ${(error as Error).message}`);
    await sleep(2 ** attempt);
  }
}
throw lastError;
