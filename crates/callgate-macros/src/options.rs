//! What stands in the parentheses of `#[tool(…)]`.

use proc_macro2::{Span, TokenStream};
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::{LitInt, LitStr, Path, Token, parse_quote};

use crate::Problems;

const KNOWN: &str =
    "`name = \"…\"`, `concurrency_safe`, `repeatable`, `timeout_ms = …`, `crate = …`";

/// The options of one tool.
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) concurrency_safe: bool,
    pub(crate) repeatable: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) callgate: Path,
}

impl Options {
    pub(crate) fn parse(attribute: TokenStream) -> syn::Result<Self> {
        let mut options = Self {
            name: None,
            concurrency_safe: false,
            repeatable: false,
            timeout_ms: None,
            callgate: parse_quote!(::callgate),
        };
        let mut problems = Problems::default();
        let mut seen = Vec::new();
        let read = syn::meta::parser(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if seen.contains(&key) {
                problems.add(meta.error(format!("`{key}` is given twice; keep one")));
            }
            options.read(&key, &meta, &mut problems)?;
            seen.push(key);
            Ok(())
        });
        let outcome = read.parse2(attribute);
        problems.note(outcome);
        problems.or(options)
    }

    fn read(
        &mut self,
        key: &str,
        meta: &ParseNestedMeta<'_>,
        problems: &mut Problems,
    ) -> syn::Result<()> {
        match key {
            "name" => {
                let name: LitStr = value(meta, "a string, such as `name = \"read\"`")?.parse()?;
                if name.value().is_empty() {
                    problems.add(at(name.span(), "the name of a tool must not be empty"));
                }
                self.name = Some(name);
            }
            "concurrency_safe" => self.concurrency_safe = flag(meta)?,
            "repeatable" => self.repeatable = flag(meta)?,
            "timeout_ms" => {
                let budget: LitInt =
                    value(meta, "milliseconds, such as `timeout_ms = 500`")?.parse()?;
                let milliseconds = budget.base10_parse()?;
                if milliseconds == 0 {
                    let message = "a timeout of zero ends every call; give it at least 1, or none";
                    problems.add(at(budget.span(), message));
                }
                self.timeout_ms = Some(milliseconds);
            }
            "crate" => {
                self.callgate = value(meta, "a path, such as `crate = ::callgate`")?
                    .call(Path::parse_mod_style)?;
            }
            _ => return Err(meta.error(format!("unknown option; `#[tool]` takes {KNOWN}"))),
        }
        Ok(())
    }
}

fn value<'a>(meta: &ParseNestedMeta<'a>, what: &str) -> syn::Result<ParseStream<'a>> {
    if meta.input.peek(Token![=]) {
        return meta.value();
    }
    Err(meta.error(format!("this option needs {what}")))
}

fn flag(meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
    if meta.input.peek(Token![=]) {
        return Err(meta.error("this option has no value; write it alone, or leave it out"));
    }
    Ok(true)
}

fn at(span: Span, message: &str) -> syn::Error {
    syn::Error::new(span, message)
}
