// The official TypeScript client: does what a plan says and prints what it saw as one JSON object.

import { createRequire } from "node:module";

const [plan, packages] = [JSON.parse(process.argv[2]), process.argv[3]];
const require = createRequire(`${packages}/`);
const load = (name) => import(require.resolve(`@modelcontextprotocol/sdk/${name}`));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const { command, args, env, cwd, calls } = plan;
const transport = new StdioClientTransport({ command, args, env, cwd, stderr: "inherit" });
let protocol;
transport.setProtocolVersion = (version) => { protocol = version; };
const client = new Client({ name: "callgate-test", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of calls) {
  results.push(await client.callTool(call));
}
await client.close();
console.log(JSON.stringify({ protocol, tools, results }));
