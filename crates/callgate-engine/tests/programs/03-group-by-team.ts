const groups = new Map<string, number>();
let cursor: string | undefined = undefined;
while (true) {
  const { users, nextCursor } = await tools.users_list({ ...(cursor ? { cursor } : {}) });
  for (const u of users.filter((u: any) => u.active)) {
    groups.set(u.team, (groups.get(u.team) || 0) + 1);
  }
  if (!nextCursor) break;
  cursor = nextCursor;
}
return Object.fromEntries([...groups].sort(([a], [b]) => a.localeCompare(b)));
