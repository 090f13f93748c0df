const { users } = await tools.users_list({ limit: 12 });
type Key = "team" | "joined" | "name";
const by = (...keys: Key[]) => (a: any, b: any) => {
  for (const key of keys) {
    if (a[key] < b[key]) return -1;
    if (a[key] > b[key]) return 1;
  }
  return 0;
};
return users.toSorted(by("team", "joined", "name")).map((u: any) => `${u.team} ${u.joined} ${u.name}`);
