const files = ["notes/a.md", "notes/b.md"];
const text = (await Promise.all(files.map((path) => tools.file_read({ path })))).join(" ");
const frequency = text
  .toLowerCase()
  .split(/[^a-z]+/)
  .filter(Boolean)
  .reduce((map: Map<string, number>, word: string) => map.set(word, (map.get(word) ?? 0) + 1), new Map<string, number>());
return [...frequency.entries()]
  .sort(([wa, a], [wb, b]) => b - a || wa.localeCompare(wb))
  .slice(0, 5)
  .map(([word, n]) => `${word}×${n}`);
