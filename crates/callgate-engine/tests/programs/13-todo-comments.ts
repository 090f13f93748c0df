const paths = ["src/main.ts", "src/lib/util.ts", "src/lib/done.ts"];
const texts = await Promise.all(paths.map((path) => tools.file_read({ path })));
const todos = paths.flatMap((path, i) =>
  texts[i]
    .split(/\r?\n/)
    .map((text: string, n: number) => ({ path, line: n + 1, text: text.trim() }))
    .filter((l: { text: string }) => /\bTODO\b/.test(l.text))
    .map((l: any) => ({ ...l, text: l.text.replace(/^\/\/\s*TODO:?\s*/, "") })),
);
return todos;
