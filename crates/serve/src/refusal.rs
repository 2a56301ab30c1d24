//! Why a request is not answered as asked: one enum, its statuses, and the JSON that says so.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use veridiff_core::run::references::ReferenceError;
use veridiff_text::{chain::one_line, sample::SampleError};

/// Why a request is refused. No message has anything of a request's texts in it but names that were not understood, and none a secret.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body is no JSON.
    #[error("the body is no JSON: {0}")]
    Json(String),
    /// The body is JSON of another shape.
    #[error("{0}")]
    Shape(String),
    /// A sample cannot be used; `line` in the message is its number in the request.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Features that cannot be computed here.
    #[error(transparent)]
    Features(#[from] ReferenceError),
    /// A text that the model cannot read.
    #[error("{0}")]
    Unreadable(String, Option<String>),
    /// The body is of another type than JSON.
    #[error("the body must be `application/json`")]
    MediaType,
    /// The header that says how long a client waits says something else.
    #[error("the header `Request-Timeout` is no number of seconds above 0")]
    Deadline,
    /// There is no such path.
    #[error("there is nothing at this path")]
    NotFound,
    /// The path takes another method.
    #[error("this path takes another method")]
    Method,
    /// No token, or none that is known.
    #[error("a token is needed, as `Authorization: Bearer TOKEN`")]
    Token,
    /// A webhook that nobody signed who may.
    #[error("the webhook is not signed with the secret that it should be")]
    Signature,
    /// A service without tokens is asked under a name that is not this machine's.
    #[error("without tokens only this machine is answered, under `localhost`, 127.0.0.1 or [::1]")]
    Host,
    /// A form that no page of the service sent, or what a page elsewhere asks of a service without tokens.
    #[error("this does not come from a page of this service")]
    Foreign,
    /// Something is larger than its limit.
    #[error("{what} has {got}, and {most} is the most")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is, with its unit.
        got: String,
        /// The limit.
        most: usize,
    },
    /// The client did not send its request in time.
    #[error("the request did not come within {0:?}")]
    TooSlow(Duration),
    /// The client's token allows no more requests now.
    #[error("the rate of this client is spent")]
    Rate(Duration),
    /// The client's token allows no more samples today.
    #[error("the quota of this client is spent")]
    Quota(Duration),
    /// The queue is full.
    #[error("too much waits already")]
    Full(Duration),
    /// There is no memory for one more body.
    #[error("too much is being received already")]
    NoRoom,
    /// The answer did not come in time.
    #[error("the answer did not come within {0:?}")]
    Late(Duration),
    /// The service is about to stop.
    #[error("the service is stopping")]
    Stopping,
    /// There is no such model here.
    #[error("no model `{name}` is resident")]
    NoModel {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The generator gives no answer.
    #[error("the generator {0}")]
    Upstream(&'static str),
    /// The generator takes too long.
    #[error("the generator did not go on within {0:?}")]
    UpstreamLate(Duration),
    /// A request comes back to the gateway that passed it on.
    #[error("this request has passed this gateway before")]
    Loop,
    /// An answer of the generator that its change does not support.
    #[error("the answer is refused: beside its change it is {0}")]
    Unsupported(&'static str),
    /// A fault of the service.
    #[error("the service failed at this request")]
    Fault,
}

/// What a refusal looks like: the JSON of every answer that is not a success.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    error: ErrorPart,
}

impl ErrorBody {
    /// What a refusal says.
    pub fn of(refusal: &Refusal) -> ErrorBody {
        ErrorBody { error: ErrorPart::of(refusal) }
    }
}

/// What went wrong, for programs and for people.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ErrorPart {
    /// A name that does not change.
    code: &'static str,
    /// What and where, in words.
    message: String,
    /// How to mend it, if that is known.
    hint: Option<String>,
}

impl ErrorPart {
    /// What a refusal says.
    pub fn of(refusal: &Refusal) -> ErrorPart {
        ErrorPart { code: refusal.code(), message: one_line(refusal), hint: refusal.hint() }
    }
}

/// Seconds after which one that found too much going on should try again.
const SOON: Duration = Duration::from_secs(1);

/// Every code with its status and its meaning: a part of the interface.
pub const CODES: &[(&str, StatusCode, &str)] = &[
    ("json", StatusCode::BAD_REQUEST, "the body is no JSON"),
    ("shape", StatusCode::BAD_REQUEST, "the body has another form"),
    ("sample", StatusCode::BAD_REQUEST, "a sample cannot be used"),
    ("features", StatusCode::BAD_REQUEST, "features that cannot be computed here"),
    ("unreadable", StatusCode::UNPROCESSABLE_ENTITY, "a text that the model cannot read"),
    ("media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is of another type"),
    ("deadline", StatusCode::BAD_REQUEST, "the time that the client waits is none"),
    ("not_found", StatusCode::NOT_FOUND, "there is no such path"),
    ("method", StatusCode::METHOD_NOT_ALLOWED, "the path takes another method"),
    ("token", StatusCode::UNAUTHORIZED, "no token, or none that is known"),
    ("signature", StatusCode::UNAUTHORIZED, "a webhook is not signed as it should be"),
    ("host", StatusCode::MISDIRECTED_REQUEST, "without tokens only this machine is answered, under a name of its own"),
    (
        "foreign",
        StatusCode::FORBIDDEN,
        "a form, or what a browser asks without a token, does not come from a page of this service",
    ),
    ("too_large", StatusCode::PAYLOAD_TOO_LARGE, "something is larger than its limit"),
    ("too_slow", StatusCode::REQUEST_TIMEOUT, "the request did not come in time"),
    ("rate", StatusCode::TOO_MANY_REQUESTS, "the rate of the client is spent"),
    ("quota", StatusCode::TOO_MANY_REQUESTS, "the quota of the client is spent"),
    ("full", StatusCode::TOO_MANY_REQUESTS, "the queue is full"),
    ("no_room", StatusCode::TOO_MANY_REQUESTS, "too many bodies are being received"),
    ("late", StatusCode::GATEWAY_TIMEOUT, "the answer did not come in time"),
    ("stopping", StatusCode::SERVICE_UNAVAILABLE, "the service is stopping"),
    ("no_model", StatusCode::NOT_FOUND, "there is no such model"),
    ("upstream", StatusCode::BAD_GATEWAY, "the generator gives no answer"),
    ("upstream_late", StatusCode::GATEWAY_TIMEOUT, "the generator takes too long"),
    ("loop", StatusCode::LOOP_DETECTED, "the request comes from this gateway itself"),
    ("refused", StatusCode::UNPROCESSABLE_ENTITY, "the change does not support the generator's answer"),
    ("fault", StatusCode::INTERNAL_SERVER_ERROR, "a fault of the service"),
];

impl Refusal {
    /// Its name, which does not change.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Json(_) => "json",
            Refusal::Shape(_) => "shape",
            Refusal::Sample(_) => "sample",
            Refusal::Features(_) => "features",
            Refusal::Unreadable(..) => "unreadable",
            Refusal::MediaType => "media_type",
            Refusal::Deadline => "deadline",
            Refusal::NotFound => "not_found",
            Refusal::Method => "method",
            Refusal::Token => "token",
            Refusal::Signature => "signature",
            Refusal::Host => "host",
            Refusal::Foreign => "foreign",
            Refusal::TooLarge { .. } => "too_large",
            Refusal::TooSlow(_) => "too_slow",
            Refusal::Rate(_) => "rate",
            Refusal::Quota(_) => "quota",
            Refusal::Full(_) => "full",
            Refusal::NoRoom => "no_room",
            Refusal::Late(_) => "late",
            Refusal::Stopping => "stopping",
            Refusal::NoModel { .. } => "no_model",
            Refusal::Upstream(_) => "upstream",
            Refusal::UpstreamLate(_) => "upstream_late",
            Refusal::Loop => "loop",
            Refusal::Unsupported(_) => "refused",
            Refusal::Fault => "fault",
        }
    }

    /// The status of its answer.
    pub fn status(&self) -> StatusCode {
        let known = CODES.iter().find(|(code, ..)| *code == self.code());
        known.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status, _)| *status)
    }

    /// How to mend it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Refusal::Sample(error) => error.hint(),
            Refusal::Features(error) => error.hint(),
            Refusal::Unreadable(_, hint) => hint.clone(),
            Refusal::MediaType => Some("send the header `Content-Type: application/json`".to_owned()),
            Refusal::NotFound | Refusal::Method => Some("`/openapi.json` says what there is".to_owned()),
            Refusal::Foreign => {
                Some("load the page anew, and send it from there; what other pages ask needs a token".to_owned())
            }
            Refusal::TooLarge { .. } => Some("ask in parts".to_owned()),
            Refusal::NoModel { known, .. } if known.is_empty() => {
                Some("the service was started without a model".to_owned())
            }
            Refusal::NoModel { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Refusal::Upstream(_) => Some("does it run, and listen where --upstream says?".to_owned()),
            Refusal::UpstreamLate(_) => Some("--upstream-timeout says how long it may take".to_owned()),
            Refusal::Loop => Some("--upstream names this service itself, or one that passes back to it".to_owned()),
            Refusal::Unsupported(_) => {
                Some("`veridiff.choices` says what was found, statement by statement".to_owned())
            }
            _ => None,
        }
    }

    /// When to try again, of what passes by itself.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::Rate(wait) | Refusal::Quota(wait) | Refusal::Full(wait) => Some(*wait),
            Refusal::NoRoom | Refusal::Stopping => Some(SOON),
            _ => None,
        }
    }

    /// The JSON that says it.
    pub(crate) fn body(&self) -> String {
        serde_json::to_string(&ErrorBody::of(self)).unwrap_or_default()
    }
}

impl From<veridiff_core::Error> for Refusal {
    /// What the library says of a request's texts is the client's business; what it says of the machine is not.
    fn from(error: veridiff_core::Error) -> Self {
        match error {
            veridiff_core::Error::Sample(error) => error.into(),
            veridiff_core::Error::Reference(error) => error.into(),
            veridiff_core::Error::Diff(_)
            | veridiff_core::Error::Check(_)
            | veridiff_core::Error::Tokens(_)
            | veridiff_core::Error::Prompt(_)
            | veridiff_core::Error::Plan(_) => Refusal::Unreadable(one_line(&error), error.hint()),
            error => {
                tracing::error!("a request failed: {}", one_line(&error));
                Refusal::Fault
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status(), [(header::CONTENT_TYPE, "application/json")], self.body()).into_response();
        if let Some(wait) = self.retry_after() {
            let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if matches!(self, Refusal::Token) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(Code(self.code()));
        response
    }
}

/// The code of a refusal, for who counts them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code(pub &'static str);
