const ids = Array.from({ length: 12 }, (_, i) => i + 1);
const size = 4;
const cities = new Set<string>();
for (let i = 0; i < ids.length; i += size) {
  const batch = ids.slice(i, i + size);
  const users = await Promise.all(batch.map((id) => tools.user_get({ id })));
  users.forEach((u) => u.profile?.city && cities.add(u.profile.city));
  console.log(`batch ${i / size + 1}: ${users.map((u) => u.name.split(" ")[0]).join(", ")}`);
}
return [...cities];
