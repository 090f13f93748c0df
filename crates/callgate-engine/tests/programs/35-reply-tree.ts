interface Reply { id: string; text: string; children: string[] }
const lines: string[] = [];
async function visit(id: string, depth = 0): Promise<number> {
  const reply: Reply = await tools.replies({ id });
  lines.push(`${"  ".repeat(depth)}- ${reply.text}`);
  let count = 1;
  for (const child of reply.children) count += await visit(child, depth + 1);
  return count;
}
const total = await visit("r1");
console.log(lines.join("\n"));
return total;
