const everyone: any[] = [];
for (let cursor: string | undefined, more = true; more; ) {
  const page = await tools.users_list({ limit: 7, cursor });
  everyone.push(...page.users);
  cursor = page.nextCursor;
  more = cursor !== undefined;
}
const report: Record<string, Record<string, { count: number; newest: string }>> = {};
for (const { team, active, joined } of everyone) {
  const group = ((report[team] ??= {})[active ? "active" : "former"] ??= { count: 0, newest: "" });
  group.count++;
  if (joined > group.newest) group.newest = joined;
}
const sorted = <V,>(record: Record<string, V>): Record<string, V> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
return sorted(Object.fromEntries(Object.entries(report).map(([team, groups]) => [team, sorted(groups)])));
