//! C.

use super::super::table::Table;
use super::c_family::{FRAMES, ROLES};

pub(crate) static TABLE: Table =
    Table { grammar: || tree_sitter_c::LANGUAGE.into(), roles: &[ROLES], raisers: &[], importers: &[], frames: FRAMES };
