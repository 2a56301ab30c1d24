//! JavaScript with JSX.

use super::super::table::{Role, Table};
use super::ecmascript::{FRAMES, JSX, ROLES};

/// What only JavaScript has.
const OWN: &[(&str, Role)] = &[("field_definition", Role::Binding { name: "property", value: "value" })];

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    roles: &[ROLES, JSX, OWN],
    raisers: &[],
    importers: &["require"],
    frames: FRAMES,
};
