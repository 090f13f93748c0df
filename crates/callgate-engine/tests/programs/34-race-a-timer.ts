const timeout = (ms: number) => new Promise<string>((resolve) => setTimeout(() => resolve("too slow"), ms));
const quick = await Promise.race([tools.now({}), timeout(5000)]);
const late = await Promise.race([tools.slow({ ms: 20000 }), timeout(5)]);
return { quick, late };
