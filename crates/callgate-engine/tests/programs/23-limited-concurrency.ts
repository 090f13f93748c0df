const cities = ["Oslo", "Rome", "Cairo", "Lima", "Perth", "Quito"];
const results: { city: string; fahrenheit: number }[] = new Array(cities.length);
let next = 0;
let active = 0;
let most = 0;
async function worker() {
  while (next < cities.length) {
    const index = next++;
    active++;
    most = Math.max(most, active);
    results[index] = await tools.weather({ city: cities[index] });
    active--;
  }
}
await Promise.all([worker(), worker()]);
return { most, cold: results.filter((r) => r.fahrenheit < 50).map((r) => r.city), order: results.map((r) => r.city[0]).join("") };
