type Value = string | number | boolean | null;
const raw = await tools.file_read({ path: "settings.ini" });

const coerce = (text: string): Value => {
  if (text === "") return null;
  if (text === "true" || text === "false") return text === "true";
  const n = Number(text);
  return Number.isNaN(n) ? text : n;
};

const settings: Record<string, Value> = {};
for (const line of raw.split("\n")) {
  const trimmed = line.trim();
  if (trimmed === "" || trimmed.startsWith("#")) continue;
  const eq = trimmed.indexOf("=");
  settings[trimmed.slice(0, eq).trim()] = coerce(trimmed.slice(eq + 1).trim());
}
return settings;
