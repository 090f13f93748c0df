//! However a gateway ends, nothing of it goes on: no server, nothing a server started, no worker.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use callgate::{Json, json};

use crate::client::Client;
use crate::sandbox::Sandbox;

/// A server whose `hang` never answers and leaves something to do behind.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"hang","inputSchema":{"type":"object"}},{"name":"quick","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*'"hang"'*) sleep 1000 & echo hang >> called; continue ;;
    *'"tools/call"'*) echo quick >> called; answer='"result":{"content":[]}' ;;
    *) continue ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$answer}"
done
sleep 1001
"#;

/// What is said about processes in `/proc`: parent and start of each.
fn processes() -> BTreeMap<u32, (u32, u64)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let read = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in brackets may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (fields[0] != "Z").then_some((pid, (fields[1].parse().ok()?, fields[19].parse().ok()?)))
    });
    read.collect()
}

/// A process and all that it started, each with its start, since numbers are used again.
fn family(root: u32) -> BTreeSet<(u32, u64)> {
    let all = processes();
    let mut family = BTreeSet::from([root]);
    let mut size = 0;
    while size < family.len() {
        size = family.len();
        let children = all.iter().filter(|(_, (parent, _))| family.contains(parent));
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        family.extend(children);
    }
    family.into_iter().filter_map(|pid| Some((pid, all.get(&pid)?.1))).collect()
}

fn alive(family: &BTreeSet<(u32, u64)>) -> Vec<u32> {
    let all = processes();
    let is_alive = |(pid, start): &&(u32, u64)| all.get(pid).is_some_and(|(_, now)| now == start);
    family.iter().filter(is_alive).map(|(pid, _)| *pid).collect()
}

/// A gateway with a direct call, a program that waits for a call, and one that only computes.
struct Busy {
    client: Client,
    running: [u64; 3],
    family: BTreeSet<(u32, u64)>,
    _sandbox: Sandbox,
}

impl Busy {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("server.sh", SERVER);
        sandbox.write("called", "");
        let server = r#"{ "command": "/bin/sh", "args": ["server.sh"] }"#;
        sandbox.write("c.json", &format!(r#"{{ "mcpServers": {{ "s": {server} }} }}"#));
        let mut client = Client::start(&sandbox, &["--mode", "both"]);
        client.names();
        let mut run = |name: &str, arguments: Json| {
            client.request("tools/call", json!({ "name": name, "arguments": arguments }))
        };
        let program = |code: &str| json!({ "code": code, "description": "Never ends" });
        let running = [
            run("s__hang", json!({})),
            run("run_code", program("await tools.s__hang({})")),
            run("run_code", program("await tools.s__quick({}); for (;;) {}")),
        ];
        let deadline = Instant::now() + Duration::from_secs(30);
        while fs::read_to_string(sandbox.path().join("called")).unwrap().lines().count() < 3 {
            assert!(Instant::now() < deadline, "the calls do not reach the server");
            sleep(Duration::from_millis(10));
        }
        let family = family(client.child.id());
        // The gateway, its watchdog, the server and two that it started, at least.
        assert!(family.len() >= 5, "{family:?}");
        Self { client, running, family, _sandbox: sandbox }
    }

    fn nothing_is_left(&self, within: Duration) {
        let deadline = Instant::now() + within;
        while !alive(&self.family).is_empty() {
            let left = alive(&self.family);
            let lines = left.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")));
            assert!(Instant::now() < deadline, "{:?}", lines.collect::<Vec<_>>());
            sleep(Duration::from_millis(10));
        }
    }

    fn all_are_answered(&mut self) {
        for id in self.running {
            let answer = self.client.answer(id);
            assert_eq!(answer["isError"], json!(true), "{answer}");
        }
    }
}

/// The kernel may need a moment to take a killed process away.
const MOMENT: Duration = Duration::from_secs(2);

#[test]
fn the_end_of_input_leaves_nothing_behind() {
    let mut busy = Busy::start();
    let start = Instant::now();
    busy.client.end_input();
    busy.all_are_answered();
    assert_eq!(busy.client.wait().code(), Some(0));
    // What is running gets four seconds, then it is cancelled; a server has three to end.
    let took = start.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(20)).contains(&took), "{took:?}");
    busy.nothing_is_left(MOMENT);
}

#[test]
fn sigterm_leaves_nothing_behind() {
    let mut busy = Busy::start();
    busy.client.signal("TERM");
    busy.all_are_answered();
    assert_eq!(busy.client.wait().code(), Some(0));
    busy.nothing_is_left(MOMENT);
}

#[test]
fn sigint_leaves_nothing_behind() {
    let mut busy = Busy::start();
    busy.client.signal("INT");
    busy.all_are_answered();
    assert_eq!(busy.client.wait().code(), Some(130));
    busy.nothing_is_left(MOMENT);
}

#[test]
fn sigkill_leaves_nothing_behind() {
    let mut busy = Busy::start();
    busy.client.signal("KILL");
    assert_eq!(busy.client.wait().signal(), Some(9));
    busy.nothing_is_left(Duration::from_secs(10));
}
