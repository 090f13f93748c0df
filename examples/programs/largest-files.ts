// The ten largest source files of the repository, with their lines and how many of them say TODO.
//
//   callgate run examples/programs/largest-files.ts

const { files } = await tools.glob({ pattern: "**/*.{rs,ts,js,py}" });
const largest = files.sort((a, b) => b.bytes - a.bytes).slice(0, 10);

return await Promise.all(
  largest.map(async ({ path, bytes }) => {
    const [start, todos] = await Promise.all([
      tools.read({ path, limit: 1 }),
      tools.grep({ pattern: "TODO", path }),
    ]);
    return { path, bytes, lines: start.totalLines, todos: todos.total };
  }),
);
