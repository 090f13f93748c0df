// Links in Markdown files that lead to no file of the repository.
//
//   callgate run examples/programs/broken-links.ts

/** `docs/guide/../policy.md` as `docs/policy.md`. */
function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

const withoutCode = (line: string) => line.replace(/`[^`]*`/g, "");

const [all, found] = await Promise.all([
  tools.glob({ pattern: "**/*" }),
  tools.grep({ pattern: "\\]\\([^)]+\\)", glob: "*.md", maxMatches: 1000 }),
]);
if (all.truncated || found.truncated) throw new Error("the repository is too large for one look");

// A link may also lead to a directory: every file has some.
const known = new Set<string>([""]);
for (const { path } of all.files) {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) known.add(path.slice(0, end));
}

const broken = [];
for (const { path, matches } of found.files) {
  const directory = path.slice(0, path.lastIndexOf("/") + 1);
  for (const { lineNumber, line } of matches) {
    if (line.startsWith("    ")) continue;
    for (const [, target] of withoutCode(line).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      const isElsewhere = /^[a-z]+:/i.test(target) || target.startsWith("/");
      if (!isElsewhere && !known.has(normal(directory + target))) broken.push({ path, line: lineNumber, target });
    }
  }
}
console.log("broken links:", broken.length, "in", found.total, "lines with links");
return broken;
