//! Arguments that several verbs share, and what they are in the library.

pub mod batch;
pub mod change;
pub mod device;
pub mod execution;
pub mod judges;
pub mod overwriting;
pub mod platform;
pub mod references;
pub mod repository;
pub mod rows;
pub mod rules;
pub mod samples;
pub mod scoring;
pub mod subject;

/// The heading of options about how texts are judged.
pub const JUDGING: &str = "Judging";
/// The heading of options about what is written.
pub const OUTPUT: &str = "Output";

/// Reads a choice by one of its `names`, which help and errors list.
pub fn choice<T>(names: &'static [&'static str]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}
