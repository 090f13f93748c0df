//! The built binary between the official MCP servers and clients.

use crate::context::Context;
use crate::step::{Done, Step, Trouble};
use crate::{process, tests, tools};

pub(crate) const STEP: Step = Step {
    name: "mcp peers",
    what: "official MCP servers answer through the gateway as they do directly, to every official client",
    run,
};

/// Where the versions are pinned.
const PINNED: &str = "crates/callgate-cli/tests/peers";

/// The tests of these two modules need installed peers.
const TESTS: &[&str] =
    &["test", "-p", "callgate-mcp", "-p", "callgate-cli", "--no-fail-fast", "--test", "it"];
const MODULES: &[&str] = &["real::", "peers::"];

fn run(cx: &Context) -> Result<Done, Trouble> {
    let packages = tools::npm_locked(cx, &cx.root.join(PINNED))?;
    let python = tools::pip_locked(cx, &cx.root.join(PINNED))?;
    let mut build = cx.cargo(TESTS);
    build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let messages = process::output(&mut build)?;
    let mut command = cx.cargo(TESTS);
    command.arg("--").args(MODULES);
    command.env("CALLGATE_TEST_SERVERS", packages.join("node_modules/.bin"));
    command.env("CALLGATE_TEST_PYTHON", python);
    command.env("PATH", tools::path_with_node(&packages));
    let done = tests::follow(cx, command, &messages)?;
    if done.counts.passed == 0 {
        return Err("no test of the peers was run".to_owned().into());
    }
    Ok(done)
}
