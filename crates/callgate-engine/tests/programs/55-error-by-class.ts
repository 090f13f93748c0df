const outcomes: string[] = [];
const attempts: (() => Promise<unknown>)[] = [
  () => tools.user_get({ id: 1000 }),
  () => tools.file_read({ path: "nowhere.txt" }),
  () => tools.metric({ name: "latency" }),
];
for (const attempt of attempts) {
  try {
    await attempt();
    outcomes.push("fine");
  } catch (e) {
    if (e instanceof ToolCallError) outcomes.push(`${e.name} of ${e.toolName}: ${e.message}`);
    else throw e;
  }
}
return outcomes;
