async function walk(directory: string): Promise<{ path: string; size: number }[]> {
  const entries = await tools.file_list({ directory });
  const nested = await Promise.all(
    entries.map(async (entry: { name: string; kind: "file" | "directory"; size?: number }) => {
      const path = directory ? `${directory}/${entry.name}` : entry.name;
      return entry.kind === "directory" ? walk(path) : [{ path, size: entry.size! }];
    }),
  );
  return nested.flat();
}
const files = await walk("");
console.log(`${files.length} files, ${files.reduce((s, f) => s + f.size, 0)} bytes`);
return files.filter((f) => f.path.startsWith("src/"));
