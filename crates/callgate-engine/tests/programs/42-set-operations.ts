const { users } = await tools.users_list({ limit: 12 });
const team = (name: string) => new Set<string>(users.filter((u: any) => u.team === name).map((u: any) => u.joined.slice(0, 4)));
const core = team("core");
const web = team("web");
return {
  both: [...core.intersection(web)].sort(),
  onlyCore: [...core.difference(web)].sort(),
  all: core.union(web).size,
  disjoint: core.isDisjointFrom(web),
};
