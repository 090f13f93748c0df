const cutoff = new Date(await tools.now({}));
cutoff.setUTCDate(cutoff.getUTCDate() - 90);
console.log("cutoff", cutoff.toISOString());

const stale = (await tools.issues_list({ state: "open" }))
  .filter((i: any) => new Date(i.updated) < cutoff);
if (stale.length > 0) {
  await Promise.all(stale.map((i: any) => tools.issue_update({ number: i.number, state: "closed" })));
}
const left = await tools.issues_list({ state: "open" });
return { closed: stale.map((i: any) => i.number), open: left.map((i: any) => i.number) };
