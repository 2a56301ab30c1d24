//! Families of features: what is computed from a change, a text and what a model says of them.

pub mod aggregate;
pub mod catalogue;
pub mod contrast;
pub mod reference;
pub mod shape;
pub mod similarity;
