// How much Rust there is in each crate, and how much of it is documentation and comments.
//
//   callgate run examples/programs/words-per-crate.ts

interface Row {
  crate: string;
  files: number;
  lines: number;
  words: number;
  "comment %": number;
}

/** All lines of a file. `read` gives so many at once, so it is asked until there are no more. */
async function linesOf(path: string): Promise<string[]> {
  const lines: string[] = [];
  for (;;) {
    const page = await tools.read({ path, offset: lines.length + 1 });
    lines.push(...page.lines.map((line) => line.text));
    if (lines.length >= page.totalLines) return lines;
  }
}

const wordsIn = (lines: string[]) => lines.join("\n").match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;
const isComment = (line: string) => line.trimStart().startsWith("//");

const { files } = await tools.glob({ pattern: "{crates/*,xtask}/src/**/*.rs" });
const sources = await Promise.all(files.map(async ({ path }) => ({ path, lines: await linesOf(path) })));

const byCrate = Map.groupBy(sources, ({ path }) => path.slice(0, path.indexOf("/src/")).replace("crates/", ""));
const rows: Row[] = [...byCrate].map(([crate, sources]) => {
  const lines = sources.flatMap((source) => source.lines);
  const words = wordsIn(lines);
  const share = words === 0 ? 0 : wordsIn(lines.filter(isComment)) / words;
  return { crate, files: sources.length, lines: lines.length, words, "comment %": Math.round(share * 100) };
});
return rows.sort((a, b) => b.words - a.words);
