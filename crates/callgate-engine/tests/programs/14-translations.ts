const greetings = ["hello", "goodbye", "thanks"] as const;
const languages = ["de", "fr"] as const;
const table: Partial<Record<(typeof greetings)[number], Record<string, string>>> = {};
await Promise.all(
  greetings.map(async (text) => {
    const [de, fr] = await Promise.all(languages.map((to) => tools.translate({ text, to })));
    table[text] = { de, fr };
  }),
);
return greetings.map((g) => `${g}: ${table[g]!.de} / ${table[g]!.fr}`);
