//! `veridiff models`: which models there are, fetching them, and what one is.

use clap::Subcommand;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::Exit;
use crate::cli::{
    progress::{megabytes, transfers},
    terminal::print,
};
use veridiff_engine::{
    ModelError,
    architectures::{
        Listed,
        config::{Config, RopeScaling},
        encoders::EncoderArchitecture,
        language_models,
        t5::config::{FeedForwardKind, T5Config},
    },
    files::{
        cards::{self, Card, Hub, Role},
        hub,
        options::FetchOptions,
        pip,
        source::{self, Layout, ModelFiles},
    },
    language::ModelConfig,
    ops::Gate,
};

/// What `models` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff models list
  veridiff models pull smollm2-135m
  veridiff models show org/name@revision";

/// Arguments of `veridiff models`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in models, and the architectures that any other model may have
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model into the cache
    Pull {
        /// A built-in id, or org/name[@revision] on the Hugging Face hub
        #[arg(value_name = "ID")]
        model: String,
        /// Hash a built-in model that is cached already, and fetch it again if it is damaged
        #[arg(long)]
        verify: bool,
        /// Open no socket: only say whether it is there
        #[arg(long)]
        offline: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Describe a model: a built-in id, a folder, a .gguf file or org/name[@revision]; fetches nothing
    Show {
        /// The model
        #[arg(value_name = "ID|PATH")]
        model: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let output = match args.action {
        Action::List { json } => list(json),
        Action::Pull { model, verify, offline, json } => pull(&model, verify, offline, json),
        Action::Show { model, json } => show(&model, json),
    }?;
    print(&output)?;
    Ok(Exit::Done)
}

fn list(json: bool) -> Result<String, ModelError> {
    let options = FetchOptions { offline: true, ..FetchOptions::default() };
    let cards = cards::all()?
        .into_iter()
        .map(|card| Ok((is_cached(&card, &options)?, card)))
        .collect::<Result<Vec<(bool, Card)>, ModelError>>()?;
    if json {
        let models: Vec<Value> = cards.iter().map(|(cached, card)| card_json(card, *cached)).collect();
        let architectures: Vec<Value> = language_models().iter().map(architecture_json).collect();
        return Ok(format!("{:#}\n", json!({ "models": models, "architectures": architectures })));
    }
    let mut models = plain_table(["id", "title", "role", "licence", "from", "cached", "scoring", "attribution"]);
    for (cached, card) in &cards {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let score = if card.role == Role::Scorer { yes(card.can_score()) } else { "" };
        let (role, from) = (card.role.name(), from(card));
        models.add_row([&card.id, &card.title, role, &card.licence, &from, yes(*cached), score, score]);
    }
    let mut architectures = plain_table(["architecture", "config.json", "GGUF", "scoring", "attribution"]);
    for Listed { name, class_name, gguf_name, .. } in language_models() {
        architectures.add_row([name, class_name, gguf_name.unwrap_or("no"), "yes", "yes"]);
    }
    Ok(format!(
        "{models}\n\nAny other model works if its architecture is one of these \
         (a folder, a .gguf file, or org/name[@revision] on the Hugging Face hub; encoders and classifiers: a folder or \
         the hub, of the model types bert, roberta, t5, codet5p… and deberta-v2):\n\n{architectures}\n"
    ))
}

fn pull(model: &str, verify: bool, offline: bool, json: bool) -> Result<String, ModelError> {
    let options = FetchOptions { offline, progress: Some(transfers()), ..FetchOptions::default() };
    if let (true, Some(package)) = (verify, cards::find(model)?.and_then(|card| card.package))
        && pip::cached_path(&package, &options)?.exists()
    {
        match pip::verify(&package, &options) {
            // Damaged, and removed by the check: fetched anew below.
            Err(ModelError::Digest { .. }) if !offline => {}
            other => drop(other?),
        }
    }
    let files = source::resolve(model, &options)?;
    drop(options);
    if json {
        return Ok(format!("{:#}\n", files_json(&files, None)));
    }
    Ok(format!("{}\n", files.path().display()))
}

fn show(model: &str, json: bool) -> Result<String, ModelError> {
    let options = FetchOptions { offline: true, ..FetchOptions::default() };
    let card = cards::find(model)?;
    let files = match source::resolve(model, &options) {
        Err(ModelError::OfflineCard { .. } | ModelError::NoSource { .. }) => None,
        // A card can be shown without its files.
        Err(ModelError::OfflineHub { .. }) if card.is_some() => None,
        other => Some(other?),
    };
    let (config, encoder) = match files.as_ref().map(ModelFiles::model_config).transpose() {
        Err(ModelError::Architecture { got, .. }) if EncoderArchitecture::from_class_name(&got).is_some() => {
            (None, EncoderArchitecture::from_class_name(&got))
        }
        other => (other?, None),
    };
    if json {
        let mut value = match &files {
            Some(files) => files_json(files, config.as_ref()),
            None => json!({ "name": model, "path": null }),
        };
        if let Some(encoder) = encoder {
            value["role"] = json!(encoder.role());
        }
        if let Some(card) = &card {
            value["card"] = card_json(card, files.is_some());
        }
        return Ok(format!("{value:#}\n"));
    }
    let mut rows = card.as_ref().map(card_rows).unwrap_or_default();
    match &files {
        Some(files) => {
            rows.push(("path", files.path().display().to_string()));
            if let Some(revision) = &files.revision {
                rows.push(("revision", revision.clone()));
            }
            rows.push(("format", format_name(files).into()));
        }
        None if card.as_ref().is_some_and(|card| card.hub.is_none() && card.package.is_none()) => {
            rows.push(("path", "cannot be fetched; the note says more".into()));
        }
        None => rows.push(("path", format!("not fetched; `veridiff models pull {model}` does"))),
    }
    rows.extend(encoder.filter(|_| card.is_none()).map(|encoder| ("role", encoder.role().name().into())));
    if let Some(config) = &config {
        rows.extend(match config {
            ModelConfig::DecoderOnly(config) => config_rows(config),
            ModelConfig::EncoderDecoder(config) => t5_rows(config),
        });
        rows.push(("scoring", "yes".into()));
        rows.push(("attribution", "yes".into()));
    }
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    Ok(rows.into_iter().map(|(key, value)| format!("{key:width$}  {value}\n")).collect())
}

/// What the card of a built-in model says of it.
fn card_rows(card: &Card) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("id", card.id.clone()),
        ("title", card.title.clone()),
        ("for", card.purpose.clone()),
        ("role", card.role.name().into()),
        ("model type", card.architecture.name().into()),
        ("licence", card.licence.clone()),
    ];
    rows.extend(card.hub.as_ref().map(|hub| ("hub", hub_name(hub))));
    if let Some(package) = &card.package {
        rows.push(("packages", package.packages.join(", ")));
        rows.push(("size", megabytes(package.bytes)));
        rows.push(("sha256", package.sha256.clone()));
    }
    rows.extend(card.note.clone().map(|note| ("note", note)));
    rows
}

fn card_json(card: &Card, cached: bool) -> Value {
    let mut value = json!({
        "id": card.id, "title": card.title, "architecture": card.architecture, "role": card.role,
        "licence": card.licence, "purpose": card.purpose, "note": card.note, "hub": card.hub, "cached": cached,
        "scoring": card.can_score(), "attribution": card.can_score(),
    });
    if let Some(package) = &card.package {
        value["packages"] = json!(package.packages);
        value["bytes"] = json!(package.bytes);
        value["sha256"] = json!(package.sha256);
    }
    value
}

/// Whether a card's files are here; looks nowhere else.
pub(super) fn is_cached(card: &Card, options: &FetchOptions) -> Result<bool, ModelError> {
    match (&card.package, &card.hub) {
        (Some(package), _) => Ok(pip::cached(package, options)?.is_some()),
        // Whatever else is wrong with the hub's cache is told when the model is used.
        (None, Some(hub)) => Ok(hub::snapshot(&hub.repo, hub.revision.as_deref(), options).is_ok()),
        (None, None) => Ok(false),
    }
}

/// Where a card's files come from, with their size if it is known.
fn from(card: &Card) -> String {
    match (&card.package, &card.hub) {
        (Some(package), _) => format!("packages, {}", megabytes(package.bytes)),
        (None, Some(hub)) => hub_name(hub),
        (None, None) => "its authors".into(),
    }
}

fn hub_name(hub: &Hub) -> String {
    hub.revision.as_ref().map_or_else(|| hub.repo.clone(), |revision| format!("{}@{revision}", hub.repo))
}

fn architecture_json(listed: &Listed) -> Value {
    json!({
        "architecture": listed.model_type, "class": listed.class_name, "scoring": true, "attribution": true,
    })
}

fn files_json(files: &ModelFiles, config: Option<&ModelConfig>) -> Value {
    let mut value = json!({
        "name": files.name, "source": files.source, "path": files.path(), "format": format_name(files),
        "revision": files.revision, "sha256": files.sha256,
    });
    if let Some(config) = config {
        value["architecture"] = json!(config.model_type());
        value["scoring"] = json!(true);
        value["attribution"] = json!(true);
        value["config"] = match config {
            ModelConfig::DecoderOnly(config) => config_json(config),
            ModelConfig::EncoderDecoder(config) => t5_json(config),
        };
    }
    value
}

fn config_json(config: &Config) -> Value {
    json!({
        "hidden_size": config.hidden_size, "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads, "head_dim": config.head_dim,
        "vocab_size": config.vocab_size, "max_position_embeddings": config.max_position_embeddings,
        "tie_word_embeddings": config.tie_word_embeddings, "rope_theta": config.rope.theta,
        "rope_type": rope_type(config), "sliding_window": config.sliding_window,
    })
}

fn config_rows(config: &Config) -> Vec<(&'static str, String)> {
    let heads = format!(
        "{} query, {} key and value, {} wide",
        config.num_attention_heads, config.num_key_value_heads, config.head_dim
    );
    let mut rows = vec![
        ("architecture", config.architecture.name().into()),
        ("layers", config.num_hidden_layers.to_string()),
        ("width", format!("{}, feed-forward {}", config.hidden_size, config.intermediate_size)),
        ("heads", heads),
        ("vocabulary", config.vocab_size.to_string()),
        ("positions", config.max_position_embeddings.to_string()),
        ("rotary", format!("base {}, scaling {}", config.rope.theta, rope_type(config))),
        ("head", if config.tie_word_embeddings { "tied to the embedding" } else { "its own" }.into()),
    ];
    rows.extend(
        config.sliding_window.map(|keys| ("window", format!("each token sees the latest {keys}, itself included"))),
    );
    rows
}

fn t5_json(config: &T5Config) -> Value {
    json!({
        "d_model": config.d_model, "d_ff": config.d_ff, "d_kv": config.d_kv, "num_layers": config.num_layers,
        "num_decoder_layers": config.num_decoder_layers, "num_heads": config.num_heads, "vocab_size": config.vocab_size,
        "n_positions": config.n_positions, "tie_word_embeddings": config.tie_word_embeddings,
        "feed_forward": feed_forward(config),
    })
}

fn t5_rows(config: &T5Config) -> Vec<(&'static str, String)> {
    let (encoder, decoder) = (config.num_layers, config.num_decoder_layers);
    vec![
        ("architecture", "T5".into()),
        ("layers", format!("{encoder} of the encoder, {decoder} of the decoder")),
        ("width", format!("{}, feed-forward {} ({})", config.d_model, config.d_ff, feed_forward(config))),
        ("heads", format!("{}, {} wide", config.num_heads, config.d_kv)),
        ("vocabulary", config.vocab_size.to_string()),
        ("positions", format!("{} each of source and text", config.n_positions)),
        ("head", if config.tie_word_embeddings { "tied to the embedding" } else { "its own" }.into()),
    ]
}

fn feed_forward(config: &T5Config) -> &'static str {
    match config.feed_forward {
        FeedForwardKind::Relu => "relu",
        FeedForwardKind::Gated(Gate::GeluNew) => "gated-gelu",
        FeedForwardKind::Gated(Gate::Silu) => "gated-silu",
    }
}

fn rope_type(config: &Config) -> &'static str {
    match config.rope.scaling {
        RopeScaling::None => "default",
        RopeScaling::Linear { .. } => "linear",
        RopeScaling::Llama3 { .. } => "llama3",
    }
}

fn format_name(files: &ModelFiles) -> &'static str {
    match files.layout {
        Layout::Folder { .. } => "safetensors",
        Layout::Gguf { .. } => "GGUF (dequantised as it is used)",
    }
}

fn plain_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    table
}
