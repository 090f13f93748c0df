//! Spill of oversized results.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::hooks::{Spill, SpillDirectory, SpillStore, SpillText, Spilled, path_segment};
use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{
    CallInput, CallResult, Denial, HookError, Output, PostDecision, Recorder, Returned,
    ToolDefinition, ToolError, ToolRuntime,
};
use callgate_schema::{Json, ValueSpec, json};
use callgate_session::{Content, EventBody};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

use super::{contexts, go, ms, note, recorder, runtime, runtime_for, text, tool};
use crate::support::{delegating, plain};

/// A store in memory.
#[derive(Clone, Debug, Default)]
struct Memory {
    saved: Arc<Mutex<Vec<SpillText>>>,
    locator: &'static str,
    behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, Default)]
enum Behaviour {
    #[default]
    Saves,
    Fails,
    Panics,
    Takes(Duration),
}

impl Memory {
    fn new(behaviour: Behaviour) -> Self {
        Self { behaviour, locator: "mem:1", ..Self::default() }
    }

    fn saved(&self) -> Vec<SpillText> {
        self.saved.lock().unwrap().clone()
    }
}

impl SpillStore for Memory {
    fn save(&self, text: SpillText) -> BoxFuture<'_, Result<Spilled, HookError>> {
        Box::pin(async move {
            match self.behaviour {
                Behaviour::Saves => {}
                Behaviour::Fails => return Err(HookError::failed("the disk is full")),
                Behaviour::Panics => panic!("the store is broken"),
                Behaviour::Takes(time) => sleep(time).await,
            }
            let bytes = text.text.len() as u64;
            self.saved.lock().unwrap().push(text);
            Ok(Spilled { locator: self.locator.to_owned(), bytes, hint: "ask for it".to_owned() })
        })
    }
}

/// A tool whose content is its argument `text`, whose value is another and which has meta.
fn says(name: &str) -> ToolDefinition {
    let output = Output::new(ValueSpec::json(), |arguments: &Json, _: &Json| {
        vec![Content::text(arguments["text"].as_str().unwrap_or_default())]
    });
    let output = output.with_meta(|_, _| Ok(json!("meta")));
    let any = json!({ "type": "object" });
    ToolDefinition::new(name, "Says something.", any, output, |arguments: Json, _| async move {
        Ok(arguments["text"].clone())
    })
}

/// A recorded scope of a runtime with a limit and a store.
fn spilling(runtime: &ToolRuntime, store: &Memory, limit: usize) -> Recorder {
    runtime.install(&Spill::new(store.clone()).max_inline_bytes(limit)).unwrap();
    recorder(runtime)
}

async fn say(recorder: &Recorder, name: &str, text: &str) -> CallResult {
    recorder.call(CallInput::new("call-1", name, json!({ "text": text }))).await
}

/// 1,000 bytes that tell where they stand.
fn long() -> String {
    (0..100).fold(String::new(), |text, number| text + &format!("line {number:04}\n"))
}

#[tokio::test]
async fn without_a_limit_nothing_is_spilled() {
    // POLICY-26
    let store = Memory::new(Behaviour::Saves);
    let runtime = runtime([says("say")]);
    runtime.install(&Spill::new(store.clone())).unwrap();
    let recorder = recorder(&runtime);
    let text = "x".repeat(1_000_000);
    assert_eq!(say(&recorder, "say", &text).await.text(), text);
    assert_eq!(store.saved(), []);

    // The least limit is 0, which leaves no room for a notice either.
    let recorder = spilling(&super::runtime([says("say")]), &store, 0);
    assert_eq!(say(&recorder, "say", "").await.text(), "");
    assert_eq!(store.saved(), []);
    assert_eq!(say(&recorder, "say", "x").await.text(), "x");
    assert_eq!(store.saved().len(), 1);
}

#[tokio::test]
async fn the_policy_judges_what_all_other_hooks_accepted() {
    // POLICY-27
    for (content, is_spilled) in [("short".to_owned(), false), (long(), true)] {
        let store = Memory::new(Behaviour::Saves);
        let runtime = runtime([says("say")]);
        let replace = content.clone();
        // Registered first, so that it would be further out than a hook that is not prepended.
        runtime.on_post_execute(move |_, next| {
            let replace = replace.clone();
            async move {
                let _accepted = next.run().await?;
                Ok(PostDecision::replace_content([Content::text(replace)]))
            }
        });
        let recorder = spilling(&runtime, &store, 300);
        let original = if is_spilled { "short".to_owned() } else { long() };
        let shown = say(&recorder, "say", &original).await.text();
        let saved: Vec<String> = store.saved().into_iter().map(|saved| saved.text).collect();
        assert_eq!(saved, if is_spilled { vec![content.clone()] } else { vec![] });
        assert_eq!(shown == content, !is_spilled, "{shown}");
    }
}

type Judge = fn() -> PostDecision;

#[tokio::test]
async fn what_is_no_plain_accepted_text_of_the_model_is_left_alone() {
    // POLICY-28
    // BRIDGE-40
    let rows: [(&str, &str, Judge, bool); 9] = [
        ("accepted", "say", PostDecision::accept, true),
        ("the tool read", "read", PostDecision::accept, false),
        ("blocked", "say", || PostDecision::block([Content::text(long())]), false),
        ("a replaced value", "say", || PostDecision::replace_value(long()), false),
        (
            "replaced content",
            "say",
            || PostDecision::replace_content([Content::text(long())]),
            true,
        ),
        (
            "mixed content",
            "say",
            || {
                PostDecision::replace_content([
                    Content::text(long()),
                    Content::image("aGk=", "image/png"),
                ])
            },
            false,
        ),
        (
            "reasoning",
            "say",
            || PostDecision::replace_content([Content::text(long()), Content::reasoning("why")]),
            false,
        ),
        ("a failure", "fail", PostDecision::accept, true),
        ("a denial", "secret", PostDecision::accept, true),
    ];
    for (what, name, judge, is_spilled) in rows {
        let store = Memory::new(Behaviour::Saves);
        let fail = tool("fail", |_, _| async { Err(ToolError::failed(long())) });
        let runtime = runtime([says("say"), says("read"), fail, plain("secret")]);
        runtime.guard(|call| (&**call.name() == "secret").then(|| Denial::new(long())));
        runtime.on_post_execute(move |_, _| async move { Ok(judge()) });
        let recorder = spilling(&runtime, &store, 300);
        let result = say(&recorder, name, &long()).await;
        assert_eq!(store.saved().len(), usize::from(is_spilled), "{what}");
        assert_eq!(result.text().len() <= 300, is_spilled, "{what}");
    }

    let store = Memory::new(Behaviour::Saves);
    let runtime = runtime([says("say"), delegating("outer", "say")]);
    let inner = Arc::new(Mutex::new(None));
    let keep = inner.clone();
    runtime.observe(move |call, result| {
        if !call.is_model_direct() {
            *keep.lock().unwrap() = Some(result.clone());
        }
    });
    let recorder = spilling(&runtime, &store, 300);
    say(&recorder, "outer", &long()).await;
    let inner: CallResult = inner.lock().unwrap().take().unwrap();
    assert_eq!(inner.text(), long());
    // Only the outer call was spilled.
    assert_eq!(store.saved().iter().map(|saved| &*saved.tool).collect::<Vec<_>>(), ["outer"]);
}

#[tokio::test]
async fn text_of_exactly_the_limit_stays() {
    // POLICY-28
    let store = Memory::new(Behaviour::Saves);
    let recorder = spilling(&runtime([says("say")]), &store, 300);
    for (text, is_spilled) in [("ä".repeat(150), false), ("ä".repeat(150) + "x", true)] {
        assert_eq!(say(&recorder, "say", &text).await.text() != text, is_spilled);
    }
}

#[tokio::test]
async fn both_ends_stay_and_a_notice_tells_where_the_rest_is() {
    // POLICY-29
    let store = Memory::new(Behaviour::Saves);
    let runtime = runtime([says("say")]);
    runtime.on_post_execute(|_, next| async move {
        Ok(next.run().await?.with_context(note("of another hook")))
    });
    let recorder = spilling(&runtime, &store, 200);
    let result = say(&recorder, "say", &long()).await;
    insta::assert_snapshot!(result.text(), @"
    line 0000
    line 0001
    line 0002
    line 0003
    line 0004
    line 0005
    li
    …
    3
    line 0094
    line 0095
    line 0096
    line 0097
    line 0098
    line 0099


    [876 of 1000 bytes left out. The whole text is in mem:1; ask for it]
    ");
    assert_eq!(result.content().len(), 1);
    assert_eq!(result.value(), Some(&json!(long())));
    assert_eq!(result.meta(), Some(&json!("meta")));
    assert_eq!(contexts(&result), ["of another hook"]);
    let saved = &store.saved()[0];
    assert_eq!(saved, &SpillText::new("session-1", "say", "call-1", long()));
    assert_eq!((saved.label, &*saved.suggested_name), ("result", "say.txt"));
}

#[tokio::test]
async fn several_blocks_are_one_text() {
    // POLICY-29
    let store = Memory::new(Behaviour::Saves);
    let runtime = runtime([says("say")]);
    runtime.on_post_execute(|_, _| async {
        Ok(PostDecision::replace_content(
            ["a", "b", "c"].map(|text| Content::text(text.repeat(100))),
        ))
    });
    let recorder = spilling(&runtime, &store, 200);
    assert_eq!(say(&recorder, "say", "").await.content().len(), 1);
    assert_eq!(store.saved()[0].text, ["a", "b", "c"].map(|text| text.repeat(100)).concat());
}

/// What is shown of 1,000 bytes under a limit.
async fn shown(limit: usize) -> String {
    let store = Memory::new(Behaviour::Saves);
    let recorder = spilling(&runtime([says("say")]), &store, limit);
    let shown = say(&recorder, "say", &"x".repeat(1_000)).await.text();
    assert_eq!(store.saved().len(), 1);
    shown
}

#[tokio::test]
async fn the_notice_comes_first_and_the_ends_share_what_is_left() {
    // POLICY-30
    let notice = |omitted: usize| {
        format!("[{omitted} of 1000 bytes left out. The whole text is in mem:1; ask for it]")
    };
    let whole = notice(1_000);
    let least = whole.len();
    assert_eq!(shown(least - 1).await, "x".repeat(1_000), "the notice has no room");
    for room in 0..=7 {
        assert_eq!(shown(least + room).await, whole, "only the notice has room");
    }
    assert_eq!(shown(least + 8).await, format!("x\n…\n\n\n{}", notice(999)));
    assert_eq!(shown(least + 9).await, format!("x\n…\nx\n\n{}", notice(998)));
    assert_eq!(shown(least + 10).await, format!("xx\n…\nx\n\n{}", notice(997)));
}

#[tokio::test]
async fn what_cannot_be_saved_stays_as_it_is() {
    // POLICY-31
    for behaviour in [Behaviour::Fails, Behaviour::Panics] {
        let store = Memory::new(behaviour);
        let recorder = spilling(&runtime([says("say")]), &store, 300);
        let result = say(&recorder, "say", &long()).await;
        assert_eq!((result.is_error(), result.text()), (false, long()), "{behaviour:?}");
    }
    // Nobody would own it.
    let store = Memory::new(Behaviour::Saves);
    let runtime = runtime([says("say")]);
    runtime.install(&Spill::new(store.clone()).max_inline_bytes(300)).unwrap();
    let input = CallInput::new("call-1", "say", json!({ "text": long() }));
    assert_eq!(runtime.scope().execute(input).await.text(), long());
    assert_eq!(store.saved(), []);
}

/// The log's copies of the sub-calls of a run.
fn copies(recorder: &Recorder) -> Vec<String> {
    let copy = |body| match body {
        EventBody::CodeDispatch(settled) => Some(text(&settled.content)),
        _ => None,
    };
    recorder.session().events().into_iter().filter_map(|event| copy(event.body)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_log_copies_of_a_programs_calls_are_bounded_and_the_program_is_not_delayed() {
    // POLICY-32
    // BRIDGE-40
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        let start = Instant::now();
        for name in ["say", "read"] {
            let value = tools.call(name, json!({ "text": long() })).await?;
            assert_eq!(value.as_str(), Some(&*long()));
        }
        tools.call("fail", json!({})).await.unwrap_err();
        tools.call("say", json!({ "text": "short" })).await?;
        Ok(Some(json!(u64::try_from(start.elapsed().as_millis()).unwrap())))
    });
    let runtime = runtime_for(engine);
    let fail = tool("fail", |_, _| async { Err(ToolError::failed(long())) });
    for tool in [says("say"), says("read"), fail] {
        runtime.register(tool).unwrap();
    }
    let store = Memory::new(Behaviour::Takes(ms(60_000)));
    let recorder = spilling(&runtime, &store, 200);
    let result = recorder.call(go()).await;
    assert_eq!(result.value().unwrap()["result"], json!(0), "the program waited for the store");

    let mut copies = copies(&recorder);
    copies.sort();
    let lengths: Vec<usize> = copies.iter().map(String::len).collect();
    assert_eq!(copies.last().unwrap(), "short");
    assert!(lengths.iter().all(|length| *length <= 200), "{lengths:?}");
    let mut saved = store.saved();
    saved.sort_by(|one, other| one.call_id.cmp(&other.call_id));
    let mut expected = [("say", 1), ("read", 2), ("fail", 3)].map(|(name, number)| {
        let text = if name == "fail" { format!("Error: {}", long()) } else { long() };
        let mut spilled = SpillText::new("session-1", name, format!("run:code:{number}"), text);
        spilled.label = "dispatch";
        spilled
    });
    expected.sort_by(|one, other| one.call_id.cmp(&other.call_id));
    assert_eq!(saved, expected);
}

#[tokio::test]
async fn the_log_copy_is_what_the_model_would_be_shown() {
    // POLICY-32
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        tools.call("say", json!({ "text": long() })).await?;
        Ok(None)
    });
    let runtime = runtime_for(engine);
    runtime.register(says("say")).unwrap();
    let recorder = spilling(&runtime, &Memory::new(Behaviour::Saves), 200);
    recorder.call(go()).await;
    let direct = say(&recorder, "say", &long()).await;
    assert_eq!(copies(&recorder), [direct.text()]);
}

#[tokio::test]
async fn a_log_copy_that_cannot_be_saved_stays_whole() {
    // POLICY-31
    for behaviour in [Behaviour::Fails, Behaviour::Panics] {
        let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
            tools.call("say", json!({ "text": long() })).await?;
            Ok(None)
        });
        let runtime = runtime_for(engine);
        runtime.register(says("say")).unwrap();
        let recorder = spilling(&runtime, &Memory::new(behaviour), 200);
        assert!(!recorder.call(go()).await.is_error());
        assert_eq!(copies(&recorder), [long()]);
    }
}

/// Text of characters of one to four bytes.
fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!['a', '\n', 'é', '€', '𝄞', '\u{301}']), 0..400)
        .prop_map(|characters| characters.into_iter().collect())
}

/// What a model is shown of a text, and whether it was saved.
fn judged(text: &str, limit: usize, locator: &'static str) -> (String, bool) {
    let store = Memory { locator, ..Memory::new(Behaviour::Saves) };
    let recorder = spilling(&runtime([says("say")]), &store, limit);
    let result = futures_util::FutureExt::now_or_never(say(&recorder, "say", text)).unwrap();
    (result.text(), !store.saved().is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::cases(256)))]

    #[test]
    fn a_shortened_text_never_exceeds_the_limit_and_is_cut_between_characters(
        text in any_text(),
        limit in 0_usize..500,
        locator in prop::sample::select(vec!["m", "/a/longer/place/with/ümlauts/on/the/way.txt"]),
    ) {
        // POLICY-33
        // POLICY-30
        let (shown, is_saved) = judged(&text, limit, locator);
        prop_assert_eq!(is_saved, text.len() > limit);
        if !is_saved || shown == text {
            return Ok(());
        }
        prop_assert!(shown.len() <= limit, "{} bytes", shown.len());
        let (head, tail, notice) = match shown.split_once("\n…\n") {
            Some((head, rest)) => {
                let (tail, notice) = rest.rsplit_once("\n\n").unwrap();
                (head, tail, notice)
            }
            None => ("", "", &*shown),
        };
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        let omitted = text.len() - head.len() - tail.len();
        let total = text.len();
        let expected = format!("[{omitted} of {total} bytes left out. The whole text is in {locator}; ask for it]");
        prop_assert_eq!(notice, expected);
        // No character more would have had room.
        let spare = limit - shown.len();
        prop_assert!(shown.len() == notice.len() || spare < 2 * 4 + 3, "{spare} bytes are unused");
    }

    #[test]
    fn different_names_give_different_segments_and_each_is_one_segment(name in ".{0,12}|[.~a-f0-9]{0,9}|\\.{0,3}") {
        // POLICY-35
        let segment = path_segment(&name);
        prop_assert!(segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte)));
        prop_assert!(!["", ".", ".."].contains(&&*segment));
        // Who can read the name back from its segment never mixes up two names.
        prop_assert_eq!(decoded(&segment), name);
    }
}

/// The name that has this segment.
fn decoded(segment: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut rest = segment;
    while let Some(first) = rest.chars().next() {
        let length = if first == '~' && rest.len() > 1 { 5 } else { 1 };
        let (part, after) = rest.split_at(length);
        match (first, length) {
            ('~', 1) => {}
            ('~', _) => units.push(u16::from_str_radix(&part[1..], 16).unwrap()),
            _ => units.push(u16::try_from(u32::from(first)).unwrap()),
        }
        rest = after;
    }
    String::from_utf16(&units).unwrap()
}

#[test]
fn names_that_would_lead_elsewhere_become_harmless() {
    // POLICY-35
    let rows = [
        ("read.txt", "read.txt"),
        ("a-b_C.9", "a-b_C.9"),
        ("", "~"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        ("../x", "..~002Fx"),
        ("~", "~007E"),
        ("a\0b\\c", "a~0000b~005Cc"),
        ("é", "~00E9"),
        ("𝄞", "~D834~DD1E"),
    ];
    for (name, segment) in rows {
        assert_eq!(path_segment(name), segment);
    }
}

/// A directory for one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spill-{name}"));
        // It may be left over from a run that was stopped.
        let _removed = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.0);
    }
}

async fn save(
    store: &SpillDirectory,
    owner: &str,
    name: &str,
    text: &str,
) -> Result<Spilled, HookError> {
    let mut spilled = SpillText::new(owner, "say", "call-1", text);
    spilled.suggested_name = name.to_owned();
    store.save(spilled).await
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[tokio::test]
async fn a_spilled_file_is_private_verbatim_and_has_a_name_nobody_knows_before() {
    // POLICY-34
    let scratch = Scratch::new("private");
    let root = scratch.0.join("made/when/needed");
    let store = SpillDirectory::new(&root).unwrap();
    let text = "one\r\ntwo\0ä€𝄞";
    let mut places = BTreeSet::new();
    for (owner, name) in
        [("session-1", "say.txt"), ("session-1", "say.txt"), ("../session-2", "../say.txt")]
    {
        let saved = save(&store, owner, name, text).await.unwrap();
        let path = PathBuf::from(&saved.locator);
        assert!(path.is_absolute());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(
            (saved.bytes, saved.hint),
            (text.len() as u64, "read the part you need".to_owned())
        );
        let directory = path.parent().unwrap();
        assert_eq!(directory.parent().unwrap(), root);
        let file = path.file_name().unwrap().to_str().unwrap();
        let (random, suggested) = file.split_once('-').unwrap();
        assert_eq!((random.len(), suggested), (32, &*path_segment(name)));
        assert!(!directory.to_str().unwrap().contains("session-"), "{directory:?}");
        assert_eq!([&*root, directory].map(mode), [0o700, 0o700]);
        assert_eq!(mode(&path), 0o600);
        places.insert((directory.to_owned(), random.to_owned()));
    }
    let directories: BTreeSet<&PathBuf> = places.iter().map(|(directory, _)| directory).collect();
    assert_eq!((places.len(), directories.len()), (3, 2));
}

#[cfg(unix)]
#[tokio::test]
async fn a_session_directory_that_is_a_link_or_open_to_others_is_not_trusted() {
    // POLICY-34
    let scratch = Scratch::new("links");
    let (root, elsewhere) = (scratch.0.join("root"), scratch.0.join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    let store = SpillDirectory::new(&root).unwrap();
    let saved = save(&store, "session-1", "say.txt", "text").await.unwrap();
    let directory = Path::new(&saved.locator).parent().unwrap();

    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    save(&store, "session-1", "say.txt", "text").await.unwrap();
    assert_eq!(mode(directory), 0o700);

    fs::remove_dir_all(directory).unwrap();
    std::os::unix::fs::symlink(&elsewhere, directory).unwrap();
    let error = save(&store, "session-1", "say.txt", "text").await.unwrap_err();
    let expected = format!("{} is in the way: it is no directory", directory.display());
    assert_eq!(error.message(), expected);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_private_store_has_a_directory_of_its_own() {
    // POLICY-34
    let (one, other) = (SpillDirectory::private().unwrap(), SpillDirectory::private().unwrap());
    assert_ne!(one.root(), other.root());
    assert_eq!(mode(one.root()), 0o700);
    for store in [one, other] {
        fs::remove_dir_all(store.root()).unwrap();
    }
}

#[tokio::test]
async fn very_long_names_are_shortened_and_stay_different() {
    // POLICY-35
    let scratch = Scratch::new("long");
    let store = SpillDirectory::new(&scratch.0).unwrap();
    let mut segments = BTreeSet::new();
    for name in ["ä".repeat(64), "ä".repeat(65), "x".repeat(1_000), "x".repeat(1_001)] {
        let saved = save(&store, "session-1", &name, "text").await.unwrap();
        let file = Path::new(&saved.locator).file_name().unwrap().to_str().unwrap().to_owned();
        let segment = file.split_once('-').unwrap().1.to_owned();
        assert_eq!(segment.len(), 200);
        segments.insert(segment);
    }
    assert_eq!(segments.len(), 4);
}

#[test]
fn a_store_works_outside_a_runtime_too() {
    let scratch = Scratch::new("blocking");
    let store = SpillDirectory::new(&scratch.0).unwrap();
    let saving = save(&store, "session-1", "say.txt", "text");
    let saved = futures_util::FutureExt::now_or_never(saving).unwrap().unwrap();
    assert_eq!(fs::read_to_string(saved.locator).unwrap(), "text");
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_a_failure_and_the_result_stays() {
    // POLICY-31
    let scratch = Scratch::new("failing");
    let blocked = scratch.0.join("file");
    fs::write(&blocked, "in the way").unwrap();
    let runtime = runtime([says("say")]);
    let store = SpillDirectory::new(&blocked).unwrap();
    runtime.install(&Spill::new(store).max_inline_bytes(300)).unwrap();
    let recorder = recorder(&runtime);
    assert_eq!(say(&recorder, "say", &long()).await.text(), long());
}

#[tokio::test]
async fn content_that_a_body_made_itself_is_judged_like_any_other() {
    // POLICY-28
    let returns = |content: Vec<Content>| {
        ToolDefinition::new(
            "say",
            "Says something.",
            json!({ "type": "object" }),
            Output::new(ValueSpec::json(), callgate_core::render::json),
            move |_, _| {
                let content = content.clone();
                async move { Ok(Returned::with_content(json!(1), content)) }
            },
        )
    };
    let store = Memory::new(Behaviour::Saves);
    for (content, saves) in [
        (vec![Content::text(long())], 1),
        (vec![Content::text(long()), Content::image("aGk=", "image/png")], 1),
    ] {
        let recorder = spilling(&runtime([returns(content)]), &store, 300);
        say(&recorder, "say", "").await;
        assert_eq!(store.saved().len(), saves);
    }
}
