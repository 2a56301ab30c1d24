//! Encoders, classifiers and BLEU, as the command line names them.

use std::{path::PathBuf, sync::Arc};

use veridiff_core::{
    families::reference::{bleu::Bleu, entailment::EntailmentScore},
    run::references::{PoolingChoice, ReferenceError, References},
};

use super::{choice, execution::executions_in};
use crate::cli::terminal::UsageError;

/// The heading of these options.
const REFERENCES: &str = "Similarity and references";

/// Encoders, classifiers and BLEU.
#[derive(Debug, Clone, clap::Args)]
pub struct ReferenceArgs {
    /// Embedding model that compares text and diff; named as for --model, repeatable
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "MODEL")]
    encoder: Vec<String>,
    /// How an encoder's states become one vector: first, mean, mean-no-special, pooler or projection; ENCODER=POOLING is
    /// for one of them [default: the model's own]
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "POOLING")]
    pooling: Vec<PoolingChoice>,
    /// Classifier that says whether the reference entails the text; named as for --model, repeatable
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "MODEL")]
    classifier: Vec<String>,
    /// Which of a classifier's numbers [default: probability]
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "SCORE", value_parser = choice::<EntailmentScore>(EntailmentScore::NAMES))]
    entailment: Option<EntailmentScore>,
    /// BLEU-4 variant: codereviewer, sacrebleu or nltk; settings follow after colons [default: codereviewer]
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "VARIANT")]
    bleu: Option<Bleu>,
    /// What `verify` wrote about programs, joined by the ids of the samples: the features of the family execution
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "FILE")]
    execution: Option<PathBuf>,
    /// Texts that go through an encoder or classifier together; more than 1 is faster on a GPU and agrees within 1e-5,
    /// not to the byte
    #[arg(long, help_heading = REFERENCES, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    encoder_batch: u16,
}

impl ReferenceArgs {
    /// As the library takes them; what `verify` wrote is read.
    pub fn references(&self) -> anyhow::Result<References> {
        let executions = self.execution.as_deref().map(executions_in).transpose()?;
        Ok(References {
            encoders: self.encoder.clone(),
            poolings: self.pooling.clone(),
            classifiers: self.classifier.clone(),
            entailment: self.entailment,
            bleu: self.bleu,
            batch: usize::from(self.encoder_batch),
            executions: executions.map(Arc::new),
        })
    }
}

/// The same error, with the options' names.
pub fn in_options(error: ReferenceError) -> anyhow::Error {
    let hint = error.hint().unwrap_or_default();
    match error {
        ReferenceError::NoModel { feature, role, .. } => {
            let article = if role == "encoder" { "an" } else { "a" };
            UsageError::error(format!("`{feature}` needs {article} --{role}"), hint)
        }
        ReferenceError::Unused { given, feature } => UsageError::error(
            format!("--{given} is given, but no chosen feature uses it"),
            format!("add `{feature}` to --features, or leave --{given} out"),
        ),
        ReferenceError::NoExecutions { feature } => UsageError::error(format!("`{feature}` needs --execution"), hint),
        ReferenceError::NoEncoder { encoder, .. } => {
            UsageError::error(format!("--pooling {encoder}=…: no encoder is called `{encoder}`"), hint)
        }
        other => other.into(),
    }
}
