//! Prompt assembly: sections, variables, tools in order.

use std::sync::{Arc, Mutex};

use callgate_core::testing::ScriptedEngine;
use callgate_core::{
    ContextEntry, ErrorKind, Language, Layer, Mode, Prompt, PromptSection, RUN_CODE, Restriction,
    Section, Signal, ToolRuntime, UNLISTED_TOOLS, Variable,
};
use callgate_schema::{ParamSpec, ValueSpec, json};

use crate::support::{Counter, plain};

fn runtime(mode: Mode) -> ToolRuntime {
    ToolRuntime::builder().mode(mode).engine(ScriptedEngine::new()).build().unwrap()
}

async fn assemble(layer: &Layer) -> Prompt {
    layer.assemble(&Signal::new()).await.unwrap()
}

async fn refusal(layer: &Layer) -> String {
    layer.assemble(&Signal::new()).await.unwrap_err().to_string()
}

fn tools(prompt: &Prompt) -> Vec<&str> {
    prompt.tools.iter().map(|tool| &*tool.name).collect()
}

fn sections(prompt: &Prompt) -> Vec<&str> {
    prompt.sections.iter().map(|section| &*section.name).collect()
}

// PROMPT-1 PROMPT-2 PROMPT-4 PROMPT-10 CODE-2 CODE-3 CODE-4 CODE-30 CODE-31 SDKSEC-3 SDKSEC-4
#[tokio::test]
async fn each_mode_sends_its_tools_and_its_sections() {
    let root = runtime(Mode::Native);
    for name in ["zeta", "alpha", "Beta"] {
        root.register(plain(name)).unwrap();
    }
    let scope = |mode| {
        let scope = root.scope();
        scope.present_as(mode).unwrap();
        scope
    };
    let native = assemble(&root).await;
    assert_eq!((tools(&native), sections(&native)), (vec!["Beta", "alpha", "zeta"], vec![]));
    let code = assemble(&scope(Mode::Code)).await;
    assert_eq!(
        (tools(&code), sections(&code)),
        (vec![RUN_CODE], vec!["tools:code-only", "tools:sdk"])
    );
    let both = assemble(&scope(Mode::Both)).await;
    assert_eq!(
        (tools(&both), sections(&both)),
        (vec!["Beta", "alpha", RUN_CODE, "zeta"], vec!["tools:sdk"])
    );
    // The catalogue of a scope in mode `code` still has everything.
    assert_eq!(scope(Mode::Code).schemas().len(), 4);
    // A scope may opt out of a mode that the runtime declares.
    let out = runtime(Mode::Code);
    let native = out.scope();
    native.present_as(Mode::Native).unwrap();
    assert_eq!(sections(&assemble(&native).await), Vec::<&str>::new());
}

// SDKSEC-5 PROMPT-13 TSGEN-30
#[tokio::test]
async fn the_prompt_is_byte_identical_whatever_the_order_of_registration() {
    let text = async |names: &[&str]| {
        let root = runtime(Mode::Code);
        for name in names {
            root.register(plain(name)).unwrap();
        }
        let first = assemble(&root).await;
        assert_eq!(first, assemble(&root).await);
        first.system()
    };
    let one = text(&["a", "b", "c"]).await;
    assert_eq!(one, text(&["c", "a", "b"]).await);
    assert_ne!(one, text(&["a", "b"]).await);
}

// TEST-3
#[tokio::test]
async fn the_whole_prompt_of_code_mode_reads_like_this() {
    let root = runtime(Mode::Code);
    root.register(callgate_core::ToolDefinition::new(
        "read",
        "Reads a text file. Fill {{x}} in.",
        ParamSpec::new()
            .required("path", ValueSpec::string())
            .optional("limit", ValueSpec::integer()),
        callgate_core::Output::new(ValueSpec::string(), callgate_core::render::json),
        |_, _| async { Ok(json!("")) },
    ))
    .unwrap();
    root.add_section(Section::text("tool:read", 100, "Read before you write.")).unwrap();
    // TSGEN-31: descriptions are data, `{{x}}` in them is no variable.
    let prompt = assemble(&root).await;
    let schema = &prompt.tools[0];
    insta::assert_snapshot!(format!(
        "{}\n\n=== {}: {}\n{}",
        prompt.system(),
        schema.name,
        schema.description,
        schema.parameters.render_result()
    ));
}

// PROMPT-12 SDKSEC-10
#[tokio::test]
async fn a_mode_with_programs_needs_an_engine_and_others_do_not() {
    let bare = ToolRuntime::builder().mode(Mode::Code).build().unwrap();
    let message = refusal(&bare).await;
    assert!(message.contains("mode `code`") && message.contains("engine"), "{message}");
    let native = bare.scope();
    native.present_as(Mode::Native).unwrap();
    assemble(&native).await;
}

// SDKSEC-1 SDKSEC-2 PROMPT-14
#[tokio::test]
async fn sections_stand_in_order_and_empty_ones_vanish() {
    let root = runtime(Mode::Code);
    root.register(plain("x")).unwrap();
    let evaluated = Counter::default();
    let counted = evaluated.clone();
    root.add_section(Section::text("later", 120, "guidance 2")).unwrap();
    root.add_section(Section::text("first", -100, "identity")).unwrap();
    root.add_section(Section::text("same", 120, "guidance 3")).unwrap();
    root.add_section(Section::text("deployment:persona", 0, "")).unwrap();
    root.add_section(Section::computed("tool:x", 100, move |_| {
        counted.add();
        "guidance 1".to_owned()
    }))
    .unwrap();
    let names = ["first", "tools:code-only", "tool:x", "later", "same", "tools:sdk"];
    assert_eq!(sections(&assemble(&root).await), names);
    // Hiding a tool hides its schema, not its section.
    let scope = root.scope();
    scope.restrict(Restriction::deny(["x"])).unwrap();
    assert_eq!(sections(&assemble(&scope).await), names);
    assert_eq!(evaluated.get(), 2);
    // A scoped section replaces the global one, which is not even computed.
    scope.add_section(Section::text("tool:x", 100, "mine")).unwrap();
    let prompt = assemble(&scope).await;
    assert!(prompt.sections.iter().any(|section| section.text == "mine"));
    assert_eq!(evaluated.get(), 2);
    let text = assemble(&scope).await.system();
    assert!(text.starts_with("identity\n\nYou can call"), "{text}");
}

// PROMPT-5 PROMPT-6 PROMPT-7 PROMPT-3 CODE-8 SDKSEC-13
#[tokio::test]
async fn a_tool_order_places_listed_tools_and_refuses_unknown_ones() {
    let build = |mode, order: &[&str]| {
        ToolRuntime::builder()
            .mode(mode)
            .engine(ScriptedEngine::new())
            .tool_order(order.to_vec())
            .build()
    };
    for bad in [&[][..], &["a"], &[UNLISTED_TOOLS, UNLISTED_TOOLS], &["a", "a", UNLISTED_TOOLS]] {
        assert_eq!(
            build(Mode::Native, bad).unwrap_err().kind(),
            ErrorKind::InvalidConfig,
            "{bad:?}"
        );
    }
    let root = build(Mode::Both, &["c", UNLISTED_TOOLS, "a"]).unwrap();
    for name in ["a", "b", "c", "d"] {
        root.register(plain(name)).unwrap();
    }
    assert_eq!(tools(&assemble(&root).await), ["c", "b", "d", RUN_CODE, "a"]);
    // Known but hidden: simply absent.
    let scope = root.scope();
    scope.restrict(Restriction::deny(["c"])).unwrap();
    assert_eq!(tools(&assemble(&scope).await), ["b", "d", RUN_CODE, "a"]);
    // In mode `code` only `run_code` is known.
    let code = root.scope();
    code.present_as(Mode::Code).unwrap();
    insta::assert_snapshot!(refusal(&code).await, @"the tool order names unknown tools: `a`, `c`; known are `run_code`");
    let only = build(Mode::Code, &[RUN_CODE, UNLISTED_TOOLS]).unwrap();
    assert_eq!(tools(&assemble(&only).await), [RUN_CODE]);
    let marked = runtime(Mode::Native);
    marked.register(plain(UNLISTED_TOOLS)).unwrap();
    assert!(refusal(&marked).await.contains("rename it"));
}

// PROMPT-8 SDKSEC-12 SDKSEC-14
#[tokio::test]
async fn what_an_assembly_hook_answers_is_final() {
    let root = runtime(Mode::Code);
    root.register(plain("x")).unwrap();
    let hook = root.on_assemble(async |_, next| {
        let mut prompt = next.run().await?;
        prompt.tools.clear();
        prompt.sections.retain(|section| &*section.name != "tools:sdk");
        prompt.sections.push(PromptSection::new("extra", "last words"));
        Ok(prompt)
    });
    let prompt = assemble(&root).await;
    assert_eq!((tools(&prompt), sections(&prompt)), (vec![], vec!["tools:code-only", "extra"]));
    // A complete section is put back, alone.
    root.add_section(Section::text("all", 5, "nothing but this").complete()).unwrap();
    assert_eq!(assemble(&root).await.system(), "nothing but this");
    hook.dispose();
    root.add_section(Section::text("everything", 6, "no, this").complete()).unwrap();
    insta::assert_snapshot!(refusal(&root).await, @"the sections `all` and `everything` are both complete; only one can be the whole prompt");
}

// PROMPT-9
#[tokio::test]
async fn a_failing_hook_or_section_fails_the_assembly() {
    let root = runtime(Mode::Native);
    root.on_assemble(async |_, _| panic!("no prompt today"));
    assert_eq!(refusal(&root).await, "an assembly hook panicked: no prompt today");
    let root = runtime(Mode::Native);
    root.add_section(Section::computed("bad", 1, |_| panic!("no text"))).unwrap();
    assert_eq!(refusal(&root).await, "section `bad` panicked: no text");
}

// SDKSEC-15 SDKSEC-16
#[tokio::test]
async fn references_are_filled_in_once_and_bad_ones_name_their_section() {
    let filled = async |text: &str| {
        let root = runtime(Mode::Native);
        root.add_variable(Variable::new("cwd", |_| Some("/srv/{{model}}".to_owned()))).unwrap();
        root.add_variable(Variable::new("none", |_| None)).unwrap();
        root.add_section(Section::text("s", 0, text)).unwrap();
        root.assemble(&Signal::new())
            .await
            .map(|prompt| prompt.system())
            .map_err(|error| error.to_string())
    };
    assert_eq!(filled("in {{cwd}}!").await.unwrap(), "in /srv/{{model}}!");
    assert_eq!(filled("an opening {{ alone").await.unwrap(), "an opening {{ alone");
    for (text, says) in [
        ("{{constructor}}", "unknown variable"),
        ("{{ cwd }}", "malformed"),
        ("{{Cwd}}", "malformed"),
        ("{{none}}", "no value"),
    ] {
        let message = filled(text).await.unwrap_err();
        assert!(message.contains(says) && message.contains("`s`"), "{message}");
    }
    // A scope's variable shadows; a layer has one of a name.
    let root = runtime(Mode::Native);
    let variable = |value: &'static str| Variable::new("v", move |_| Some(value.to_owned()));
    root.add_variable(variable("root")).unwrap();
    root.add_section(Section::text("s", 0, "{{v}}")).unwrap();
    let scope = root.scope();
    scope.add_variable(variable("scope")).unwrap();
    assert_eq!(assemble(&root).await.system(), "root");
    assert_eq!(assemble(&scope).await.system(), "scope");
    assert_eq!(scope.add_variable(variable("again")).unwrap_err().kind(), ErrorKind::Duplicate);
    assert_eq!(
        root.add_section(Section::text("s", 1, "")).unwrap_err().kind(),
        ErrorKind::Duplicate
    );
    assert!(root.add_variable(Variable::new("Bad", |_| None)).is_err());
}

// SDKSEC-17
#[tokio::test]
async fn runtime_context_is_one_text_and_can_be_suppressed_without_being_computed() {
    let root = runtime(Mode::Native);
    let computed = Arc::new(Mutex::new(0));
    let counted = computed.clone();
    root.add_context(ContextEntry::new("later", 20, |_| "second".to_owned())).unwrap();
    root.add_context(ContextEntry::new("empty", 15, |_| String::new())).unwrap();
    root.add_context(ContextEntry::new("first", 10, move |_| {
        *counted.lock().unwrap() += 1;
        "first".to_owned()
    }))
    .unwrap();
    assert_eq!(root.runtime_context(&Signal::new()).unwrap(), "first\n\nsecond");
    assert_eq!(assemble(&root).await.system(), "");
    let quiet = root.scope();
    quiet.change(|change| change.suppress_context()).unwrap();
    assert_eq!(quiet.runtime_context(&Signal::new()).unwrap(), "");
    assert_eq!(*computed.lock().unwrap(), 1);
}

// BOUND-6 CODE-11 CODE-12 SDKSEC-6
#[test]
fn run_code_speaks_the_language_of_the_engine() {
    let describe = |language| {
        let engine = ScriptedEngine::new().in_language(language);
        let root = ToolRuntime::builder().mode(Mode::Code).engine(engine).build().unwrap();
        let schema = root.schemas()[0].clone();
        assert_eq!(root.language(), Some(language));
        format!("{}\n{}", schema.description, schema.parameters.render_result())
    };
    insta::assert_snapshot!(describe(Language::TypeScript));
    insta::assert_snapshot!(describe(Language::Python));
    // CODE-13: without an engine, whoever reads gets the TypeScript flavour.
    let bare = ToolRuntime::builder().mode(Mode::Code).build().unwrap();
    assert!(bare.schemas()[0].description.contains("TypeScript"));
}

// BOUND-7 CODE-35: every language of the list has its texts; the compiler asks for the arm.
#[test]
fn every_language_has_an_sdk() {
    let root = runtime(Mode::Code);
    root.register(plain("my-tool")).unwrap();
    for language in Language::ALL {
        let sdk = root.sdk(language);
        assert!(sdk.contains("my-tool"), "{language}: {sdk}");
    }
}
