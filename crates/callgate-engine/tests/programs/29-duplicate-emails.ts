const { users } = await tools.users_list({ limit: 100 });
const byEmail = Map.groupBy(users as { id: number; email: string }[], (u) => u.email.trim().toLowerCase());
const duplicates = [...byEmail.entries()]
  .filter(([, group]) => group.length > 1)
  .map(([email, group]) => ({ email, ids: group.map((u) => u.id) }));
return duplicates;
