//! A real server through the gateway answers what it answers directly.
//!
//! `cargo xtask test` installs it: `CALLGATE_TEST_SERVERS` names the folder of npm's programs, a
//! `node_modules/.bin`. Without it there is nothing to compare with.

use std::path::PathBuf;

use callgate::{Array, Json, Mode, Object, json, schema};
use callgate_mcp::{ServerConfig, Stdio};

use crate::support::{Client, gateway};

/// The program of a server, if servers are installed.
fn program(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("CALLGATE_TEST_SERVERS") else {
        eprintln!("not run: `cargo xtask test` installs what this talks to");
        return None;
    };
    let program = PathBuf::from(folder).join(name);
    assert!(program.exists(), "`{}` is not installed", program.display());
    Some(program)
}

/// Arguments for the tools of the server that need some, and for those that take long or far.
fn arguments(tool: &str) -> Json {
    match tool {
        "echo" => json!({ "message": "ünï\u{1F600}" }),
        "get-annotated-message" => json!({ "messageType": "error", "includeImage": true }),
        "get-sum" => json!({ "a": 1.5, "b": 9_007_199_254_740_991_i64 }),
        "get-structured-content" => json!({ "location": "Chicago" }),
        "get-resource-reference" => json!({ "resourceType": "Blob", "resourceId": 3 }),
        "gzip-file-as-resource" => {
            json!({ "name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource" })
        }
        "trigger-long-running-operation" => json!({ "duration": 0.2, "steps": 2 }),
        "simulate-research-query" => json!({ "topic": "gateways" }),
        _ => json!({}),
    }
}

/// The value with times of day made equal.
fn timeless(value: &Json) -> String {
    let text = value.to_string();
    let is_time = |text: &str| {
        let bytes = text.as_bytes();
        bytes.len() >= 5
            && bytes[0] == b':'
            && bytes[3] == b':'
            && [1, 2, 4].iter().all(|at| bytes[*at].is_ascii_digit())
    };
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(letter) = rest.chars().next() {
        if is_time(rest) {
            while out.ends_with(|letter: char| letter.is_ascii_digit()) {
                out.pop();
            }
            out.push_str("TIME");
            rest = &rest[6..];
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out
}

/// The entry without what the gateway documents to add, under the server's own terms.
fn original(entry: &Json, renamed: &[&str]) -> Json {
    let entry = entry.as_object().unwrap();
    let meta = entry.get("_meta").and_then(Json::as_object).unwrap();
    let origin = meta.get("callgate/origin").unwrap();
    let schema = meta.get("callgate/outputSchema");
    let rest = meta.without("callgate/origin").without("callgate/outputSchema");
    let mut original = entry.without("_meta");
    if !rest.is_empty() {
        original = original.with("_meta", Json::Object(rest));
    }
    for member in renamed {
        let name =
            origin.get(member).or_else(|| origin.get("tool")).or_else(|| origin.get("prompt"));
        original = original.with(*member, name.unwrap().clone());
    }
    if let Some(schema) = schema {
        original = original.with("outputSchema", schema.clone());
    }
    original.into()
}

fn listed(result: &Json, list: &str) -> Array {
    result[list].as_array().unwrap().clone()
}

fn sorted(entries: &[Json]) -> Vec<String> {
    let mut texts: Vec<String> = entries.iter().map(Json::canonical).collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn every_tool_resource_and_prompt_answers_through_the_gateway_as_it_does_directly() {
    let Some(program) = program("mcp-server-everything") else { return };
    let server = ServerConfig::stdio("everything", Stdio::new(&program));
    let gateway = gateway(Mode::Native, vec![server]).await;
    let mut direct = Client::of_process(&program);
    direct.greet("2025-11-25").await;
    let mut through = Client::greeted(&gateway).await;

    let (tools, ours) =
        (listed(&direct.ask("tools/list", json!({})).await, "tools"), through.tools().await);
    assert!(tools.len() > 10);
    let originals: Vec<Json> = ours.iter().map(|entry| original(entry, &["name"])).collect();
    assert_eq!(sorted(&tools), sorted(&originals));
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let public_name = schema::public_name("everything", name);
        let params = |name: &str| json!({ "name": name, "arguments": arguments(&public_name["everything__".len()..]) });
        let answer = through.ask("tools/call", params(&public_name)).await;
        if tool["execution"]["taskSupport"] == json!("required") {
            let text = answer["content"][0]["text"].as_str().unwrap();
            assert!(text.ends_with("runs only as a task, and tasks are not supported"), "{text}");
            continue;
        }
        let expected = direct.ask("tools/call", params(name)).await;
        assert_eq!(timeless(&answer), timeless(&expected), "{name}");
    }

    for (method, list, member) in [
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ("prompts/list", "prompts", "name"),
    ] {
        let expected = listed(&direct.ask(method, json!({})).await, list);
        let ours = listed(&through.ask(method, json!({})).await, list);
        assert!(!expected.is_empty());
        let originals: Vec<Json> = ours.iter().map(|entry| original(entry, &[member])).collect();
        assert_eq!(sorted(&expected), sorted(&originals), "{method}");
        if list == "resources" {
            for (theirs, ours) in expected.iter().zip(&ours) {
                let read = |entry: &Json| json!({ "uri": entry["uri"].clone() });
                let expected = direct.ask("resources/read", read(theirs)).await;
                assert_eq!(through.ask("resources/read", read(ours)).await, expected);
            }
        }
    }
    let dynamic = "demo://resource/dynamic/text/7";
    let expected = direct.ask("resources/read", json!({ "uri": dynamic })).await;
    let prefixed = format!("callgate://server/everything/{dynamic}");
    let answer = through.ask("resources/read", json!({ "uri": prefixed })).await;
    assert_eq!(timeless(&answer), timeless(&expected));

    for (prompt, arguments) in [
        ("simple-prompt", json!({})),
        ("args-prompt", json!({ "city": "Bern", "state": "BE" })),
        ("completable-prompt", json!({ "department": "Sales", "name": "David" })),
        ("resource-prompt", json!({ "resourceType": "Text", "resourceId": "2" })),
    ] {
        let params = |name: &str| json!({ "name": name, "arguments": arguments.clone() });
        let expected = direct.ask("prompts/get", params(prompt)).await;
        let answer =
            through.ask("prompts/get", params(&schema::public_name("everything", prompt))).await;
        assert_eq!(timeless(&answer), timeless(&expected), "{prompt}");
    }
    let argument = json!({ "name": "department", "value": "" });
    let params = |name: &str| {
        let reference = json!({ "type": "ref/prompt", "name": name });
        json!({ "ref": reference, "argument": argument.clone() })
    };
    let expected = direct.ask("completion/complete", params("completable-prompt")).await;
    let ours = schema::public_name("everything", "completable-prompt");
    assert_eq!(through.ask("completion/complete", params(&ours)).await, expected);
}

#[tokio::test]
async fn progress_of_a_real_server_is_the_same_through_the_gateway() {
    let Some(program) = program("mcp-server-everything") else { return };
    let server = ServerConfig::stdio("everything", Stdio::new(&program));
    let gateway = gateway(Mode::Native, vec![server]).await;
    let mut direct = Client::of_process(&program);
    direct.greet("2025-11-25").await;
    let mut through = Client::greeted(&gateway).await;
    let params = |name: &str| {
        let arguments = arguments("trigger-long-running-operation");
        json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": "t" } })
    };
    let name = "trigger-long-running-operation";
    direct.ask("tools/call", params(name)).await;
    through.ask("tools/call", params(&schema::public_name("everything", name))).await;
    let progress = |client: &Client| -> Vec<Object> {
        let told = client
            .told
            .iter()
            .filter(|message| message["method"] == json!("notifications/progress"));
        told.filter_map(|message| message["params"].as_object().cloned()).collect()
    };
    assert!(!progress(&direct).is_empty());
    let bare =
        |progress: Vec<Object>| -> Vec<Json> { progress.into_iter().map(Json::Object).collect() };
    assert_eq!(bare(progress(&through)), bare(progress(&direct)));
}
