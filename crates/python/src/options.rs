//! Where models run and how they read, from the words of a caller.

use veridiff_core::{families::catalogue::FeatureSet, preset, run::models::ModelOptions, settings::Settings};
use veridiff_engine::{device, files::source::ResolveOptions, plan::parse_size};
use veridiff_text::{prompt::Template, sample::Task};

use crate::error::{Fault, Result};

/// Where models run: names of a device and of a precision, a bound on memory such as `2GB`, and whether nothing may be fetched.
#[derive(Debug, Clone, pyo3::FromPyObject)]
#[pyo3(from_item_all)]
pub struct Place {
    device: String,
    dtype: Option<String>,
    max_memory: Option<String>,
    offline: bool,
}

impl Place {
    /// As the library takes them, with these models.
    pub fn options(&self, models: Vec<String>) -> Result<ModelOptions> {
        let dtype = self.dtype.as_deref().map(device::dtype).transpose()?;
        let fetch = ResolveOptions { offline: self.offline, ..ResolveOptions::default() };
        Ok(ModelOptions { models, device: device::open(&self.device)?, dtype, max_memory: self.max_memory()?, fetch })
    }

    /// Bytes that may be used.
    pub fn max_memory(&self) -> Result<Option<u64>> {
        Ok(self.max_memory.as_deref().map(parse_size).transpose()?)
    }
}

/// How samples are read: the names of a preset and of a prompt, and the most tokens.
#[derive(Debug, Clone, pyo3::FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    preset: Option<String>,
    prompt: Option<String>,
    max_tokens: Option<usize>,
}

impl Reading {
    /// The preset that is named.
    pub fn preset(&self) -> Result<Option<&'static preset::Preset>> {
        let find = |name: &String| {
            let known = || preset::names().collect::<Vec<_>>().join(", ");
            preset::find(name).map_err(|error| Fault::new(error.to_string(), format!("one of {}", known())))
        };
        self.preset.as_ref().map(find).transpose()
    }

    /// What is given here, over settings of the caller's.
    pub fn over(&self, mut settings: Settings) -> Result<Settings> {
        if let Some(preset) = self.preset()? {
            let Settings { attributed_fn, fold, normalize, .. } = preset.settings();
            settings = Settings { attributed_fn, fold, normalize, ..settings };
        }
        if let Some(name) = &self.prompt {
            settings.template = Some(Template::builtin(name)?);
        }
        settings.encode.max_tokens = self.max_tokens.or(settings.encode.max_tokens);
        Ok(settings)
    }
}

/// The features of these names.
pub fn feature_set(names: &[String]) -> Result<FeatureSet> {
    FeatureSet::parse(names).map_err(|error| Fault::new(error.to_string(), error.hint()))
}

/// The task of this name.
pub fn task(name: &str) -> Result<Task> {
    let known = || Task::ALL.map(Task::name).join(", ");
    Task::from_name(name).ok_or_else(|| Fault::new(format!("unknown task `{name}`"), format!("one of {}", known())))
}
