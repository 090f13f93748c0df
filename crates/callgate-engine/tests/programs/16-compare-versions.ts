const [a, b] = await Promise.all(["v1.txt", "v2.txt"].map((path) => tools.file_read({ path })));
const left = a.trimEnd().split("\n");
const right = b.trimEnd().split("\n");

// Longest common subsequence
const lcs: number[][] = Array.from({ length: left.length + 1 }, () => Array(right.length + 1).fill(0));
for (let i = left.length - 1; i >= 0; i--) {
  for (let j = right.length - 1; j >= 0; j--) {
    lcs[i][j] = left[i] === right[j] ? lcs[i + 1][j + 1] + 1 : Math.max(lcs[i + 1][j], lcs[i][j + 1]);
  }
}
const out: string[] = [];
let i = 0, j = 0;
while (i < left.length || j < right.length) {
  if (i < left.length && j < right.length && left[i] === right[j]) { out.push("  " + left[i]); i++; j++; }
  else if (j >= right.length || (i < left.length && lcs[i + 1][j] >= lcs[i][j + 1])) out.push("- " + left[i++]);
  else out.push("+ " + right[j++]);
}
return out.join("\n");
