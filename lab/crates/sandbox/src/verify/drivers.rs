//! What stands beside a program within, and Python's part of it as the interpreter's own code.

use std::{process::Command, sync::OnceLock};

use sha2::{Digest, Sha256};

use crate::{error::SandboxError, runner::Runner};

const COMMON: &str = include_str!("../drivers/common.py");
const CANDIDATE: &str = include_str!("../drivers/candidate.py");
const TESTS: &str = include_str!("../drivers/tests.py");
const SHARED: &str = include_str!("../drivers/shared.py");
/// Node's.
pub(super) const NODE: &str = include_str!("../drivers/node.js");
/// Java's.
pub(super) const LAUNCHER: &str = include_str!("../drivers/Launcher.java");

/// The hash of all that we put beside a program: results under other drivers are not these.
pub fn drivers() -> String {
    format!("{:x}", Sha256::digest([COMMON, CANDIDATE, TESTS, SHARED, NODE, LAUNCHER].concat()))
}

/// Python's drivers, each as a short program that runs the code it holds.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) candidate: String,
    pub(super) tests: String,
    pub(super) shared: String,
}

/// Compiles what its arguments say, each behind the first, and prints each as a program that runs it.
const COMPILE: &str = "import binascii, marshal, sys
for text in sys.argv[2:]:
    code = compile(sys.argv[1] + '\\n' + text, '<string>', 'exec')
    text = binascii.b2a_base64(marshal.dumps(code), newline=False).decode()
    print('exec(__import__(\"marshal\").loads(__import__(\"binascii\").a2b_base64(\"' + text + '\")))')
";

/// Python's drivers, compiled once for all runs: as text they took half as long to compile as the interpreter to start, at every start.
#[derive(Debug, Default)]
pub struct Drivers {
    compiled: OnceLock<Result<Compiled, String>>,
}

impl Drivers {
    /// The drivers as an interpreter has compiled them. It runs as when it is asked for its version, and what it compiles is ours.
    pub(super) fn get(&self, runner: &Runner) -> Result<&Compiled, SandboxError> {
        self.compiled
            .get_or_init(|| compile(runner))
            .as_ref()
            .map_err(|why| SandboxError::NoRunner { language: runner.language.name().into(), why: why.clone() })
    }
}

fn compile(runner: &Runner) -> Result<Compiled, String> {
    let name = runner.program.display();
    let output = Command::new(&runner.program)
        .args(&runner.argv()[1..])
        .args(["-c", COMPILE, COMMON, CANDIDATE, TESTS, SHARED])
        .env_clear()
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let [candidate, tests, shared] = lines[..] else {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} does not compile what is put beside programs: {}", said.trim()));
    };
    Ok(Compiled { candidate: candidate.into(), tests: tests.into(), shared: shared.into() })
}
