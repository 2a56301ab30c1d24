//! Arguments that several verbs share, and what they are in the library.

pub mod change;
pub mod device;
pub mod references;
pub mod repository;
pub mod rows;
pub mod rules;
pub mod samples;
pub mod scoring;

/// Reads a choice by one of its `names`, which help and errors list.
pub fn choice<T>(names: &'static [&'static str]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}
