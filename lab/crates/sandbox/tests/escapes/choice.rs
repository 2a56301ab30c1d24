//! Which way of confining is taken.

use std::{fs, path::Path};

use veridiff_sandbox::{
    error::SandboxError,
    probe::{self, Wanted},
    sandbox::{Backend, Sandbox},
};

use crate::support::*;

#[test]
fn a_way_is_chosen_by_trying_and_one_that_confines_nothing_is_refused() {
    let _alone = alone();
    let program = Path::new(env!("CARGO_BIN_EXE_veridiff-confined"));
    for wanted in [Wanted::Auto, Wanted::Native, Wanted::Bwrap] {
        match probe::choose(wanted, program) {
            Ok((_, tried)) => assert!(tried.holds() && tried.refused.len() >= 7, "{tried:?}"),
            Err(error) => assert!(matches!(error, SandboxError::Unavailable { .. }), "{wanted:?}: {error}"),
        }
    }
    // something that is called bubblewrap and only starts what it is given
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join("bwrap");
    fs::write(&fake, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n").unwrap();
    for path in [folder.path(), &fake] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let tried = probe::try_it(&Sandbox::new(Backend::Bubblewrap(fake), program.into()), &python());
    assert!(!tried.holds(), "{tried:?}");
}
