const send = (to: string, text: string) => tools["send-message"]({ to, text });
const first = await send("@ada", "one");
const second = await send("@di", "two");
const name = "send-message";
const third = await tools[name]({ to: "@ada", text: "three" });
return [first, second, third].map(({ id }) => id);
