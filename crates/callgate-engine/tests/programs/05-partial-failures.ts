const ids = [1, 99, 3, 42, 5];
const results = await Promise.allSettled(ids.map((id) => tools.user_get({ id })));

const found: string[] = [];
const missing: { id: number; reason: string }[] = [];
results.forEach((r, i) => {
  if (r.status === "fulfilled") {
    found.push(r.value.name);
  } else {
    missing.push({ id: ids[i], reason: r.reason.message });
  }
});
return { found, missing };
