function isoWeek(date: Date): string {
  const d = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()));
  const day = d.getUTCDay() || 7;
  d.setUTCDate(d.getUTCDate() + 4 - day);
  const yearStart = Date.UTC(d.getUTCFullYear(), 0, 1);
  const week = Math.ceil(((d.getTime() - yearStart) / 86_400_000 + 1) / 7);
  return `${d.getUTCFullYear()}-W${week.toString().padStart(2, "0")}`;
}
const weeks: Record<string, number[]> = {};
let page = 1, pages: number;
do {
  const res = await tools.orders_list({ page });
  pages = res.pages;
  res.orders.forEach(({ id, placed }: { id: number; placed: string }) => {
    const week = isoWeek(new Date(placed));
    weeks[week] = [...(weeks[week] ?? []), id];
  });
} while (page++ < pages);
return weeks;
