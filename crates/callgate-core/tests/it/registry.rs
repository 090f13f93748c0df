//! Scopes, layers, views, registrations and the events around them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::testing::{Results, ScriptedEngine};
use callgate_core::{
    CallInput, Change, Decision, Denial, ErrorKind, Layer, Mode, Output, Place, Plugin, RUN_CODE,
    Restriction, Scope, Section, Signal, ToolDefinition, ToolRuntime, codes, hook, render,
};
use callgate_schema::{ParamSpec, ValueSpec, json};

use crate::support::{Counter, counting, plain, runtime_with};

fn runtime(tools: &[&str]) -> ToolRuntime {
    let runtime = ToolRuntime::builder().build().unwrap();
    for name in tools {
        runtime.register(plain(name)).unwrap();
    }
    runtime
}

/// The names a scope sees, in order.
fn names(layer: &Layer) -> Vec<String> {
    layer.schemas().iter().map(|tool| tool.name.to_string()).collect()
}

fn described(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        description,
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        |_, _| async { Ok(json!("")) },
    )
}

fn description(layer: &Layer, name: &str) -> Option<String> {
    layer.get(name).map(|tool| tool.description().to_owned())
}

async fn call(layer: &Layer, name: &str) -> callgate_core::CallResult {
    layer.execute(CallInput::new("1", name, json!({}))).await
}

/// One line for each registering step, then the view that is expected from `b`, whose parent is
/// `a`. Steps: `root: x`, `a: x`, `b: x`, `a deny x y`, `b allow x`.
fn check_view(steps: &str, expected: &str) {
    let root = runtime(&[]);
    let a = root.scope();
    let b = a.scope();
    for step in steps.lines().map(str::trim).filter(|step| !step.is_empty()) {
        let words: Vec<&str> = step.split_whitespace().collect();
        let (place, rest) = (words[0], &words[1..]);
        let scope = |place: &str| if place.trim_end_matches(':') == "a" { &a } else { &b };
        match (place, rest) {
            ("root:", tools) => tools.iter().for_each(|name| {
                root.register(described(name, "root")).unwrap();
            }),
            ("a:" | "b:", tools) => tools.iter().for_each(|name| {
                scope(place).register(described(name, place.trim_end_matches(':'))).unwrap();
            }),
            (place, ["deny", names @ ..]) => {
                scope(place).restrict(Restriction::deny(names.to_vec())).unwrap();
            }
            (place, ["allow", names @ ..]) => {
                scope(place).restrict(Restriction::allow(names.to_vec())).unwrap();
            }
            _ => panic!("cannot read `{step}`"),
        }
    }
    let seen: Vec<String> =
        b.schemas().iter().map(|tool| format!("{}@{}", tool.name, tool.description)).collect();
    assert_eq!(seen.join(" "), expected, "{steps}");
}

#[test]
fn a_view_is_what_every_layer_admits_then_the_scopes_own() {
    // VIS-2 SCOPE-16: nearer layers win.
    check_view("root: read write\n a: read", "read@a write@root");
    // VIS-6: a shadow takes the place of what it replaces; then ancestors' names, then own.
    check_view("root: x y\n a: p x\n b: own y", "x@a y@b p@a own@b");
    // VIS-3: every layer must admit, an ancestor's mask reaches down, masks intersect.
    check_view("root: x y z\n a deny x\n b deny y", "z@root");
    check_view("root: x y z\n a allow x y\n b allow y z", "y@root");
    check_view("root: x y\n b deny x\n b allow x y", "y@root");
    // VIS-4: own tools are never filtered, and shadow in either order.
    check_view("root: x\n b: x\n b deny x", "x@b");
    check_view("root: x\n b deny x\n b: x own", "x@b own@b");
    // VIS-5: a parent's own tool is inherited for the child, and passes the parent's filter there.
    check_view("root: x\n a: tool\n a allow x", "x@root");
    // VIS-7: judged anew: what comes later is hidden by an allow list and seen past a deny list.
    check_view("root: x\n b allow x\n root: late", "x@root");
    check_view("root: x\n b deny x\n root: late", "late@root");
    // REG-17: empty lists are legal; an empty allow hides all, an empty deny nothing.
    check_view("root: x\n b allow", "");
    check_view("root: x\n b deny", "x@root");
}

// VIS-5
#[test]
fn a_parent_sees_its_own_tool_that_its_child_does_not() {
    let root = runtime(&["x"]);
    let parent = root.scope();
    parent.register(plain("tool")).unwrap();
    parent.restrict(Restriction::allow(["x"])).unwrap();
    assert_eq!(names(&parent), ["x", "tool"]);
    assert_eq!(names(&parent.scope()), ["x"]);
}

// VIS-9
#[test]
fn what_one_scope_contributes_reaches_no_sibling_and_not_the_root() {
    let root = runtime(&["x"]);
    let (a, b) = (root.scope(), root.scope());
    a.register(plain("own")).unwrap();
    a.restrict(Restriction::deny(["x"])).unwrap();
    assert_eq!(
        (names(&a), names(&b), names(&root)),
        (vec!["own".into()], vec!["x".into()], vec!["x".into()])
    );
}

// VIS-7
#[test]
fn a_denied_tool_that_comes_back_stays_hidden() {
    let root = runtime(&[]);
    let registration = root.register(plain("x")).unwrap();
    let scope = root.scope();
    scope.restrict(Restriction::deny(["x"])).unwrap();
    registration.dispose();
    root.register(plain("x")).unwrap();
    assert_eq!(names(&scope), Vec::<String>::new());
}

// VIS-8
#[tokio::test]
async fn a_hidden_tool_behaves_like_one_that_does_not_exist() {
    let root = runtime(&["x"]);
    let scope = root.scope();
    scope.restrict(Restriction::deny(["x"])).unwrap();
    let error = |name| {
        let scope = scope.clone();
        async move { call(&scope, name).await.error().cloned().unwrap() }
    };
    let (hidden, missing) = (error("x").await, error("y").await);
    assert_eq!(
        (hidden.code(), missing.code()),
        (Some(codes::UNKNOWN_TOOL), Some(codes::UNKNOWN_TOOL))
    );
    assert_eq!(hidden.message().replace("`x`", "_"), missing.message().replace("`y`", "_"));
}

// REG-7 CODE-5
#[test]
fn the_name_run_code_can_never_be_registered_or_restricted() {
    let root = runtime(&["x"]);
    let kind = |layer: &Layer| layer.register(plain(RUN_CODE)).unwrap_err().kind();
    let scope = root.scope();
    assert_eq!((kind(&root), kind(&scope)), (ErrorKind::ReservedName, ErrorKind::ReservedName));
    for restriction in [Restriction::allow([RUN_CODE]), Restriction::deny([RUN_CODE])] {
        let error = scope.restrict(restriction.including_absent()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReservedName);
    }
}

// REG-8
#[test]
fn a_name_exists_once_per_layer_and_the_error_says_what_to_do() {
    let root = runtime(&["x"]);
    let scope = root.scope();
    scope.register(plain("x")).unwrap();
    let messages =
        [&*root, &*scope].map(|layer| layer.register(plain("x")).unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n"), @r"
    a global tool `x` exists already; register a variant for one agent in that agent's scope
    this scope has a tool `x` already; dispose that registration first
    ");
}

// REG-9 REG-5 REG-6
#[test]
fn a_refused_registration_leaves_nothing_behind_and_announces_nothing() {
    let root = runtime(&["x"]);
    let changes = Counter::default();
    let counted = changes.clone();
    root.on_change(move || counted.add());
    let bad_schema = |name: &str| {
        let output = Output::new(json!({ "type": "string", "format": "uri" }), render::json);
        ToolDefinition::new(name, "", ParamSpec::new(), output, |_, _| async { Ok(json!("")) })
    };
    // The first fault of this order: schema, timeout, reserved name, duplicate.
    let cases = [
        (bad_schema(RUN_CODE).timeout(Duration::ZERO), ErrorKind::UnsupportedSchema),
        (plain(RUN_CODE).timeout(Duration::ZERO), ErrorKind::InvalidDefinition),
        (plain(RUN_CODE), ErrorKind::ReservedName),
        (plain("x"), ErrorKind::Duplicate),
    ];
    for (tool, kind) in cases {
        let error = root.register(tool).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    let error = root.register(bad_schema("y")).unwrap_err();
    assert_eq!(error.violations()[0].path(), "schema.format");
    assert_eq!((names(&root), changes.get()), (vec!["x".to_owned()], 0));
}

// REG-11
#[test]
fn a_projected_schema_has_name_description_and_parameters_only() {
    let root = runtime(&[]);
    let raw = json!({ "type": "object", "x-vendor": [1, 2] });
    let tool = ToolDefinition::new(
        "raw",
        "As it came.",
        raw.clone(),
        Output::new(ValueSpec::string(), render::json),
        |_, _| async { Ok(json!("")) },
    );
    root.register(tool.timeout(Duration::from_secs(1)).concurrency_safe()).unwrap();
    let schemas = root.schemas();
    assert_eq!((&*schemas[0].name, &*schemas[0].description), ("raw", "As it came."));
    assert_eq!(schemas[0].parameters, raw);
    // The same shared list as long as nothing changes.
    assert!(Arc::ptr_eq(&schemas, &root.schemas()));
}

// REG-10 DSL-31
#[tokio::test]
async fn a_raw_tool_gets_whatever_came_and_its_output_is_still_enforced() {
    let root = runtime(&[]);
    let tool = ToolDefinition::new(
        "raw",
        "Echoes.",
        json!({ "type": "object", "required": ["n"] }),
        Output::new(ValueSpec::integer(), render::json),
        |arguments, _| async move { Ok(arguments) },
    );
    root.register(tool).unwrap();
    let run = |arguments| root.execute(CallInput::new("1", "raw", arguments));
    assert_eq!(run(json!(7)).await.value(), Some(&json!(7)));
    let error = run(json!({ "n": 1 })).await.error().cloned().unwrap();
    assert_eq!(error.code(), Some(codes::INVALID_TOOL_OUTPUT));
}

// REG-12
#[test]
fn get_answers_for_the_layer_it_is_asked_at() {
    let root = runtime(&[]);
    root.register(described("x", "root")).unwrap();
    let scope = root.scope();
    scope.register(described("x", "scope")).unwrap();
    assert_eq!(description(&root, "x").as_deref(), Some("root"));
    assert_eq!(description(&scope, "x").as_deref(), Some("scope"));
    assert_eq!(description(&scope.scope(), "x").as_deref(), Some("scope"));
    assert!(root.get("y").is_none());
}

// REG-13 SCOPE-13
#[test]
fn a_registration_undoes_its_own_entry_only_and_dropping_it_does_nothing() {
    let root = runtime(&[]);
    let first = root.register(described("x", "first")).unwrap();
    first.dispose();
    drop(root.register(described("x", "second")).unwrap());
    first.dispose();
    assert_eq!(description(&root, "x").as_deref(), Some("second"));
    {
        let _block = root.register(plain("y")).unwrap().until_dropped();
        assert_eq!(names(&root), ["x", "y"]);
    }
    assert_eq!(names(&root), ["x"]);
}

// REG-20 SCOPE-14
#[tokio::test]
async fn guards_are_independent_entries_of_one_scope() {
    let root = runtime(&["x"]);
    let (a, b) = (root.scope(), root.scope());
    let asked = Counter::default();
    let changes = Counter::default();
    let counted = changes.clone();
    root.on_change(move || counted.add());
    let guard = |asked: &Counter| {
        let asked = asked.clone();
        move |_: &callgate_core::Call| {
            asked.add();
            None
        }
    };
    let first = a.guard(guard(&asked));
    a.guard(guard(&asked));
    call(&a, "x").await;
    assert_eq!(asked.get(), 2);
    first.dispose();
    first.dispose();
    call(&a, "x").await;
    call(&b, "x").await;
    call(&root, "x").await;
    assert_eq!((asked.get(), changes.get()), (3, 0));
}

// PIPE-15 PIPE-17 SCOPE-15
#[tokio::test]
async fn guards_run_from_the_root_down_and_one_that_is_added_meanwhile_is_asked_too() {
    let root = runtime(&["x"]);
    let parent = root.scope();
    let child = parent.scope();
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |label: &'static str| {
        let order = order.clone();
        move |_: &callgate_core::Call| {
            order.lock().unwrap().push(label);
            None
        }
    };
    child.guard(note("child"));
    parent.guard(note("parent"));
    root.guard(note("root"));
    call(&child, "x").await;
    assert_eq!(std::mem::take(&mut *order.lock().unwrap()), ["root", "parent", "child"]);

    let (adding, label) = (root.clone(), note("added"));
    let once = AtomicUsize::new(0);
    let label = Arc::new(label);
    root.guard(move |_| {
        if once.fetch_add(1, Ordering::SeqCst) == 0 {
            let label = label.clone();
            adding.guard(move |call| label(call));
        }
        None
    });
    call(&child, "x").await;
    assert_eq!(*order.lock().unwrap(), ["root", "parent", "child", "added"]);
}

// PIPE-16
#[tokio::test]
async fn no_hook_however_ordered_undoes_a_denial_by_a_guard() {
    let root = runtime(&["x"]);
    root.guard(|_| Some(Denial::new("no")));
    let allow = hook::from_fn::<hook::PreExecute, _, _>(async |_, _| Ok(Decision::Allow));
    root.prepend(allow);
    assert_eq!(call(&root, "x").await.text(), "Error: no");
}

// REG-16 REG-17 REG-18 REG-19
#[test]
fn a_restriction_names_inherited_tools_and_says_which_are_not() {
    let root = runtime(&["read", "write"]);
    let scope = root.scope();
    scope.register(plain("own")).unwrap();
    let refused = Restriction::allow(["read", "raed"]).and_deny(["own", "write"]);
    let error = scope.restrict(refused).unwrap_err();
    insta::assert_snapshot!(error, @"a restriction names tools that this scope does not inherit: `raed`, `own`; inherited are `read`, `write`");
    let error = runtime(&[]).scope().restrict(Restriction::deny(["x"])).unwrap_err();
    insta::assert_snapshot!(error, @"a restriction names tools that this scope does not inherit: `x`; nothing is inherited here");
    // A name that another mask hides already is valid; lifting one mask leaves the other.
    let first = scope.restrict(Restriction::deny(["read"])).unwrap();
    let second = scope.restrict(Restriction::deny(["read", "write"])).unwrap();
    first.dispose();
    assert_eq!(names(&scope), ["own"]);
    second.dispose();
    assert_eq!(names(&scope), ["read", "write", "own"]);
    // Names nobody has yet need to be asked for.
    scope.restrict(Restriction::deny(["later"]).including_absent()).unwrap();
    root.register(plain("later")).unwrap();
    assert_eq!(names(&scope), ["read", "write", "own"]);
}

// REG-21 VIS-11 CODE-28 CODE-29
#[test]
fn the_nearest_declaration_of_a_mode_wins_and_a_scope_has_one() {
    let root = runtime_with(ScriptedEngine::new());
    let parent = root.scope();
    let child = parent.scope();
    let sibling = root.scope();
    let declared = parent.present_as(Mode::Code).unwrap();
    assert_eq!(parent.present_as(Mode::Code).unwrap_err().kind(), ErrorKind::Duplicate);
    let modes = || [root.mode(), parent.mode(), child.mode(), sibling.mode()];
    assert_eq!(modes(), [Mode::Both, Mode::Code, Mode::Code, Mode::Both]);
    child.present_as(Mode::Native).unwrap();
    declared.dispose();
    assert_eq!(modes(), [Mode::Both, Mode::Both, Mode::Native, Mode::Both]);
}

// REG-22
#[test]
fn a_mode_that_brings_sections_fails_as_a_whole_if_one_is_taken() {
    let root = runtime_with(ScriptedEngine::new());
    let scope = root.scope();
    scope.add_section(Section::text("tools:sdk", 150, "mine")).unwrap();
    assert_eq!(scope.present_as(Mode::Code).unwrap_err().kind(), ErrorKind::Duplicate);
    assert_eq!(scope.mode(), Mode::Both);
    scope.present_as(Mode::Native).unwrap();
}

// VIS-12 VIS-15 CODE-6 CODE-7
#[test]
fn run_code_is_in_a_view_exactly_when_the_mode_is_not_native() {
    let root = runtime_with(ScriptedEngine::new());
    root.register(plain("x")).unwrap();
    let (code, native) = (root.scope(), root.scope());
    code.present_as(Mode::Code).unwrap();
    native.present_as(Mode::Native).unwrap();
    code.restrict(Restriction::allow(Vec::<&str>::new())).unwrap();
    code.register(plain("own")).unwrap();
    assert_eq!(names(&root), ["x", RUN_CODE]);
    assert_eq!(names(&code), ["own", RUN_CODE]);
    assert_eq!(names(&native), ["x"]);
    assert!(native.get(RUN_CODE).is_none());
    assert!(code.get(RUN_CODE).unwrap().ptr_eq(&root.get(RUN_CODE).unwrap()));
}

// REG-1 CODE-1
#[test]
fn a_runtime_refuses_settings_outside_their_range() {
    let zero = ToolRuntime::builder().max_parallel_sub_calls(0).build().unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidConfig);
    assert_eq!(ToolRuntime::builder().build().unwrap().mode(), Mode::Native);
}

// EVT-13 EVT-14 REG-14: adapted, a failing observer rolls nothing back and starves nobody.
#[test]
fn changes_of_tools_masks_and_modes_are_announced_to_everybody() {
    let root = runtime_with(ScriptedEngine::new());
    let (a, b) = (root.scope(), root.scope());
    let heard = Counter::default();
    root.on_change(|| panic!("not my day"));
    let (counted, looking) = (heard.clone(), a.clone());
    b.on_change(move || {
        // What changed is visible by now, and looking takes no lock.
        let _visible = looking.schemas().len();
        counted.add();
    });
    let tool = a.register(plain("x")).unwrap();
    let mask = a.restrict(Restriction::deny(Vec::<&str>::new())).unwrap();
    let mode = a.present_as(Mode::Code).unwrap();
    assert_eq!((heard.get(), names(&a)), (3, vec!["x".to_owned(), RUN_CODE.to_owned()]));
    a.guard(|_| None);
    a.observe(|_, _| ());
    assert_eq!(heard.get(), 3);
    for registration in [tool, mask, mode] {
        registration.dispose();
        registration.dispose();
    }
    assert_eq!(heard.get(), 6);
}

// REG-24
#[test]
fn a_change_is_all_or_nothing_and_one_event() {
    let root = runtime(&["x"]);
    let old = root.register(plain("old")).unwrap();
    let heard = Counter::default();
    let counted = heard.clone();
    root.on_change(move || counted.add());
    let failed = root.change(|change| {
        change.undo(&old);
        change.register(plain("new"));
        change.register(plain("x"));
        change.register(plain("never reached"));
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Duplicate);
    assert_eq!((names(&root), heard.get()), (vec!["x".to_owned(), "old".to_owned()], 0));
    root.change(|change| {
        change.undo(&old);
        change.register(described("old", "replaced"));
        change.guard(|_| None);
    })
    .unwrap();
    assert_eq!((description(&root, "old").as_deref(), heard.get()), (Some("replaced"), 1));
}

/// A hook of every stage that notes a label, then delegates.
fn note_everywhere(layer: &Layer, label: &'static str, notes: &Arc<Mutex<Vec<String>>>) {
    let note = |stage: &'static str| {
        let notes = notes.clone();
        move || notes.lock().unwrap().push(format!("{stage} {label}"))
    };
    let (gate, around, post, end) = (note("gate"), note("around"), note("post"), note("end"));
    layer.on_pre_execute(move |_, next| {
        gate();
        async move { next.run().await }
    });
    layer.on_execute(move |_, mut next| {
        around();
        async move { next.run().await }
    });
    layer.on_post_execute(move |_, next| {
        post();
        async move { next.run().await }
    });
    layer.observe(move |_, _| end());
}

// SCOPE-17 EVT-1 INV-13
#[tokio::test]
async fn a_call_reaches_the_hooks_of_its_scope_and_of_those_above_only() {
    let root = runtime(&["x"]);
    let parent = root.scope();
    let child = parent.scope();
    let sibling = parent.scope();
    let notes = Arc::new(Mutex::new(Vec::new()));
    note_everywhere(&child, "child", &notes);
    note_everywhere(&sibling, "sibling", &notes);
    note_everywhere(&root, "root", &notes);
    note_everywhere(&parent, "parent", &notes);
    let heard = |layer: Layer| {
        let notes = notes.clone();
        async move {
            call(&layer, "x").await;
            std::mem::take(&mut *notes.lock().unwrap())
        }
    };
    // EVT-2 EVT-12: in the one order of registration, whatever the scope.
    let expected: Vec<String> = ["gate", "around", "post", "end"]
        .iter()
        .flat_map(|stage| ["child", "root", "parent"].map(|label| format!("{stage} {label}")))
        .collect();
    assert_eq!(heard((*child).clone()).await, expected);
    let only_root: Vec<String> =
        ["gate", "around", "post", "end"].map(|stage| format!("{stage} root")).to_vec();
    assert_eq!(heard((*root).clone()).await, only_root);
}

// EVT-2 EVT-4 EVT-5
#[tokio::test]
async fn hooks_nest_in_order_a_prepended_one_outermost_and_any_may_decide_alone() {
    let root = runtime(&["x"]);
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noting = |label: &'static str| {
        let notes = notes.clone();
        move |call: callgate_core::Call, next: callgate_core::Next<hook::PreExecute>| {
            let notes = notes.clone();
            async move {
                notes.lock().unwrap().push(format!("+{label}"));
                let decision = if call.arguments() == &json!(label) {
                    Ok(Decision::deny(label))
                } else {
                    next.run().await
                };
                notes.lock().unwrap().push(format!("-{label}"));
                decision
            }
        }
    };
    root.on_pre_execute(noting("1"));
    root.on_pre_execute(noting("2"));
    root.prepend(hook::from_fn(noting("0")));
    root.change(|change| change.hook(hook::from_fn(noting("-1")), Place::First)).unwrap();
    let run = |arguments| root.execute(CallInput::new("1", "x", arguments));
    run(json!({})).await;
    let taken = || std::mem::take(&mut *notes.lock().unwrap()).join(" ");
    assert_eq!(taken(), "+-1 +0 +1 +2 -2 -1 -0 --1");
    let result = run(json!("1")).await;
    assert_eq!((taken().as_str(), result.text().as_str()), ("+-1 +0 +1 -1 -0 --1", "Error: 1"));
}

// EVT-3
#[tokio::test]
async fn the_hooks_of_a_stage_are_those_at_its_start() {
    let root = runtime(&["x"]);
    let runs = Counter::default();
    let inner: Arc<Mutex<Option<callgate_core::Registration>>> = Arc::default();
    let (layer, counted, slot) = (root.clone(), runs.clone(), inner.clone());
    root.on_pre_execute(move |_, next| {
        // Removes the inner hook of this pass, and adds one for the next.
        if let Some(inner) = slot.lock().unwrap().take() {
            inner.dispose();
        }
        let counted = counted.clone();
        layer.on_pre_execute(move |_, next| {
            counted.add();
            async move { next.run().await }
        });
        async move { next.run().await }
    });
    let removed_runs = Counter::default();
    let counted = removed_runs.clone();
    *inner.lock().unwrap() = Some(root.on_pre_execute(move |_, next| {
        counted.add();
        async move { next.run().await }
    }));
    call(&root, "x").await;
    assert_eq!((removed_runs.get(), runs.get()), (1, 0));
    call(&root, "x").await;
    assert_eq!((removed_runs.get(), runs.get()), (1, 1));
}

// EVT-6
#[tokio::test]
async fn running_again_runs_every_inner_hook_and_the_body_again() {
    let root = runtime(&[]);
    let (bodies, inner) = (Counter::default(), Counter::default());
    root.register(counting("x", &bodies)).unwrap();
    root.on_execute(async |_, mut next| {
        next.run().await?;
        next.run().await
    });
    let counted = inner.clone();
    root.on_execute(move |_, mut next| {
        counted.add();
        async move { next.run().await }
    });
    call(&root, "x").await;
    assert_eq!((inner.get(), bodies.get()), (2, 2));
}

// EVT-7 EVT-9
#[tokio::test]
async fn an_outer_hook_may_recover_the_error_of_an_inner_one() {
    let root = runtime(&["x"]);
    root.on_execute(async |_, mut next| match next.run().await {
        Err(error) => Ok(callgate_core::Executed::success(format!("recovered: {error}"))),
        fine => fine,
    });
    root.on_execute(async |_, _| panic!("inner"));
    assert_eq!(call(&root, "x").await.text(), "recovered: an execute hook panicked: inner");
}

// EVT-12
#[tokio::test]
async fn a_panicking_observer_neither_fails_the_call_nor_starves_the_next() {
    let root = runtime(&["x"]);
    root.observe(|_, _| panic!("I saw too much"));
    let (results, _) = Results::observe(&root);
    assert_eq!(call(&root, "x").await.text(), "x");
    assert!(results.only("1").is_some());
}

// EVT-15 PIPE-45
#[tokio::test]
async fn hooks_guards_bodies_and_observers_may_register_undo_and_execute() {
    let root = runtime(&["x", "y"]);
    let again = root.clone();
    let depth = Arc::new(AtomicUsize::new(0));
    let touch = move |again: &ToolRuntime| {
        let registration = again.register(plain("z")).unwrap();
        again.scope().restrict(Restriction::deny(["z"])).unwrap();
        registration.dispose();
    };
    let (layer, level) = (again.clone(), depth.clone());
    root.on_pre_execute(move |_, next| {
        touch(&layer);
        let (layer, level) = (layer.clone(), level.clone());
        async move {
            if level.fetch_add(1, Ordering::SeqCst) == 0 {
                assert_eq!(call(&layer, "y").await.text(), "y");
            }
            next.run().await
        }
    });
    let layer = again.clone();
    root.guard(move |_| {
        touch(&layer);
        None
    });
    let layer = again.clone();
    root.observe(move |_, _| touch(&layer));
    assert_eq!(call(&root, "x").await.text(), "x");
}

// SCOPE-7 SCOPE-8 REG-13
#[tokio::test(start_paused = true)]
async fn disposal_undoes_youngest_first_and_waits_for_clean_ups() {
    let root = runtime(&[]);
    let scope = root.scope();
    scope.register(plain("early")).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noted, looking) = (seen.clone(), scope.clone());
    scope.on_dispose(move || async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        noted.lock().unwrap().extend(names(&looking));
    });
    scope.register(plain("late")).unwrap();
    scope.on_dispose(|| async { panic!("the first to go, and it fails") });
    let clock = tokio::time::Instant::now();
    let concurrent = (scope.clone(), scope.clone());
    tokio::join!(concurrent.0.dispose(), concurrent.1.dispose());
    assert_eq!(clock.elapsed().as_secs(), 5);
    // The earlier tool was still there while the later step was torn down.
    assert_eq!(*seen.lock().unwrap(), ["early"]);
    assert_eq!(names(&scope), Vec::<String>::new());
    scope.dispose().await;
}

// SCOPE-7 EVT-18 TEST-1 REG-15
#[tokio::test]
async fn a_disposed_scope_contributes_nothing_takes_nothing_and_denies_every_call() {
    let root = runtime(&["x"]);
    let scope = root.scope();
    let child = scope.scope();
    let notes = Arc::new(Mutex::new(Vec::new()));
    note_everywhere(&scope, "scope", &notes);
    scope.guard(|call| (&**call.name() == "x").then(|| Denial::new("guarded")));
    scope.dispose().await;
    for gone in [&scope, &child] {
        let result = call(gone, "x").await;
        assert_eq!(
            result.text(),
            "Error: the scope of this call was disposed; make the call in a live scope"
        );
        assert_eq!(gone.register(plain("y")).unwrap_err().kind(), ErrorKind::Disposed);
        assert_eq!(gone.present_as(Mode::Code).unwrap_err().kind(), ErrorKind::Disposed);
        gone.guard(|_| None).dispose();
    }
    assert_eq!(*notes.lock().unwrap(), Vec::<String>::new());
    assert_eq!(call(&root, "x").await.text(), "x");
}

/// Counts how many of it are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn removed_tools_hooks_and_scopes_are_really_freed() {
    let count = Arc::new(AtomicUsize::new(0));
    let root = runtime(&["x"]);
    let tool = |alive: Alive| {
        ToolDefinition::new(
            "held",
            "Holds something.",
            ParamSpec::new(),
            Output::new(ValueSpec::string(), render::json),
            move |_, _| {
                let _held = &alive;
                async { Ok(json!("")) }
            },
        )
    };
    let scope = root.scope();
    let registered = scope.register(tool(Alive::new(&count))).unwrap();
    let alive = Alive::new(&count);
    let hook = scope.on_pre_execute(move |_, next| {
        let _held = &alive;
        async move { next.run().await }
    });
    let alive = Alive::new(&count);
    scope.guard(move |_| {
        let _held = &alive;
        None
    });
    // Fill the caches of both scopes.
    call(&scope, "held").await;
    call(&scope.scope(), "held").await;
    assert_eq!(count.load(Ordering::SeqCst), 3);
    registered.dispose();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    hook.dispose();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // A scope that nobody holds any more goes with all it has.
    drop(scope);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

// SCOPE-1 SCOPE-6
#[tokio::test]
async fn a_new_scope_has_an_identity_of_its_own_and_can_be_used_at_once() {
    let root = runtime(&[]);
    let (one, two) = (root.scope(), root.scope());
    assert_ne!(one.id(), two.id());
    assert_eq!(one.id(), one.clone().id());
    one.register(plain("x")).unwrap();
    assert_eq!(call(&one, "x").await.text(), "x");
}

struct Toolbox(&'static str);

impl Plugin for Toolbox {
    fn name(&self) -> &'static str {
        "toolbox"
    }

    fn install(&self, change: &mut Change<'_>) {
        change.register(described("tool", self.0));
        change.guard(|call| (&**call.name() == "forbidden").then(|| Denial::new("toolbox")));
        change.section(Section::text("tool:tool", 100, self.0));
    }
}

// EVT-18 TEST-1 PROMPT-13
#[tokio::test]
async fn a_plugin_comes_is_replaced_and_goes_as_a_unit() {
    let root = runtime(&["forbidden"]);
    let prompt = || {
        let root = root.clone();
        async move { root.assemble(&Signal::new()).await.unwrap() }
    };
    let bare = prompt().await;
    let handle = root.install(&Toolbox("one")).unwrap();
    let with_one = prompt().await;
    assert_eq!(with_one.system(), "one");
    assert!(call(&root, "forbidden").await.is_error());

    handle.replace(&Toolbox("two")).await.unwrap();
    assert_eq!(prompt().await.system(), "two");
    handle.dispose().await;
    handle.dispose().await;
    assert_eq!(prompt().await, bare);
    assert!(!call(&root, "forbidden").await.is_error());
    // Added again, the prompt is byte-identical.
    root.install(&Toolbox("one")).unwrap();
    assert_eq!(prompt().await, with_one);
    // A plugin that cannot be installed whole is not installed at all.
    let scope: Scope = root.scope();
    scope.register(plain("tool")).unwrap();
    assert!(scope.install(&Toolbox("three")).is_err());
    assert!(!call(&scope, "tool").await.is_error());
}

// REG-2
#[tokio::test]
async fn a_missing_approver_or_engine_stops_no_runtime_from_starting() {
    let root = ToolRuntime::builder().mode(Mode::Both).tool(plain("x")).build().unwrap();
    assert_eq!(call(&root, "x").await.text(), "x");
    let arguments = json!({ "code": "return 1", "description": "Returns one" });
    let result = root.execute(CallInput::new("1", RUN_CODE, arguments)).await;
    // CODE-19: no engine is an error result, never a crash.
    assert_eq!(
        result.text(),
        "Error: mode `both` needs a program engine and none is installed; build the runtime with one, or use mode `native`"
    );
}
