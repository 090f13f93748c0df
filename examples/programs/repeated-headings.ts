// Headings that occur more than once in the same Markdown file: links to them are ambiguous.
//
//   callgate run examples/programs/repeated-headings.ts

const found = await tools.grep({ pattern: "^#{1,6} ", glob: "*.md", maxMatches: 1000 });
const skipped = found.truncated ? ", of which only the first 1000 were looked at" : "";
console.log(`${found.total} headings in ${found.files.length} files${skipped}`);

return found.files.flatMap(({ path, matches }) => {
  const byText = Map.groupBy(matches, ({ line }) => line.replace(/^#+ /, "").trim().toLowerCase());
  return [...byText]
    .filter(([, headings]) => headings.length > 1)
    .map(([heading, headings]) => ({ path, heading, lines: headings.map((it) => it.lineNumber).join(", ") }));
});
