//! What passes through: resources, prompts, completions and log messages of the servers, under
//! names and addresses that tell whose they are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate::{Array, Json, Mode, Object, Signal, Str, json, schema};

use super::{Session, refuse_cursor};
use crate::json_rpc::RpcError;
use crate::meta;
use crate::upstream::{Server, ServerEvent};

/// What a session knows about what passes through it.
#[derive(Default)]
pub(super) struct Passage(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Prompts by their public names, as they were last listed.
    prompts: BTreeMap<Str, (Arc<Server>, Str)>,
    has_listed_prompts: bool,
    has_listed_resources: bool,
    /// Server and address there, of the resources the client wants to hear of, and what the client
    /// calls each.
    subscriptions: BTreeMap<(Str, Str), Str>,
    /// The least severe log messages that the client wants.
    level: Option<usize>,
}

/// Severities of log messages, least severe first.
const LEVELS: &[&str] =
    &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What the addresses of servers' resources begin with.
const PREFIX: &str = "callgate://server/";

/// The code of a resource that does not exist.
const RESOURCE_NOT_FOUND: i64 = -32_002;

/// Prompts.
impl Session {
    pub(super) async fn list_prompts(&self, params: &Json) -> Result<Json, RpcError> {
        refuse_cursor(params)?;
        self.gateway.settled().await;
        self.known().has_listed_prompts = true;
        let listed = self.read_prompts().await;
        Ok(json!({ "prompts": listed }))
    }

    async fn read_prompts(&self) -> Array {
        let lists = self.gateway.servers.list("prompts", "prompts/list", "prompts").await;
        let mut prompts = BTreeMap::new();
        let mut listed = Vec::new();
        for (server, entries) in lists {
            for entry in entries.iter().filter_map(Json::as_object) {
                let Some(Json::String(raw_name)) = entry.get("name") else { continue };
                let name: Str = schema::public_name(server.name(), raw_name).into();
                let origin = json!({ "server": server.name().clone(), "prompt": raw_name.clone() });
                let entry = meta::with(entry, meta::ORIGIN, origin).with("name", name.clone());
                listed.push((name.clone(), Json::Object(entry)));
                prompts.insert(name, (server.clone(), raw_name.clone()));
            }
        }
        self.known().prompts = prompts;
        listed.sort_by(|(one, _), (other, _)| one.cmp(other));
        listed.into_iter().map(|(_, entry)| entry).collect()
    }

    pub(super) async fn get_prompt(
        &self,
        params: &Json,
        signal: &Signal,
    ) -> Result<Json, RpcError> {
        let (server, raw_name) = self.find_prompt(params.get("name")).await?;
        let asked = object(params).with("name", raw_name);
        server.ask("prompts/get", asked, Some(signal), self.progress_of(params)).await
    }

    async fn find_prompt(&self, name: Option<&Json>) -> Result<(Arc<Server>, Str), RpcError> {
        let Some(Json::String(name)) = name else {
            return Err(RpcError::invalid_params("`name` must be the name of a prompt"));
        };
        self.gateway.settled().await;
        let known = self.known().prompts.get(name).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        self.read_prompts().await;
        let found = self.known().prompts.get(name).cloned();
        found.ok_or_else(|| RpcError::invalid_params(format!("there is no prompt `{name}`")))
    }
}

/// Resources.
impl Session {
    pub(super) async fn list_resources(&self, params: &Json) -> Result<Json, RpcError> {
        refuse_cursor(params)?;
        self.known().has_listed_resources = true;
        let mut listed = self.own_resources();
        listed.extend(self.read_resources("resources/list", "resources", "uri").await);
        Ok(json!({ "resources": Json::from(listed) }))
    }

    pub(super) async fn list_templates(&self, params: &Json) -> Result<Json, RpcError> {
        refuse_cursor(params)?;
        let method = "resources/templates/list";
        let listed = self.read_resources(method, "resourceTemplates", "uriTemplate").await;
        Ok(json!({ "resourceTemplates": Json::from(listed) }))
    }

    async fn read_resources(&self, method: &str, list: &str, address: &str) -> Vec<Json> {
        self.gateway.settled().await;
        let lists = self.gateway.servers.list("resources", method, list).await;
        let mut listed = Vec::new();
        for (server, entries) in lists {
            for entry in entries.iter().filter_map(Json::as_object) {
                let Some(uri) = entry.get(address).and_then(Json::as_str) else { continue };
                let origin = json!({ "server": server.name().clone(), (address): uri });
                let entry = meta::with(entry, meta::ORIGIN, origin);
                listed.push(entry.with(address, public_uri(server.name(), uri)).into());
            }
        }
        listed
    }

    /// The SDK, for whoever writes programs.
    fn own_resources(&self) -> Vec<Json> {
        if self.scope.mode() == Mode::Native {
            return Vec::new();
        }
        vec![json!({
            "uri": self.sdk_uri(),
            "name": "sdk",
            "title": "Declarations of all tools for programs",
            "mimeType": "text/markdown",
        })]
    }

    fn sdk_uri(&self) -> String {
        format!("callgate://sdk/{}", self.language())
    }

    pub(super) async fn read_resource(
        &self,
        params: &Json,
        signal: &Signal,
    ) -> Result<Json, RpcError> {
        let Some(uri) = params.get("uri").and_then(Json::as_str) else {
            return Err(RpcError::invalid_params("`uri` must be the address of a resource"));
        };
        self.gateway.settled().await;
        if self.scope.mode() != Mode::Native && uri == self.sdk_uri() {
            let text = self.sdk_text().whole.clone();
            let contents = json!({ "uri": uri, "mimeType": "text/markdown", "text": text });
            return Ok(json!({ "contents": [contents] }));
        }
        if let Some((server, raw_uri)) = self.server_of(uri) {
            let asked = object(params).with("uri", raw_uri);
            return server
                .ask("resources/read", asked, Some(signal), self.progress_of(params))
                .await;
        }
        // An address that a tool gave away: whoever knows it answers.
        let mut refusal = None;
        for server in self.gateway.servers.offering("resources") {
            let asked = object(params);
            match server.ask("resources/read", asked, Some(signal), self.progress_of(params)).await
            {
                Ok(read) => return Ok(read),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.unwrap_or_else(|| RpcError {
            data: Some(json!({ "uri": uri })),
            ..RpcError::new(RESOURCE_NOT_FOUND, format!("there is no resource `{uri}`"))
        }))
    }

    pub(super) async fn subscribe(&self, method: &str, params: &Json) -> Result<Json, RpcError> {
        let uri = params.get("uri").and_then(Json::as_str).unwrap_or_default();
        let Some((server, raw_uri)) = self.server_of(uri) else {
            let message = format!("`{uri}` is not the listed address of a resource");
            return Err(RpcError::invalid_params(message));
        };
        let key = (server.name().clone(), Str::from(raw_uri));
        if method == "resources/subscribe" {
            self.known().subscriptions.insert(key, uri.into());
        } else {
            self.known().subscriptions.remove(&key);
        }
        server.ask(method, object(params).with("uri", raw_uri), None, None).await
    }

    fn server_of<'u>(&self, uri: &'u str) -> Option<(Arc<Server>, &'u str)> {
        let (name, raw_uri) = uri.strip_prefix(PREFIX)?.split_once('/')?;
        let servers = self.gateway.servers.offering("resources");
        let server = servers.into_iter().find(|server| escape(server.name()) == name)?;
        Some((server, raw_uri))
    }
}

/// Completions and log messages.
impl Session {
    pub(super) async fn complete(&self, params: &Json, signal: &Signal) -> Result<Json, RpcError> {
        let reference = params.get("ref").cloned().unwrap_or_default();
        let (server, reference) = if let Some(uri) = reference.get("uri").and_then(Json::as_str) {
            let Some((server, raw_uri)) = self.server_of(uri) else {
                let message = format!("`{uri}` is not the listed address of a resource");
                return Err(RpcError::invalid_params(message));
            };
            (server, object(&reference).with("uri", raw_uri))
        } else {
            let (server, raw_name) = self.find_prompt(reference.get("name")).await?;
            (server, object(&reference).with("name", raw_name))
        };
        let asked = object(params).with("ref", Json::Object(reference));
        server.ask("completion/complete", asked, Some(signal), None).await
    }

    pub(super) fn set_level(&self, params: &Json) -> Result<Json, RpcError> {
        let name = params.get("level").and_then(Json::as_str).unwrap_or_default();
        let Some(level) = level_of(name) else {
            let message = format!("`level` must be one of {}", LEVELS.join(", "));
            return Err(RpcError::invalid_params(message));
        };
        self.known().level = Some(level);
        self.gateway.servers.set_log_level(name);
        Ok(json!({}))
    }

    /// Tells the client what a server said, if it wants to know.
    pub(super) fn pass_on(&self, event: ServerEvent) {
        match event {
            ServerEvent::PromptsChanged => self.prompts_changed.notify_one(),
            ServerEvent::ResourcesChanged => self.resources_changed.notify_one(),
            ServerEvent::ResourceUpdated { server, params } => {
                let uri = params.get("uri").and_then(Json::to_str).unwrap_or_default();
                let known_as = self.known().subscriptions.get(&(server, uri)).cloned();
                if let Some(uri) = known_as {
                    self.notify("notifications/resources/updated", params.with("uri", uri).into());
                }
            }
            ServerEvent::Log { server, params } => self.pass_log_on(&server, &params),
        }
    }

    fn pass_log_on(&self, server: &Str, params: &Object) {
        let severity = params.get("level").and_then(Json::as_str).and_then(level_of);
        if !self.is_greeted() || severity < self.known().level {
            return;
        }
        let logger = match params.get("logger").and_then(Json::as_str) {
            Some(logger) => format!("{server}/{logger}"),
            None => server.to_string(),
        };
        self.notify("notifications/message", params.with("logger", logger).into());
    }

    pub(super) fn announce_prompts(&self) {
        if self.known().has_listed_prompts {
            self.notify("notifications/prompts/list_changed", Json::Null);
        }
    }

    pub(super) fn announce_resources(&self) {
        if self.known().has_listed_resources {
            self.notify("notifications/resources/list_changed", Json::Null);
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.passage.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn level_of(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}

fn object(params: &Json) -> Object {
    params.as_object().cloned().unwrap_or_default()
}

/// The address of a server's resource, or of a template for such, as clients see it.
fn public_uri(server: &str, uri: &str) -> String {
    format!("{PREFIX}{}/{uri}", escape(server))
}

/// A name as one segment of an address.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
