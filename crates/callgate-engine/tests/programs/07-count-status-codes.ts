const log: string = await tools.file_read({ path: "logs/access.log" });
const pattern = /"(?<method>[A-Z]+) (?<path>\S+) HTTP\/[\d.]+" (?<status>\d{3}) (?<bytes>\d+)$/;
const counts: { [status: string]: number } = {};
let skipped = 0;
for (const line of log.split("\n")) {
  if (!line.trim()) continue;
  const m = line.match(pattern);
  if (!m?.groups) {
    skipped++;
    continue;
  }
  const { status } = m.groups;
  counts[status] = (counts[status] ?? 0) + 1;
}
return { counts, skipped };
