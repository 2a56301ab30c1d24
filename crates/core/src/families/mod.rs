//! Families of features: what is computed from a change, a text and what a model says of them. One file a family.

pub mod attribution;
pub mod catalogue;
pub mod contrast;
pub mod family;
pub mod form;
pub mod grounding;
pub mod lines;
pub mod per_token;
pub mod reference;
pub mod shape;
pub mod similarity;
pub mod uncertainty;

use family::Family;

/// Every family, in the order of the columns.
pub static FAMILIES: &[&Family] = &[
    &uncertainty::FAMILY,
    &attribution::FAMILY,
    &similarity::FAMILY,
    &reference::FAMILY,
    &shape::FAMILY,
    &contrast::FAMILY,
    &lines::FAMILY,
    &grounding::FAMILY,
    &form::FAMILY,
];
