function parseCsvLine(line: string): string[] {
  const cells: string[] = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quoted) {
      if (c === '"' && line[i + 1] === '"') { cell += '"'; i++; }
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ",") { cells.push(cell); cell = ""; }
    else cell += c;
  }
  cells.push(cell);
  return cells;
}

const csv = await tools.file_read({ path: "data/expenses.csv" });
const [header, ...rows] = csv.trim().split("\n").map(parseCsvLine);
const records = rows.map((row: string[]) => Object.fromEntries(header.map((h: string, i: number) => [h, row[i]])));
const byCategory = records.reduce((acc: Record<string, number>, r: any) => {
  acc[r.category] = Math.round(((acc[r.category] ?? 0) + parseFloat(r.amount)) * 100) / 100;
  return acc;
}, {});
return { byCategory, notes: records.map((r: any) => r.note) };
