//! A bot on GitHub and GitLab: what review bots write there is checked, and answered as the server's own file says.
//!
//! ```text
//!  webhook ─► signed? new? ─► job on disk ─► "kept"
//!                                │
//!                    worker ─► the request's comments and diff ─► samples ─► the service's queue ─► findings
//!                                │                                                                   │
//!                                ├─ what people said of comments ─► labels                verdicts on disk
//!                                └─ each answer: done before? there already? else posted, and kept as done
//!
//!  browser ─► logged in? (serve) ─► page/: what is on disk ─► HTML;  a person's word ─► feedback on disk
//! ```
//!
//! A job is on disk before its webhook is answered, and is waiting until all of its answers are given: what a kill interrupts is done
//! again from the beginning, and finds by their keys the answers that were given. A key is a hash under the webhook's secret, so nobody
//! else can have an answer taken for given. A job says only which request to look at; whatever came twice is looked at twice and
//! answered once.
//!
//! Nothing that stands in a pull request, a comment or a payload configures anything: a payload names a repository and a number, which
//! must be of the form of one and among those of the file.
//!
//! | file | owns |
//! |---|---|
//! | `config.rs`, `section.rs` | the file: which repositories, whose comments, which answers from which verdict on |
//! | `incoming.rs` | deliveries: signatures, and what of a payload is read |
//! | `store/` | jobs, deliveries, verdicts, answers and feedback in SQLite, and older databases made new |
//! | `bot.rs`, `problem.rs` | which job is next, and when one is tried again |
//! | `request.rs`, `push.rs` | a job from its beginning to its end |
//! | `answers.rs`, `said.rs` | that each answer is given once; its words, and keys |
//! | `remote.rs`, `github.rs`, `gitlab.rs` | a request as a host has it, and the answers that it takes |
//! | `login.rs` | by whose word a host is asked: a token, or an App's |
//! | `labels.rs` | what people said, as labelled samples |
//! | `page/` | the page where a team works: what came in, labels by one key, how far verdicts can be trusted |
//!
//! Hosts are asked by the client of `veridiff-platforms`, which `check --pr` and `--mr` use. The crates octocrab and gitlab would be two
//! more clients with two more stacks of HTTP, asynchronous or for GraphQL, beside a worker that does one thing after the other.

mod answers;
mod bot;
mod config;
mod github;
mod gitlab;
mod incoming;
mod labels;
mod login;
mod page;
mod problem;
mod push;
mod remote;
mod request;
mod said;
mod section;
mod store;

pub use bot::Bot;
pub use config::{BotError, Config};
