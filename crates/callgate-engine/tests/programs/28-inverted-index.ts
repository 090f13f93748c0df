const entries = await tools.file_list({ directory: "notes" });
const index: Record<string, string[]> = Object.create(null);
for (const { name } of entries) {
  const text: string = await tools.file_read({ path: `notes/${name}` });
  const words = new Set(text.toLowerCase().match(/[a-z]{4,}/g) ?? []);
  for (const word of words) (index[word] ||= []).push(name);
}
const shared = Object.keys(index).filter((w) => index[w].length > 1).sort();
return { words: Object.keys(index).length, shared };
