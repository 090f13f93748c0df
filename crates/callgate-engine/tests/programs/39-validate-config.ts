type Rule = { kind: "allow"; path: string } | { kind: "rate"; limit: number };
type Result<T> = { ok: true; value: T } | { ok: false; error: string };

function parseRule(input: unknown): Result<Rule> {
  if (typeof input !== "object" || input === null) return { ok: false, error: "not an object" };
  const rule = input as Record<string, unknown>;
  switch (rule.kind) {
    case "allow":
      return typeof rule.path === "string" ? { ok: true, value: rule as Rule } : { ok: false, error: "path" };
    case "rate":
      return Number(rule.limit) > 0 ? { ok: true, value: rule as Rule } : { ok: false, error: `bad limit ${rule.limit}` };
    default:
      return { ok: false, error: `unknown kind ${JSON.stringify(rule.kind)}` };
  }
}
const config = JSON.parse(await tools.file_read({ path: "config.json" }));
const results = (config.rules as unknown[]).map(parseRule);
const errors = results.filter((r): r is { ok: false; error: string } => !r.ok).map((r) => r.error);
return { valid: results.filter((r) => r.ok).length, errors };
