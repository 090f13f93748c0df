const closed = await tools.issues_list({ state: "closed" });
const urgent = closed.filter((issue: { labels: string[] }) => issue.labels.includes("urgent"));
if (urgent.length === 0) {
  return "nothing to do";
}
for (const issue of urgent) {
  await tools.issue_update({ number: issue.number, state: "open" });
}
return `${urgent.length} reopened`;
