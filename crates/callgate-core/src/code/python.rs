//! Code Mode in Python, as the model reads it.

use super::dialect::Dialect;

pub(super) const DIALECT: Dialect = Dialect {
    description: DESCRIPTION,
    code_help: CODE_HELP,
    code_only: CODE_ONLY,
    instructions: callgate_schema::python::instructions,
    section: callgate_schema::python::section,
    catalogue: callgate_schema::python::catalogue,
    declaration: callgate_schema::python::declaration_of,
    look_up: LOOK_UP,
};

const DESCRIPTION: &str = "\
Runs a Python program that calls the available tools. Both arguments are required: `code` and \
`description`.
`code` is the body of an async function: use `await` and `return` at its outermost level.
Call a tool with `await tools.name(args)`, its arguments in one dict; it returns the tool's value, and \
a failed call raises `ToolCallError`.
Only what the program returns or prints comes back, so return what matters and leave out the rest. \
Images in results of tools are attached after the run.";

const CODE_HELP: &str = "\
The program: what stands under the header of an async Python function, without its indentation. \
`await` and `return` work at its outermost level.";

const CODE_ONLY: &str = "\
You can call exactly one tool directly: `run_code`. A direct call of any other tool fails. Reach the \
declared tools from inside the Python program that you pass to `run_code`: `await tools.name(args)`.";

const LOOK_UP: &str = "\
There are too many tools to declare here. Look up what you need before you use it: \
`await tools.{search}({\"query\": \"issue labels\"})` returns a list of `{\"name\", \"summary\"}`, best match first, and \
`await tools.{describe}({\"names\": [\"name\"]})` returns the declarations of those tools as text. Return the \
declarations from a first program, and write the second program by them.";
