const people = await tools.oncall({});
const failures: string[] = [];
let sent = 0;
for (const { name, handle } of people) {
  try {
    const { id } = await tools["send-message"]({ to: handle, text: `Hi ${name}, the deploy starts soon.` });
    console.info("sent", id, "to", handle);
    sent += 1;
  } catch (e) {
    failures.push(e instanceof Error ? e.message : String(e));
  }
}
return { sent, failures };
