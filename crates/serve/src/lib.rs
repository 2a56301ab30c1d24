//! The gate, the scorer and the explanation behind HTTP/1.1.
//!
//! ```text
//!  connection ──► guard ──► body ──► samples ──► queue ──► worker ──► JSON ──► answer
//!  (limits)       (token,   (room,   (as from    (fair,    (models             or events
//!                  rate)     time)    a file)     bounded)  stay)
//! ```
//!
//! | where | owns |
//! |---|---|
//! | `server.rs`, `tls.rs`, `signals.rs` | sockets, signals, the end |
//! | `guard.rs`, `tokens.rs`, `origin.rs`, `rate.rs`, `audit.rs` | who asks, how often, and what is written down of it |
//! | `limits.rs`, `body.rs`, `asked.rs` | how much of everything is taken, and what a body asks for |
//! | `queue.rs`, `answers.rs` | what waits, and who waits for it |
//! | `worker.rs`, `work.rs`, `completion.rs` | what is computed, on threads of its own, by the code of the command |
//! | `resident.rs`, `service.rs` | what stays in memory, and everything together |
//! | `routes/`, `refusal.rs` | the paths, and why one is refused |
//! | `gateway/` | what passes to a generator behind the service, and what is said of its answers |
//! | `pages.rs`, `sessions.rs` | pages for people, for who shows them, and who has logged in to see them |
//! | `hooks.rs`, `inside.rs` | webhooks of code hosts, for who takes them, and the questions of who lives in this process |
//! | `meter.rs`, `traces.rs` | what is counted, and spans for a collector |
//! | `openapi.rs`, `schema.rs` | what the service says of itself, from the table of its paths and the types that it writes |
//!
//! Nothing that a client sends takes more than its limit, and none of it is logged. The service computes nothing of its own: what it
//! answers is what the command prints, and what a generator answers passes as it comes.

mod answers;
mod asked;
mod audit;
mod body;
mod completion;
mod gateway;
mod guard;
mod hooks;
mod inside;
mod limits;
mod meter;
mod openapi;
mod origin;
pub mod pages;
mod queue;
mod rate;
pub mod refusal;
mod resident;
mod routes;
mod schema;
mod server;
mod service;
mod sessions;
mod signals;
mod tls;
mod tokens;
mod traces;
mod work;
mod worker;

pub use axum::http::HeaderMap;
pub use gateway::{GatewayOptions, Mode, Refuses};
pub use hooks::{Delivery, Hooks, Platform, SharedHooks, Taken};
pub use limits::Limits;
pub use resident::{Open, Resident};
pub use routes::router;
pub use server::{Listen, serve};
pub use service::{ServeError, Service, ServiceOptions};
pub use tls::Certificate;
pub use tokens::{TokenError, TokenSource};
