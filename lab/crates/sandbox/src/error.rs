//! What can be wrong with a sandbox, and how to mend it.

use std::io;

use veridiff_text::hint::Hint;

/// Why nothing can be run confined here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// This system has no namespaces.
    #[error("programs can be confined on Linux only")]
    NotLinux,
    /// Neither way of confining works on this machine.
    #[error("no sandbox can be had on this machine: {}", reasons.join("; "))]
    Unavailable {
        /// For each way that was tried its name and what it failed at.
        reasons: Vec<String>,
    },
    /// A probe did inside what must be impossible there.
    #[error("the sandbox `{backend}` does not hold: {probe} succeeded inside")]
    Leaks {
        /// The way of confining.
        backend: String,
        /// What was possible.
        probe: String,
    },
    /// The interpreter is not on this machine.
    #[error("no {language} to run programs with: {why}")]
    NoRunner {
        /// The language.
        language: String,
        /// What was looked for, or what it said.
        why: String,
    },
    /// The helper process could not be started or has gone away.
    #[error("the sandbox's helper process failed at {what}")]
    Helper {
        /// What it was to do.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Hint for SandboxError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            SandboxError::NotLinux => "run it in a Linux machine or container",
            SandboxError::Unavailable { reasons } => return Some(remedy(reasons)),
            SandboxError::Leaks { .. } => {
                "do not use this machine for code that nobody trusts; try the other --backend"
            }
            SandboxError::NoRunner { language, .. } if language == "python" => {
                "install python3 where every user can read it, such as /usr/bin"
            }
            SandboxError::NoRunner { language, .. } if language == "java" => {
                "install a JDK 17, such as openjdk-17-jdk-headless"
            }
            SandboxError::NoRunner { .. } => "install node 18 or newer where every user can read it",
            SandboxError::Helper { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// What lets user namespaces be made, by what refused them.
fn remedy(reasons: &[String]) -> String {
    let sysctl = |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).map(|text| text.trim().to_owned());
    if sysctl("kernel/apparmor_restrict_unprivileged_userns").is_ok_and(|value| value == "1") {
        return "AppArmor keeps programs from making user namespaces: install bubblewrap with its AppArmor profile, or run \
                `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
            .to_owned();
    }
    if sysctl("kernel/unprivileged_userns_clone").is_ok_and(|value| value == "0") {
        return "run `sysctl -w kernel.unprivileged_userns_clone=1`".to_owned();
    }
    if sysctl("user/max_user_namespaces").is_ok_and(|value| value == "0") {
        return "run `sysctl -w user.max_user_namespaces=15000`".to_owned();
    }
    if reasons.iter().any(|reason| reason.contains("Landlock")) {
        return "Landlock needs Linux 5.13 or newer with `landlock` in the boot parameter `lsm`".to_owned();
    }
    "in a container, let it make user namespaces: `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`, \
     or run veridiff outside of it"
        .to_owned()
}
