const names: string[] = (await tools.file_list({ directory: "notes/" })).map((e: { name: string }) => e.name);
const found = { emails: new Set<string>(), links: new Set<string>() };
for (const name of names) {
  const text: string = await tools.file_read({ path: "notes/" + name });
  for (const [email] of text.matchAll(/[\w.+-]+@[\w-]+\.[\w.]+\b/g)) found.emails.add(email);
  for (const match of text.matchAll(/https?:\/\/[^\s)]+/g)) found.links.add(match[0].replace(/[.,]$/, ""));
}
const hosts = [...found.links].map((link) => new URL(link).host);
return { emails: [...found.emails].sort(), links: [...found.links].sort(), hosts };
