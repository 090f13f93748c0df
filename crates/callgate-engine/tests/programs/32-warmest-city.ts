const cities = ["Oslo", "Rome", "Cairo"];
const readings = await Promise.all(cities.map((city) => tools.weather({ city })));
const celsius = readings.map((r) => ({ city: r.city as string, celsius: Math.round(((r.fahrenheit - 32) * 5) / 9) }));
const warmest = celsius.reduce((best, r) => (r.celsius > best.celsius ? r : best));
return `${warmest.city} is the warmest with ${warmest.celsius} °C (${celsius.map((c) => `${c.city} ${c.celsius}`).join(", ")})`;
