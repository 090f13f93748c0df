const load = (await tools.metric({ name: "load" })) as number[];
let best: number[] = [];
let run: number[] = [];
for (const [i, value] of load.entries()) {
  run = i > 0 && value > load[i - 1]! ? [...run, value] : [value];
  if (run.length > best.length) best = run;
}
return { length: best.length, best, from: load.findIndex((_, i) => best.every((b, k) => load[i + k] === b)) };
