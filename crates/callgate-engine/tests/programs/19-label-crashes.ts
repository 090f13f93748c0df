const open = await tools.issues_list({ state: "open" });
const crashes = open.filter((issue: any) => /crash/i.test(issue.title) && !issue.labels.includes("crash"));
const updated = [];
for (const issue of crashes) {
  updated.push(await tools.issue_update({ number: issue.number, addLabels: ["crash", "triage"] }));
}
return updated.map(({ number, labels }: { number: number; labels: string[] }) => `#${number}: ${labels.join(", ")}`);
