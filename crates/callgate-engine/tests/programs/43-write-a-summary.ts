const [time, people, latency] = await Promise.all([
  tools.now({}),
  tools.oncall({}),
  tools.metric({ name: "latency" }),
]);
const content = [
  `# Status of ${new Date(time).toISOString().split("T")[0]}`,
  "",
  ...people.map((p: { name: string }, n: number) => `${n + 1}. ${p.name}`),
  "",
  `Worst latency: ${Math.max(...latency)} ms`,
  "",
].join("\n");
const written = await tools.file_write({ path: "reports/status.md", content });
const check: string = await tools.file_read({ path: written.path });
return { ...written, same: check === content, title: check.split("\n", 1)[0] };
