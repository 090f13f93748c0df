//! `callgate.policy`: which calls are allowed.

use callgate::{RUN_CODE, Str};
use globset::{GlobBuilder, GlobMatcher};

use super::problem::Problem;
use super::section::{Reader, Setting};

/// The rules, in the order of the file. Without any, every call is allowed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) deny: Vec<DenyRule>,
}

/// A rule that stops every call of the tools it names.
#[derive(Clone, Debug)]
pub(crate) struct DenyRule {
    /// What the log calls it: its place and its pattern.
    pub(crate) name: Str,
    /// The pattern, as its author wrote it.
    pub(crate) pattern: Str,
    /// What its author says about it.
    pub(crate) reason: Option<Str>,
    /// The file and the line it stands in.
    pub(crate) place: Str,
    tools: Tools,
}

/// The tools that a pattern names.
#[derive(Clone, Debug)]
enum Tools {
    /// The one of the pattern's own name: most rules are no patterns at all.
    One(Str),
    Matching(GlobMatcher),
}

impl DenyRule {
    /// Whether the rule names this tool. Rules name what programs can call; `run_code` itself is none of them.
    pub(crate) fn applies_to(&self, tool: &str) -> bool {
        tool != RUN_CODE
            && match &self.tools {
                Tools::One(name) => **name == *tool,
                Tools::Matching(pattern) => pattern.is_match(tool),
            }
    }
}

/// What is part of the design of policies and not in this version: passing it over would let calls through.
const NOT_SUPPORTED: [&str; 3] = ["ask", "allow", "default"];

pub(super) fn read<'t>(reader: &mut Reader<'t>, block: &Setting<'t>) -> Result<Policy, Problem> {
    let [ask, allow, default] = NOT_SUPPORTED;
    let block = reader.rules(block, &["deny", ask, allow, default])?;
    for name in NOT_SUPPORTED {
        if let Some(setting) = block.get(name) {
            let message = "is not supported by this version, and a rule that is passed over protects nothing; use `deny`";
            return Err(setting.problem(message));
        }
    }
    let Some(deny) = block.get("deny") else { return Ok(Policy::default()) };
    let rules = deny.list()?.into_iter().enumerate();
    let deny =
        rules.map(|(index, rule)| read_deny(reader, index, &rule)).collect::<Result<_, _>>()?;
    Ok(Policy { deny })
}

/// A rule is a pattern, or an object with a pattern and a reason.
fn read_deny<'t>(
    reader: &mut Reader<'t>,
    index: usize,
    rule: &Setting<'t>,
) -> Result<DenyRule, Problem> {
    if rule.as_string().is_some() {
        return deny(reader, index, rule, None);
    }
    if !rule.is_object() {
        return Err(rule.problem(
            "must be a pattern such as `\"re*\"`, or an object with `tool` and `reason`",
        ));
    }
    let block = reader.rules(rule, &["tool", "reason"])?;
    let tool = block.get("tool").ok_or_else(|| {
        rule.problem("needs `tool`, the tools it denies, such as `\"read\"` or `\"re*\"`")
    })?;
    let reason = block.get("reason").map(|reason| reason.string().cloned()).transpose()?;
    deny(reader, index, &tool, reason)
}

fn deny<'t>(
    reader: &mut Reader<'t>,
    index: usize,
    tool: &Setting<'t>,
    reason: Option<Str>,
) -> Result<DenyRule, Problem> {
    let pattern = tool.string()?.clone();
    if &*pattern == RUN_CODE {
        let message = "names `run_code`, which no rule stops: rules name the tools that programs call. Deny those, or choose `\"mode\": \"native\"`";
        return Err(tool.problem(message));
    }
    let tools = tools(&pattern).map_err(|error| {
        tool.problem(format_args!("is no pattern: {}; `*` stands for any text", error.kind()))
    })?;
    let name = format!("policy.deny[{index}] \"{pattern}\"").into();
    let place = format!("{}, line {}", reader.file(), reader.line(tool)).into();
    Ok(DenyRule { name, pattern, reason, place, tools })
}

fn tools(pattern: &Str) -> Result<Tools, globset::Error> {
    if !pattern.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        return Ok(Tools::One(pattern.clone()));
    }
    Ok(Tools::Matching(GlobBuilder::new(pattern).build()?.compile_matcher()))
}
