const values: number[] = await tools.metric({ name: "latency" });
const sorted = [...values].sort((a, b) => a - b);
const mean = sorted.reduce((s, v) => s + v, 0) / sorted.length;
function percentile(p: number): number {
  const rank = (p / 100) * (sorted.length - 1);
  const low = Math.floor(rank);
  const high = Math.ceil(rank);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - low);
}
return { mean, median: percentile(50), p95: Number(percentile(95).toFixed(2)), min: Math.min(...values), max: Math.max(...values) };
