//! JSON-RPC 2.0 messages, read from and written as [`Json`]: no member of a result or of
//! parameters is lost or changed on the way.

use std::fmt;

use callgate::{Json, Object, Str};

/// The id of a request: a string or a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(Json);

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// Something the other side wants an answer to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: Str,
    /// Null where there are none.
    pub(crate) params: Json,
}

/// Something the other side wants to have said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notification {
    pub(crate) method: Str,
    /// Null where there are none.
    pub(crate) params: Json,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    /// None if the other side could not tell which request it answers.
    pub(crate) id: Option<Id>,
    pub(crate) outcome: Result<Json, RpcError>,
}

/// The error of a response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: Str,
    pub(crate) data: Option<Json>,
}

/// Why a JSON value is no message that could be acted on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unfit {
    /// It is no JSON-RPC at all.
    Foreign,
    /// A request that must be refused.
    Request { id: Option<Id>, reason: String },
    /// A response that cannot be used, for this request.
    Response { id: Id, reason: String },
}

impl Id {
    pub(crate) fn number(number: u64) -> Self {
        Self(Json::from(number))
    }

    /// The id that a value is, if it is a string or a number.
    pub(crate) fn of(value: &Json) -> Option<Self> {
        matches!(value, Json::String(_) | Json::Number(_)).then(|| Self(value.clone()))
    }

    pub(crate) fn as_json(&self) -> &Json {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Message {
    pub(crate) fn request(id: &Id, method: &str, params: Json) -> Json {
        let message = Object::builder().with("jsonrpc", "2.0").with("id", id.0.clone());
        message.with("method", method).with_some("params", present(params)).build().into()
    }

    pub(crate) fn notification(method: &str, params: Json) -> Json {
        let message = Object::builder().with("jsonrpc", "2.0").with("method", method);
        message.with_some("params", present(params)).build().into()
    }

    pub(crate) fn response(id: Option<&Id>, outcome: Result<Json, RpcError>) -> Json {
        let id = id.map_or(Json::Null, |id| id.0.clone());
        let message = Object::builder().with("jsonrpc", "2.0").with("id", id);
        match outcome {
            Ok(result) => message.with("result", result),
            Err(error) => message.with("error", error.to_json()),
        }
        .build()
        .into()
    }

    /// Reads a message.
    pub(crate) fn read(json: &Json) -> Result<Self, Unfit> {
        let Some(object) = json.as_object() else { return Err(Unfit::Foreign) };
        let id = object.get("id").and_then(Id::of);
        let says_rpc = object.get("jsonrpc").and_then(Json::as_str) == Some("2.0");
        if object.contains_key("method") {
            return Self::read_call(object, id, says_rpc);
        }
        if !says_rpc {
            return Err(Unfit::Foreign);
        }
        Self::read_response(object, id)
    }

    fn read_call(object: &Object, id: Option<Id>, says_rpc: bool) -> Result<Self, Unfit> {
        let refuse = |reason: &str| {
            if says_rpc || id.is_some() {
                Err(Unfit::Request { id: id.clone(), reason: reason.to_owned() })
            } else {
                Err(Unfit::Foreign)
            }
        };
        if !says_rpc {
            return refuse("`jsonrpc` must be \"2.0\"");
        }
        let Some(Json::String(method)) = object.get("method") else {
            return refuse("`method` must be a string");
        };
        let params = object.get("params").cloned().unwrap_or_default();
        if !matches!(params, Json::Null | Json::Object(_)) {
            return refuse("`params` must be an object");
        }
        let method = method.clone();
        match (id, object.get("id")) {
            (Some(id), _) => Ok(Self::Request(Request { id, method, params })),
            (None, None) => Ok(Self::Notification(Notification { method, params })),
            (None, Some(_)) => {
                let reason = "`id` must be a string or a number".to_owned();
                Err(Unfit::Request { id: None, reason })
            }
        }
    }

    fn read_response(object: &Object, id: Option<Id>) -> Result<Self, Unfit> {
        let error = object.get("error").filter(|error| !error.is_null());
        let outcome = match (object.get("result"), error, &id) {
            (_, Some(error), _) => Err(RpcError::read(error)),
            (Some(result), None, Some(_)) => Ok(result.clone()),
            (None, None, Some(id)) => {
                let reason = "it has neither a result nor an error".to_owned();
                return Err(Unfit::Response { id: id.clone(), reason });
            }
            (_, None, None) => return Err(Unfit::Foreign),
        };
        Ok(Self::Response(Response { id, outcome }))
    }
}

/// Parameters, unless there are none.
fn present(params: Json) -> Option<Json> {
    Some(params).filter(|params| !params.is_null())
}

impl RpcError {
    /// The text could not be read.
    pub(crate) const PARSE: i64 = -32_700;
    /// It is no request.
    pub(crate) const INVALID_REQUEST: i64 = -32_600;
    /// Nobody answers to that method.
    pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
    /// The parameters do not fit.
    pub(crate) const INVALID_PARAMS: i64 = -32_602;
    /// It could not be done.
    pub(crate) const INTERNAL: i64 = -32_603;

    pub(crate) fn new(code: i64, message: impl Into<Str>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method `{method}`"))
    }

    pub(crate) fn invalid_params(message: impl Into<Str>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// What servers send as an error is not always of the right form; whatever it says is kept.
    fn read(error: &Json) -> Self {
        let code = error.get("code").and_then(Json::as_i64).unwrap_or(Self::INTERNAL);
        let message = match error.get("message").or_else(|| error.as_str().map(|_| error)) {
            Some(Json::String(message)) => message.clone(),
            _ => error.to_string().into(),
        };
        Self { code, message, data: error.get("data").cloned() }
    }

    fn to_json(&self) -> Json {
        let error = Object::builder().with("code", self.code).with("message", self.message.clone());
        error.with_some("data", self.data.clone()).build().into()
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (error {})", self.message, self.code)
    }
}
