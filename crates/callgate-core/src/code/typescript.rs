//! Code Mode in TypeScript, as the model reads it.

use super::dialect::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    description: DESCRIPTION,
    code_help: CODE_HELP,
    code_only: CODE_ONLY,
    instructions: callgate_schema::typescript::instructions,
    section: callgate_schema::typescript::section,
    catalogue: callgate_schema::typescript::catalogue,
    declaration: callgate_schema::typescript::declaration_of,
    look_up: LOOK_UP,
};

const DESCRIPTION: &str = "\
Runs a TypeScript program that calls the available tools. Both arguments are required: `code` and \
`description`.
`code` is the body of an async function: use `await` and `return` at its outermost level. Types are \
erased before it runs, so use only syntax that can be erased (no `enum`, no namespaces, no imports).
Call a tool with `await tools.name(args)`; it resolves to the tool's value, and a failed call throws \
`ToolCallError`.
Only what the program returns or prints with `console.log` comes back, so return what matters and \
leave out the rest. Images in results of tools are attached after the run.";

const CODE_HELP: &str = "\
The program: what stands between the braces of an async TypeScript function. `await` and `return` \
work at its outermost level; only erasable TypeScript syntax.";

const CODE_ONLY: &str = "\
You can call exactly one tool directly: `run_code`. A direct call of any other tool fails. Reach the \
declared tools from inside the TypeScript program that you pass to `run_code`: `await tools.name(args)`.";

const LOOK_UP: &str = "\
There are too many tools to declare here. Look up what you need before you use it: \
`await tools.{search}({ query: \"issue labels\" })` resolves to a list of `{ name, summary }`, best match first, and \
`await tools.{describe}({ names: [\"name\"] })` resolves to the declarations of those tools as text. Return the \
declarations from a first program, and write the second program by them.";
