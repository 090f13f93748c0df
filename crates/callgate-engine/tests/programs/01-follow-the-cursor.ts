// Collect every user by following the cursor
interface User { id: number; name: string; email: string; team: string; active: boolean }
const all: User[] = [];
let cursor: string | undefined;
do {
  const page = await tools.users_list({ cursor, limit: 5 }) as { users: User[]; nextCursor?: string };
  all.push(...page.users);
  cursor = page.nextCursor;
} while (cursor);
console.log(`Fetched ${all.length} users`);
return { count: all.length, first: all[0].name, last: all.at(-1)!.name };
