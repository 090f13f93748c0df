//! The tools of the sixty programs: a small company whose data never changes between runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::{Output, ToolDefinition, ToolError, render};
use callgate_schema::spec::ScalarSpec;
use callgate_schema::{Json, Object, ParamSpec, ValueSpec, json};

/// What the tools remember during one run.
struct World {
    files: BTreeMap<String, String>,
    issues: Vec<Json>,
    stored: BTreeMap<String, Json>,
    fetched: BTreeMap<String, u32>,
    messages: u32,
}

type Shared = Arc<Mutex<World>>;

/// Fresh tools with fresh data.
pub(super) fn all() -> Vec<ToolDefinition> {
    let world: Shared = Arc::new(Mutex::new(World {
        files: files(),
        issues: issues(),
        stored: BTreeMap::new(),
        fetched: BTreeMap::new(),
        messages: 0,
    }));
    let people = [users_list(), user_get(), oncall(), replies()];
    let shop = [orders_list(), product_get(), products_search()];
    let facts = [metric(), translate(), weather(), now(), account(), account_close(), slow()];
    let files = [file_read(&world), file_list(&world), file_write(&world), fetch_page(&world)];
    let desk = [issues_list(&world), issue_update(&world), send_message(&world)];
    let store = [store_put(&world), store_get(&world)];
    let reading = people.into_iter().chain(shop).chain(facts).map(ToolDefinition::concurrency_safe);
    reading.chain(files).chain(desk).chain(store).collect()
}

fn tool(
    name: &str,
    parameters: ParamSpec,
    body: impl Fn(&Json) -> Result<Json, ToolError> + Send + Sync + 'static,
) -> ToolDefinition {
    let output = Output::new(ValueSpec::json(), render::json);
    ToolDefinition::new(name, "A tool of the tests.", parameters, output, move |arguments, _| {
        let value = body(&arguments);
        async move { value }
    })
}

fn text<'a>(arguments: &'a Json, name: &str) -> &'a str {
    arguments.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn number(arguments: &Json, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Json::as_u64)
}

fn string() -> ScalarSpec {
    ValueSpec::string()
}

// People.

fn users() -> Vec<Json> {
    let rows = [
        (1, "Ada Lovelace", "ada@example.com", "core", true, "2019-03-01"),
        (2, "Bo Diddley", "bo@example.com", "web", true, "2021-07-15"),
        (3, "Cy Twombly", "cy@example.com", "ops", false, "2018-01-20"),
        (4, "Di Prima", "di@example.com", "core", true, "2022-11-30"),
        (5, "Ed Ruscha", "ed@example.com", "web", true, "2020-02-29"),
        (6, "Flo Nightingale", "flo@example.com", "ops", true, "2019-03-01"),
        (7, "Guy Debord", "guy@example.com", "core", false, "2017-05-05"),
        (8, "Hal Abelson", "hal@example.com", "web", true, "2023-09-09"),
        (9, "Ida Rhodes", " ADA@Example.com ", "ops", true, "2020-12-31"),
        (10, "Jo March", "jo@example.com", "core", true, "2024-04-01"),
        (11, "Kay Boyle", "kay@example.com", "web", false, "2016-08-24"),
        (12, "Lu Xun", "bo@example.com", "core", true, "2022-06-18"),
    ];
    let user = |(id, name, email, team, active, joined): (u64, &str, &str, &str, bool, &str)| {
        let user = Object::builder()
            .with("id", id)
            .with("name", name)
            .with("email", email)
            .with("team", team)
            .with("active", active)
            .with("joined", joined);
        // Some have a profile, and some of those a city.
        match id % 4 {
            0 => user.with("profile", json!({ "city": "Berlin", "languages": ["de", "en"] })),
            1 => user.with("profile", json!({ "city": null })),
            _ => user,
        }
        .build()
        .into()
    };
    rows.into_iter().map(user).collect()
}

fn users_list() -> ToolDefinition {
    let parameters =
        ParamSpec::new().optional("cursor", string()).optional("limit", ValueSpec::integer());
    tool("users_list", parameters, |arguments| {
        let limit = usize::try_from(number(arguments, "limit").unwrap_or(5)).unwrap_or(5);
        let from: usize =
            text(arguments, "cursor").trim_start_matches("after=").parse().unwrap_or(0);
        let users: Vec<Json> = users().into_iter().skip(from).take(limit).collect();
        let end = from + users.len();
        let page = Object::builder().with("users", users);
        let next = (end < 12).then(|| format!("after={end}"));
        Ok(page.with_some("nextCursor", next).build().into())
    })
}

fn user_get() -> ToolDefinition {
    tool("user_get", ParamSpec::new().required("id", ValueSpec::integer()), |arguments| {
        let id = number(arguments, "id");
        let found = users().into_iter().find(|user| number(user, "id") == id);
        found.ok_or_else(|| ToolError::failed(format!("no user has the id {}", arguments["id"])))
    })
}

fn oncall() -> ToolDefinition {
    tool("oncall", ParamSpec::new(), |_| {
        Ok(json!([
            { "name": "Ada", "handle": "@ada" },
            { "name": "Bo", "handle": "@bo" },
            { "name": "Di", "handle": "@di" },
        ]))
    })
}

fn replies() -> ToolDefinition {
    tool("replies", ParamSpec::new().required("id", string()), |arguments| {
        let (text, children) = match text(arguments, "id") {
            "r1" => ("Ship it?", json!(["r2", "r3"])),
            "r2" => ("Yes.", json!([])),
            "r3" => ("Wait.", json!(["r4"])),
            "r4" => ("Why?", json!([])),
            id => return Err(ToolError::failed(format!("there is no reply `{id}`"))),
        };
        Ok(json!({ "id": arguments["id"].clone(), "text": text, "children": children }))
    })
}

// The shop.

fn orders() -> Vec<Json> {
    let order = |id: u64, user: u64, status: &str, currency: &str, placed: &str, items: Json| {
        json!({
            "id": id, "userId": user, "status": status, "currency": currency, "placed": placed, "items": items,
        })
    };
    let item = |sku: &str, quantity: u64, price: f64| json!({ "sku": sku, "quantity": quantity, "unit_price": Json::try_from(price).unwrap() });
    vec![
        order(101, 1, "paid", "EUR", "2026-01-05T10:00:00Z", json!([item("K-1", 2, 19.9)])),
        order(
            102,
            2,
            "paid",
            "EUR",
            "2026-01-06T11:30:00Z",
            json!([item("M-7", 1, 349.0), item("K-1", 1, 19.9)]),
        ),
        order(103, 1, "open", "USD", "2026-01-20T23:59:59Z", json!([item("D-3", 3, 4.35)])),
        order(104, 5, "cancelled", "EUR", "2026-02-01T00:00:00Z", json!([item("M-7", 2, 349.0)])),
        order(
            105,
            8,
            "paid",
            "USD",
            "2026-02-14T08:15:00Z",
            json!([item("D-3", 10, 4.35), item("K-1", 5, 19.9)]),
        ),
        order(106, 2, "paid", "GBP", "2026-03-01T12:00:00Z", json!([item("M-7", 2, 349.0)])),
        order(107, 4, "open", "EUR", "2026-03-10T16:45:00Z", json!([])),
        order(
            108,
            1,
            "paid",
            "EUR",
            "2026-03-14T09:30:00Z",
            json!([item("C-9", 1, 0.1), item("C-9", 2, 0.1)]),
        ),
    ]
}

fn orders_list() -> ToolDefinition {
    let status = string().values(["paid", "open", "cancelled"]);
    let parameters = ParamSpec::new()
        .optional("userId", ValueSpec::integer())
        .optional("status", status)
        .optional("page", ValueSpec::integer());
    tool("orders_list", parameters, |arguments| {
        const SIZE: usize = 3;
        let user = number(arguments, "userId");
        let status = arguments.get("status");
        let fits = |order: &Json| {
            user.is_none_or(|user| number(order, "userId") == Some(user))
                && status.is_none_or(|status| order["status"] == *status)
        };
        let orders: Vec<Json> = orders().into_iter().filter(fits).collect();
        let page = number(arguments, "page").unwrap_or(1).max(1);
        let pages = orders.len().div_ceil(SIZE).max(1);
        let from = usize::try_from(page - 1).unwrap_or(0) * SIZE;
        let orders: Vec<Json> = orders.into_iter().skip(from).take(SIZE).collect();
        Ok(json!({ "orders": orders, "page": page, "pages": pages as u64 }))
    })
}

fn products() -> Vec<Json> {
    vec![
        json!({ "sku": "K-1", "name": "Keyboard tray", "price": 19.9, "stock": 12, "tags": ["desk", "input"] }),
        json!({ "sku": "M-7", "name": "Monitor", "price": 349, "stock": 0, "tags": ["desk", "screen"] }),
        json!({ "sku": "D-3", "name": "Dock | mini", "price": 4.35, "stock": 3, "tags": [] }),
        json!({ "sku": "C-9", "name": "", "price": 0.1, "stock": 1000, "tags": ["cable"] }),
    ]
}

fn product_get() -> ToolDefinition {
    tool("product_get", ParamSpec::new().required("sku", string()), |arguments| {
        let found = products().into_iter().find(|product| product["sku"] == arguments["sku"]);
        found.ok_or_else(|| ToolError::failed(format!("no product {}", arguments["sku"])))
    })
}

fn products_search() -> ToolDefinition {
    let parameters = ParamSpec::new().optional("query", string()).optional("tag", string());
    tool("products_search", parameters, |arguments| {
        let query = text(arguments, "query").to_lowercase();
        let tag = arguments.get("tag").cloned();
        let hits = products().into_iter().filter(|product| {
            text(product, "name").to_lowercase().contains(&query)
                && tag.as_ref().is_none_or(|tag| product["tags"].as_array().unwrap().contains(tag))
        });
        let hits: Vec<Json> = hits
            .map(|it| json!({ "sku": it["sku"].clone(), "name": it["name"].clone() }))
            .collect();
        Ok(hits.into())
    })
}

// Facts.

fn metric() -> ToolDefinition {
    tool("metric", ParamSpec::new().required("name", string()), |arguments| {
        match text(arguments, "name") {
            "latency" => Ok(json!([12, 15, 11, 90, 14, 13, 17, 210, 16, 12])),
            "load" => Ok(json!([1, 2, 3, 2, 3, 4, 5, 1])),
            name => Err(ToolError::failed(format!("there is no metric `{name}`"))),
        }
    })
}

fn translate() -> ToolDefinition {
    let to = string().values(["de", "fr", "es"]);
    let parameters = ParamSpec::new().required("text", string()).required("to", to);
    tool("translate", parameters, |arguments| {
        let known = match (text(arguments, "text"), text(arguments, "to")) {
            ("hello", "de") => "hallo",
            ("hello", "fr") => "bonjour",
            ("goodbye", "de") => "auf Wiedersehen",
            ("goodbye", "fr") => "au revoir",
            ("thanks", "de") => "danke",
            ("thanks", "fr") => "merci",
            (text, to) => return Err(ToolError::failed(format!("`{text}` has no word in `{to}`"))),
        };
        Ok(json!(known))
    })
}

fn weather() -> ToolDefinition {
    tool("weather", ParamSpec::new().required("city", string()), |arguments| {
        let fahrenheit = match text(arguments, "city") {
            "Oslo" => 23,
            "Rome" => 68,
            "Cairo" => 95,
            "Lima" => 72,
            "Perth" => 86,
            "Quito" => 59,
            city => return Err(ToolError::failed(format!("there is no weather in {city}"))),
        };
        Ok(json!({ "city": arguments["city"].clone(), "fahrenheit": fahrenheit }))
    })
}

fn now() -> ToolDefinition {
    tool("now", ParamSpec::new(), |_| Ok(json!("2026-03-15T09:30:00Z")))
}

const ACCOUNT: u64 = 9_007_199_254_740_993;

fn account() -> ToolDefinition {
    tool("account", ParamSpec::new(), |_| Ok(json!({ "id": ACCOUNT, "owner": 1 })))
}

fn account_close() -> ToolDefinition {
    tool("account_close", ParamSpec::new().required("id", ValueSpec::integer()), |arguments| {
        match number(arguments, "id") {
            Some(ACCOUNT) => Ok(json!("closed")),
            _ => Err(ToolError::failed(format!("there is no account {}", arguments["id"]))),
        }
    })
}

fn slow() -> ToolDefinition {
    let parameters = ParamSpec::new().required("ms", ValueSpec::integer());
    let output = Output::new(string(), render::json);
    ToolDefinition::new(
        "slow",
        "A slow tool.",
        parameters,
        output,
        |arguments: Json, context| async move {
            let pause = Duration::from_millis(number(&arguments, "ms").unwrap_or(0));
            tokio::select! {
                () = tokio::time::sleep(pause) => Ok(json!("done")),
                () = context.signal().cancelled() => Err(ToolError::failed("stopped")),
            }
        },
    )
}

// Files.

fn files() -> BTreeMap<String, String> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    BTreeMap::from([
        file(
            "logs/access.log",
            "127.0.0.1 - - [15/Mar/2026:09:30:00 +0000] \"GET / HTTP/1.1\" 200 512\n\
             10.0.0.7 - - [15/Mar/2026:09:30:01 +0000] \"GET /missing HTTP/1.1\" 404 0\n\
             10.0.0.7 - - [15/Mar/2026:09:30:02 +0000] \"POST /login HTTP/1.1\" 200 64\n\
             garbage\n\
             10.0.0.9 - - [15/Mar/2026:09:30:03 +0000] \"GET /boom HTTP/1.1\" 500 17\n\
             10.0.0.9 - - [15/Mar/2026:09:30:04 +0000] \"GET / HTTP/1.1\" 200 512\n",
        ),
        file(
            "data/expenses.csv",
            "date,category,amount,note\n\
             2026-01-03,travel,120.50,\"train, first class\"\n\
             2026-01-04,food,18.20,lunch\n\
             2026-01-09,travel,80,\"taxi \"\"late\"\"\"\n\
             2026-02-01,food,7.05,coffee\n",
        ),
        file("src/main.ts", "// TODO: parse flags\nexport const x = 1;\n"),
        file("src/lib/util.ts", "export function f() {\n  // TODO tidy\n  return 2;\n}\n"),
        file("src/lib/done.ts", "export {};\n"),
        file(
            "settings.ini",
            "# defaults\nname = demo\nport=8080\n\nverbose = true\nratio = 0.25\nempty =\n",
        ),
        file("v1.txt", "alpha\nbeta\ngamma\ndelta\n"),
        file("v2.txt", "alpha\nBETA\ngamma\nepsilon\ndelta\n"),
        file(
            "notes/a.md",
            "Ask ada@example.com about the cache. See https://example.com/cache?x=1.\n",
        ),
        file(
            "notes/b.md",
            "The cache is slow; the queue is not.\nMail ops@example.org, see http://example.net/.\n",
        ),
        file("template.txt", "Dear {{name}},\nyou owe {{ amount }} {{currency}}. {{missing}}\n"),
        file(
            "config.json",
            "{\"server\": {\"port\": 80, \"hosts\": [\"a\"]}, \"debug\": false, \"rules\": [{\"kind\": \"allow\", \"path\": \"/\"}, {\"kind\": \"rate\", \"limit\": -1}, {\"kind\": \"mystery\"}]}",
        ),
    ])
}

fn file_read(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let read = tool("file_read", ParamSpec::new().required("path", string()), move |arguments| {
        let path = text(arguments, "path");
        let found = world.lock().unwrap().files.get(path).map(Json::from);
        found.ok_or_else(|| ToolError::failed(format!("there is no file `{path}`")))
    });
    read.concurrency_safe()
}

fn file_list(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let parameters = ParamSpec::new().optional("directory", string());
    let list = tool("file_list", parameters, move |arguments| {
        let directory = text(arguments, "directory").trim_end_matches('/');
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut entries: BTreeMap<String, Json> = BTreeMap::new();
        for (path, content) in &world.lock().unwrap().files {
            let Some(rest) = path.strip_prefix(&prefix) else { continue };
            let entry = if let Some((name, _)) = rest.split_once('/') {
                json!({ "name": name, "kind": "directory" })
            } else {
                json!({ "name": rest, "kind": "file", "size": content.len() as u64 })
            };
            entries.insert(rest.split('/').next().unwrap().to_owned(), entry);
        }
        Ok(entries.into_values().collect::<Vec<_>>().into())
    });
    list.concurrency_safe()
}

fn file_write(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let parameters = ParamSpec::new().required("path", string()).required("content", string());
    tool("file_write", parameters, move |arguments| {
        let (path, content) = (text(arguments, "path"), text(arguments, "content"));
        world.lock().unwrap().files.insert(path.to_owned(), content.to_owned());
        Ok(json!({ "path": path, "bytes": content.len() as u64 }))
    })
}

fn fetch_page(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    tool("fetch_page", ParamSpec::new().required("url", string()), move |arguments| {
        let url = text(arguments, "url");
        let tries = {
            let mut world = world.lock().unwrap();
            let tries = world.fetched.entry(url.to_owned()).or_default();
            *tries += 1;
            *tries
        };
        if url.contains("flaky") && tries < 3 {
            return Err(ToolError::failed("503: try again"));
        }
        if url.contains("missing") {
            return Err(ToolError::failed("404: not found"));
        }
        Ok(json!({ "url": url, "status": 200, "body": format!("<h1>{url}</h1>"), "tries": tries }))
    })
}

// The desk.

fn issues() -> Vec<Json> {
    vec![
        json!({ "number": 1, "title": "Crash on start", "state": "open", "labels": ["bug"], "updated": "2026-03-01" }),
        json!({ "number": 2, "title": "Add dark mode", "state": "open", "labels": [], "updated": "2025-11-02" }),
        json!({ "number": 3, "title": "crash when saving", "state": "closed", "labels": [], "updated": "2026-02-01" }),
        json!({ "number": 4, "title": "It crashes at night", "state": "open", "labels": [], "updated": "2025-12-01" }),
    ]
}

fn issues_list(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let state = string().values(["open", "closed"]);
    tool("issues_list", ParamSpec::new().optional("state", state), move |arguments| {
        let issues = world.lock().unwrap().issues.clone();
        let state = arguments.get("state");
        let fits = |issue: &Json| state.is_none_or(|state| issue["state"] == *state);
        Ok(issues.into_iter().filter(fits).collect::<Vec<_>>().into())
    })
}

fn issue_update(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let parameters = ParamSpec::new()
        .required("number", ValueSpec::integer())
        .optional("addLabels", ValueSpec::array_of(string()))
        .optional("state", string().values(["open", "closed"]));
    tool("issue_update", parameters, move |arguments| {
        let mut world = world.lock().unwrap();
        let wanted = &arguments["number"];
        let Some(issue) = world.issues.iter_mut().find(|issue| issue["number"] == *wanted) else {
            return Err(ToolError::failed(format!("there is no issue {wanted}")));
        };
        let mut changed = issue.as_object().unwrap().clone();
        let mut labels = issue["labels"].as_array().unwrap().to_vec();
        labels.extend(
            arguments
                .get("addLabels")
                .and_then(Json::as_array)
                .into_iter()
                .flat_map(|it| it.to_vec()),
        );
        changed = changed.with("labels", labels);
        if let Some(state) = arguments.get("state") {
            changed = changed.with("state", state.clone());
        }
        *issue = changed.into();
        Ok(issue.clone())
    })
}

fn send_message(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let parameters = ParamSpec::new().required("to", string()).required("text", string());
    tool("send-message", parameters, move |arguments| {
        if text(arguments, "to") == "@bo" {
            return Err(ToolError::failed("the mailbox of @bo is full"));
        }
        let mut world = world.lock().unwrap();
        world.messages += 1;
        Ok(json!({ "id": format!("m{}", world.messages) }))
    })
}

fn store_put(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    let parameters =
        ParamSpec::new().required("key", string()).required("value", ValueSpec::json());
    tool("store_put", parameters, move |arguments| {
        let (key, value) = (text(arguments, "key").to_owned(), arguments["value"].clone());
        world.lock().unwrap().stored.insert(key, value);
        Ok(Json::Null)
    })
}

fn store_get(world: &Shared) -> ToolDefinition {
    let world = world.clone();
    tool("store_get", ParamSpec::new().required("key", string()), move |arguments| {
        Ok(world.lock().unwrap().stored.get(text(arguments, "key")).cloned().unwrap_or_default())
    })
}
