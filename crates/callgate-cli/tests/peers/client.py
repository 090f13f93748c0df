"""The official Python client: does what a plan says and prints what it saw as one JSON object."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def shown(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(plan):
    server = StdioServerParameters(
        command=plan["command"], args=plan["args"], env=plan["env"], cwd=plan["cwd"]
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        results = []
        for call in plan["calls"]:
            results.append(shown(await client.call_tool(call["name"], call["arguments"])))
        seen = {
            "protocol": client.protocol_version,
            "tools": [shown(tool) for tool in tools],
            "results": results,
        }
    print(json.dumps(seen))


asyncio.run(main(json.loads(sys.argv[1])))
