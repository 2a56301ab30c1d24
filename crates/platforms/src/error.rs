//! Why a code host gives nothing that can be used, and how to go on.

use std::time::Duration;

use veridiff_text::{hint::Hint, sample::platforms::PlatformError};

use crate::site::Site;

/// Why a code host gives nothing that can be used. No message has any of a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The address is none, or one that would show a token to everybody on the way.
    #[error("{} is no address that a token may be sent to", site.base_variables[0])]
    Address {
        /// Which host.
        site: &'static Site,
    },
    /// There is no answer.
    #[error("{} gives no answer: {told}", site.name)]
    Silent {
        /// Which host.
        site: &'static Site,
        /// What the client says, without the token.
        told: String,
    },
    /// An answer ended before its end.
    #[error("{}'s answer broke off: {told}", site.name)]
    BrokeOff {
        /// Which host.
        site: &'static Site,
        /// What the client says, without the token.
        told: String,
    },
    /// An answer is larger than any that is read.
    #[error("{}'s answer has more than {} MiB", site.name, most >> 20)]
    TooLarge {
        /// Which host.
        site: &'static Site,
        /// Bytes that are read at most.
        most: u64,
    },
    /// An answer that is not what the host's documentation says.
    #[error("{}'s answer is {found}", site.name)]
    Unlike {
        /// Which host.
        site: &'static Site,
        /// What it is.
        found: String,
    },
    /// Too much was asked.
    #[error("{}'s rate is spent", site.name)]
    Rate {
        /// Which host.
        site: &'static Site,
        /// How long to wait before anything else is asked, where the host says it.
        wait: Option<Duration>,
        /// Whether a token was sent.
        has_token: bool,
    },
    /// The token is none that the host knows.
    #[error("{} does not take the token", site.name)]
    Token {
        /// Which host.
        site: &'static Site,
    },
    /// There is nothing, or nothing that who asks may see or do.
    #[error("{} shows no such {} ({status})", site.name, site.request)]
    Hidden {
        /// Which host.
        site: &'static Site,
        /// 403 or 404.
        status: u16,
        /// What it says, in its own words; may be empty.
        said: String,
    },
    /// Another status.
    #[error("{} answered {status}", site.name)]
    Status {
        /// Which host.
        site: &'static Site,
        /// The status.
        status: u16,
        /// What it says, in its own words; may be empty.
        said: String,
    },
    /// The link to the next page leads elsewhere.
    #[error("{}'s next page is on another server", site.name)]
    OtherServer {
        /// Which host.
        site: &'static Site,
    },
    /// Comments that are none.
    #[error(transparent)]
    Comments(#[from] PlatformError),
}

impl HostError {
    /// Whether the same may be answered at another time.
    pub fn may_pass(&self) -> bool {
        match self {
            HostError::Silent { .. } | HostError::BrokeOff { .. } | HostError::Rate { .. } => true,
            HostError::Status { status, .. } => *status >= 500 || *status == 408,
            _ => false,
        }
    }

    /// How long to wait before anything else is asked, where the host says it.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            HostError::Rate { wait, .. } => *wait,
            _ => None,
        }
    }

    /// How to go on.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            HostError::Address { site } => {
                format!("give {} for a server of your own; unset it for {}", site.example, host_of(site.base))
            }
            HostError::Silent { site, .. } => {
                format!("is the network there, and {} right?", site.base_variables.join(" or "))
            }
            HostError::BrokeOff { .. } => {
                "ask again: nothing was kept of what came, and nothing was changed there".to_owned()
            }
            HostError::TooLarge { .. } => {
                "export the comments and check the file: --github-comments, or --gitlab-discussions with --diff"
                    .to_owned()
            }
            HostError::Unlike { site, .. } => {
                format!("does a server of {} answer at {}?", site.name, site.base_variables.join(" or "))
            }
            HostError::Rate { site, has_token: false, .. } => format!("set {}: with a token it has more", site.token),
            HostError::Rate { wait: Some(wait), .. } => format!("try again in {} s", wait.as_secs()),
            HostError::Rate { .. } => "try again in some minutes".to_owned(),
            HostError::Token { site } => {
                let names: Vec<&str> = site.token_variables.iter().map(|(name, _)| *name).collect();
                format!("{} holds it", names.join(", or else "))
            }
            HostError::Hidden { site, .. } => format!(
                "check its name, and on a server of your own {}; one that is private needs a token in {} ({})",
                site.base_variables[0], site.token, site.scope
            ),
            HostError::Status { .. } => "try again later".to_owned(),
            HostError::OtherServer { site } => format!("is {} right?", site.base_variables.join(" or ")),
            HostError::Comments(error) => error.hint().to_owned(),
        })
    }
}

impl Hint for HostError {
    fn hint(&self) -> Option<String> {
        HostError::hint(self)
    }
}

/// The host that an address names.
pub(crate) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}
