let seen = 0;
let cursor: string | null = null;
let hit: { id: number; name: string } | undefined;
outer: while (true) {
  const page: any = await tools.users_list(cursor === null ? {} : { cursor });
  for (const user of page.users) {
    seen++;
    if (!user.active && user.team === "web") {
      hit = user;
      break outer;
    }
    if (user.team === "ops") continue;
  }
  if (page.nextCursor === undefined) break;
  cursor = page.nextCursor;
}
return hit ? `${hit.name} after ${seen}` : "nobody";
