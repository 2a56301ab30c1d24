//! Families of features: what is computed from a change, a text and what a model says of them. One file a family.

pub mod adapter;
pub mod attention;
pub mod attribution;
pub mod catalogue;
pub(crate) mod contrast;
pub(crate) mod edits;
pub mod execution;
pub mod facts;
pub mod family;
pub(crate) mod form;
pub(crate) mod grounding;
pub mod hidden;
pub mod judge;
pub(crate) mod lines;
pub(crate) mod per_token;
pub mod reference;
pub(crate) mod shape;
pub(crate) mod similarity;
pub(crate) mod uncertainty;

use family::Family;

/// Every family, in the order of the columns.
pub static FAMILIES: &[&Family] = &[
    &uncertainty::FAMILY,
    &attribution::FAMILY,
    &similarity::FAMILY,
    &reference::FAMILY,
    &shape::FAMILY,
    &contrast::FAMILY,
    &edits::FAMILY,
    &adapter::FAMILY,
    &lines::FAMILY,
    &grounding::FAMILY,
    &form::FAMILY,
    &facts::FAMILY,
    &attention::FAMILY,
    &hidden::FAMILY,
    &judge::FAMILY,
    &execution::FAMILY,
];
