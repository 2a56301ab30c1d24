//! The models that a person names, on their way to memory: named, found or fetched, ready, loaded.

use std::collections::BTreeMap;

use candle_core::{DType, Device};

use crate::{
    Error, Result,
    families::adapter::{self, ADAPTER},
    scorer::{Prepared, Scorer},
};
use veridiff_detector::Detector;
use veridiff_engine::{
    files::{
        adapter::shipped_as,
        cards::DEFAULT_CARD,
        source::{ModelFiles, ResolveOptions, called, check, make_names_distinct, resolve, split_alias, with_adapter},
    },
    plan::{Footprint, Lengths, Limits},
};
use veridiff_table::catalogue::models_of;

/// Which models, and where they run.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// The models, each `[NAME=]SOURCE[+ADAPTER]`: a built-in id, a folder, a `.gguf` file or a hub repository `org/name[@revision]`. If there
    /// is none, the default model is meant.
    pub models: Vec<String>,
    /// The device that they run on.
    pub device: Device,
    /// The precision that is asked for; [`veridiff_engine::ops::Precision`] says how a device carries it out. Where absent it is f32, or for
    /// a detector's verdict that in which its rows were read.
    pub dtype: Option<DType>,
    /// Bytes that the process may use, on a GPU those of the device; no bound where absent.
    pub max_memory: Option<u64>,
    /// Where models are kept, and how what is missing is fetched.
    pub fetch: ResolveOptions,
}

impl Default for ModelOptions {
    /// The default model on the CPU, without a bound on memory; it is fetched if it is not here.
    fn default() -> Self {
        ModelOptions {
            models: Vec::new(),
            device: Device::Cpu,
            dtype: None,
            max_memory: None,
            fetch: ResolveOptions::default(),
        }
    }
}

impl ModelOptions {
    /// The precision that models are read in.
    pub fn precision(&self) -> DType {
        self.dtype.unwrap_or(DType::F32)
    }

    /// Finds the models, fetching what is missing. Names that several share are made distinct.
    ///
    /// # Errors
    /// A model is unknown, is not where it should be or cannot be fetched. Every name is looked at before anything is fetched.
    pub fn files(&self) -> Result<Vec<ModelFiles>> {
        let default = [DEFAULT_CARD.to_owned()];
        let mut files = self.resolve(if self.models.is_empty() { &default } else { &self.models[..] })?;
        make_names_distinct(&mut files);
        Ok(files)
    }

    /// Finds models that are named as [`ModelOptions::models`] are, fetching what is missing.
    ///
    /// # Errors
    /// As [`ModelOptions::files`].
    pub fn resolve<'a>(&self, specs: impl IntoIterator<Item = &'a String>) -> Result<Vec<ModelFiles>> {
        let specs: Vec<&String> = specs.into_iter().collect();
        // gigabytes are not fetched only to find that the last name is misspelt
        specs.iter().try_for_each(|spec| check(spec))?;
        Ok(specs.into_iter().map(|spec| resolve(spec, &self.fetch)).collect::<Result<_, _>>()?)
    }

    /// Finds out whether models can be loaded, and what of, without loading any.
    ///
    /// # Errors
    /// [`Error::Loading`] if a file is missing, damaged or does not fit the others, or if not even the shortest of samples keeps within
    /// the bound on memory.
    pub fn prepare(&self, files: Vec<ModelFiles>) -> Result<Vec<Prepared>> {
        files.iter().try_for_each(|files| self.check_fit(files).map_err(|error| Error::loading(&files.name, error)))?;
        let prepare = |files: ModelFiles| {
            let name = files.name.clone();
            Prepared::new(files, self.precision(), &self.device).map_err(|error| Error::loading(&name, error))
        };
        files.into_iter().map(prepare).collect()
    }

    /// Whether a model with the shortest of samples keeps within the bound.
    fn check_fit(&self, files: &ModelFiles) -> Result<()> {
        if self.max_memory.is_some() {
            let footprint = Footprint::new(&files.model_config()?, self.precision(), &self.device);
            let limits = Limits { max_bytes: self.max_memory, ..Limits::default() };
            footprint.plan(Lengths { n_prompt: 1, n_response: 1 }, false, limits)?;
        }
        Ok(())
    }

    /// Loads one model in a precision of the caller's.
    ///
    /// # Errors
    /// [`Error::Loading`].
    pub fn load_in(&self, files: &ModelFiles, dtype: DType) -> Result<Scorer> {
        Scorer::load(files, dtype, &self.device).map_err(|error| Error::loading(&files.name, error))
    }

    /// Finds and loads the models, one after the other.
    ///
    /// # Errors
    /// Those of [`ModelOptions::files`] and [`ModelOptions::prepare`]; [`Error::Loading`] for weights that are damaged.
    pub fn load(&self) -> Result<Vec<Scorer>> {
        let load = |prepared: Prepared| {
            let name = prepared.name().to_owned();
            prepared.load().map_err(|error| Error::loading(&name, error))
        };
        self.prepare(self.files()?)?.into_iter().map(load).collect()
    }

    /// The models under the names that a detector knows. Where it knows one, whatever model is given stands for it, since its weights
    /// are compared; where it knows several, each is the model given under its name (`NAME=SOURCE`). A name for which no model is
    /// given is the source itself.
    ///
    /// # Errors
    /// [`Error::OtherModels`] if a model is given that stands for none.
    pub fn standing_for(&self, names: &[String]) -> Result<ModelOptions> {
        let other = |given: &[String]| Error::OtherModels { given: given.to_vec(), names: names.to_vec() };
        let as_named = |name: &String, spec: &str| match split_alias(spec) {
            (None, source) if source == name => source.to_owned(),
            (_, source) => format!("{name}={source}"),
        };
        let models = match (names, &self.models[..]) {
            ([], given) => {
                if given.len() > 1 {
                    return Err(other(given));
                }
                given.to_vec()
            }
            ([name], []) => vec![name.clone()],
            ([name], [given]) => vec![as_named(name, given)],
            ([_], given) => return Err(other(given)),
            (names, given) => {
                if !given.iter().all(|spec| names.iter().any(|name| name == called(spec))) {
                    return Err(other(given));
                }
                let chosen =
                    |name: &String| given.iter().rev().find(|spec| called(spec) == *name).unwrap_or(name).clone();
                names.iter().map(chosen).collect()
            }
        };
        Ok(ModelOptions { models, ..self.clone() })
    }

    /// These models, which stand for `names`, read as a detector's rows were, by the metadata of the table it was fitted on: each with the
    /// adapter that ships and that it was fitted with, and in the precision of all of them where none is asked for. Another adapter has to
    /// be named with the model, whose check says so.
    #[must_use]
    pub fn as_fitted(self, names: &[String], table: &BTreeMap<String, String>) -> ModelOptions {
        let fitted = |name: &String| shipped_as(table.get(&format!("{ADAPTER}@{name}"))?);
        let adapted = |(place, spec): (usize, &String)| match names.get(place).and_then(fitted) {
            Some(adapter) => with_adapter(spec, adapter),
            None => spec.clone(),
        };
        let models = self.models.iter().enumerate().map(adapted).collect();
        let mut precisions = names.iter().filter_map(|name| table.get(&format!("dtype@{name}"))?.parse().ok());
        let first: Option<DType> = precisions.next();
        let common = first.filter(|first| precisions.all(|other: DType| other == *first));
        ModelOptions { models, dtype: self.dtype.or(common), ..self }
    }

    /// These models for a detector's verdict on one text: where it asks an adapter each has the one that it was fitted with, and where none
    /// is named they are those that read its rows.
    #[must_use]
    pub fn for_detector(mut self, detector: &Detector) -> ModelOptions {
        let (columns, table) = (detector.feature_names(), &detector.training.table);
        if !columns.iter().any(|column| adapter::is_feature(column)) {
            return self;
        }
        if self.models.is_empty() {
            let is_scorer = |name: &String| table.contains_key(&format!("model@{name}"));
            self.models = models_of(&columns).into_iter().filter(is_scorer).collect();
        }
        let names: Vec<String> = self.models.iter().map(|spec| called(spec).to_owned()).collect();
        self.as_fitted(&names, table)
    }
}

#[cfg(test)]
mod tests {
    use veridiff_engine::files::adapter::Adapter;

    use super::*;

    fn standing(given: &[&str], names: &[&str]) -> Result<Vec<String>> {
        let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let options = ModelOptions { models: texts(given), ..ModelOptions::default() };
        options.standing_for(&texts(names)).map(|options| options.models)
    }

    #[test]
    fn a_detector_brings_the_adapter_that_ships_and_that_it_was_fitted_with() {
        let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let shipped = Adapter::named("truth").unwrap();
        let with = |specs: &[&str], adapter: &str| {
            let table = BTreeMap::from([("adapter@small".to_owned(), adapter.to_owned())]);
            let options = ModelOptions { models: texts(specs), ..ModelOptions::default() };
            options.as_fitted(&texts(&["small", "other"]), &table).models
        };
        let fingerprint = shipped.fingerprint();
        assert_eq!(with(&["small", "other"], fingerprint), ["small+truth", "other"]);
        assert_eq!(with(&["small=m.gguf", "other"], fingerprint), ["small=m.gguf+truth", "other"]);
        assert_eq!(with(&["small+own.safetensors"], fingerprint), ["small+own.safetensors"]);
        assert_eq!(with(&["small"], "of another"), ["small"]);
    }

    #[test]
    fn a_detector_is_read_with_its_own_model_and_adapter_unless_another_is_named() {
        let models = |given: &[&str], detector: &str| {
            let models = given.iter().map(|spec| (*spec).to_owned()).collect();
            let options = ModelOptions { models, ..ModelOptions::default() };
            options.for_detector(&veridiff_detector::shipped::find(detector).unwrap()).models
        };
        assert_eq!(models(&[], "truth"), ["smollm2-135m+truth"]);
        assert_eq!(models(&["smollm2-135m=m.gguf"], "truth"), ["smollm2-135m=m.gguf+truth"]);
        assert_eq!(models(&["folder/x"], "truth"), ["folder/x"]);
        assert_eq!(models(&[], "deep"), ["qwen2.5-coder-1.5b+deep"]);
        let precision = |asked: Option<DType>, detector: &str| {
            let options = ModelOptions { dtype: asked, ..ModelOptions::default() };
            options.for_detector(&veridiff_detector::shipped::find(detector).unwrap()).precision()
        };
        assert_eq!([precision(None, "truth"), precision(None, "deep")], [DType::F32, DType::BF16]);
        assert_eq!(precision(Some(DType::F32), "deep"), DType::F32);
        assert!(models(&[], "review").is_empty());
    }

    #[test]
    fn a_model_stands_for_the_one_that_a_detector_knows() {
        assert_eq!(standing(&[], &["a"]).unwrap(), ["a"]);
        assert_eq!(standing(&["folder/x"], &["a"]).unwrap(), ["a=folder/x"]);
        assert_eq!(standing(&["mine=folder/x"], &["a"]).unwrap(), ["a=folder/x"]);
        assert_eq!(standing(&["a"], &["a"]).unwrap(), ["a"]);
        let error = standing(&["x", "y"], &["a"]).unwrap_err();
        assert!(error.to_string().contains("2 models are given") && error.hint().unwrap().contains("`a`"), "{error}");
    }

    #[test]
    fn several_are_told_apart_by_their_names() {
        assert_eq!(standing(&[], &["a", "b"]).unwrap(), ["a", "b"]);
        assert_eq!(standing(&["b=folder/x"], &["a", "b"]).unwrap(), ["a", "b=folder/x"]);
        assert_eq!(standing(&["b=folder/x", "a=folder/y"], &["a", "b"]).unwrap(), ["a=folder/y", "b=folder/x"]);
        assert!(standing(&["folder/x", "folder/y"], &["a", "b"]).is_err());
    }
}
