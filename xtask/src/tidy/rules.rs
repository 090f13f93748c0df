//! The ids of the specification's rules: listed once, and named only if they exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Context;
use crate::step::{Done, Trouble};
use crate::tidy::is_rust;

const RULES: &str = "docs/spec/rules.md";
const WAIVED: &str = "docs/spec/waived.md";

pub(super) fn check(cx: &Context) -> Result<Done, Trouble> {
    let texts: BTreeMap<String, String> = cx.texts()?.into_iter().collect();
    let Some(rules) = texts.get(RULES) else {
        return Ok(Done::one(format!("no {RULES}")));
    };
    let (rules, waived) = (listed(rules), listed(texts.get(WAIVED).map_or("", String::as_str)));
    let mut problems = list_problems(&rules, &waived);
    let known: BTreeSet<&str> = rules.iter().chain(&waived).copied().collect();
    let mut named = BTreeSet::new();
    for (path, text) in texts.iter().filter(|(path, _)| may_name_rules(path)) {
        problems.extend(unknown_ids(path, text, &known));
        named.extend(ids(text).filter(|id| known.contains(id)));
    }
    let covered = rules.iter().filter(|rule| named.contains(*rule)).count();
    Trouble::unless_empty(problems, format!("{covered} of {} rules are named by code", rules.len()))
}

fn may_name_rules(path: &str) -> bool {
    is_rust(path) || path.split('/').any(|part| part == "tests")
}

/// The ids that open a line of a list, a table or a paragraph.
fn listed(page: &str) -> Vec<&str> {
    let opening = |line| {
        let line = str::trim_start_matches(line, ['-', '*', '|', '#', '`', ' ']);
        let id = ids(line).next()?;
        line.starts_with(id).then_some(id)
    };
    page.lines().filter_map(opening).collect()
}

fn list_problems(rules: &[&str], waived: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for (page, list) in [(RULES, rules), (WAIVED, waived)] {
        let mut seen = BTreeSet::new();
        for id in list.iter().filter(|id| !seen.insert(**id)) {
            problems.push(format!("{page}: lists {id} twice; keep one line"));
        }
    }
    let rules: BTreeSet<&str> = rules.iter().copied().collect();
    for id in waived.iter().copied().collect::<BTreeSet<_>>().intersection(&rules) {
        problems
            .push(format!("{WAIVED}: waives {id}, which {RULES} lists too; keep one of the lines"));
    }
    problems
}

/// Ids of a family that has rules, without being one. Other words of that form (`UTF-8`) are not ours.
fn unknown_ids(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<String> {
    let families: BTreeSet<&str> = known.iter().map(|id| family(id)).collect();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for id in ids(line).filter(|id| families.contains(family(id)) && !known.contains(id)) {
            problems.push(format!(
                "{path}:{number}: names {id}, which neither {RULES} nor {WAIVED} lists; correct the id"
            ));
        }
    }
    problems
}

fn family(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(family, _)| family)
}

/// The words of the form `PIPE-12`: two or more capitals, a hyphen, a number.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    words.filter(|word| {
        word.split_once('-').is_some_and(|(family, number)| {
            family.len() >= 2
                && family.bytes().all(|byte| byte.is_ascii_uppercase())
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // The ids here are of no family that exists, or this file would be found by its own check.

    #[test]
    fn ids_are_read_from_lists_tables_and_paragraphs() {
        let page =
            "# Rules\n- AB-1: a\n- **AB-2** b, unlike AB-9\n| CD-3 | c |\nUTF is no id\nsee AB-4\n";
        assert_eq!(listed(page), ["AB-1", "AB-2", "CD-3"]);
    }

    #[test]
    fn a_rule_listed_twice_or_both_built_and_waived_is_refused() {
        assert_eq!(
            list_problems(&["AB-1", "AB-1", "CD-2"], &["CD-2", "EF-1"]),
            [
                "docs/spec/rules.md: lists AB-1 twice; keep one line",
                "docs/spec/waived.md: waives CD-2, which docs/spec/rules.md lists too; keep one of the lines",
            ]
        );
    }

    #[test]
    fn an_id_that_does_not_exist_is_refused_and_other_words_pass() {
        let known = BTreeSet::from(["AB-1"]);
        assert_eq!(
            unknown_ids("a.rs", "// AB-1, UTF-8\n// AB-77.", &known),
            [
                "a.rs:2: names AB-77, which neither docs/spec/rules.md nor docs/spec/waived.md lists; correct the id"
            ]
        );
    }
}
