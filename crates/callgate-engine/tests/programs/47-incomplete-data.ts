const ids = [1, 2, 4, 5];
const users = await Promise.all(ids.map((id) => tools.user_get({ id })));
return users.map(({ name, profile, manager = "nobody" }: any) => ({
  name,
  city: profile?.city ?? "unknown",
  second: profile?.languages?.[1]?.toUpperCase(),
  manager,
}));
