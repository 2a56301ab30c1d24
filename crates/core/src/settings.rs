//! What a run computes, and how: the features, the attributed function, the prompt, the budget of tokens and of memory.

use std::{collections::BTreeMap, str::FromStr};

use crate::{
    families::{attention, catalogue::FeatureSet, hidden},
    measurement::TargetRule,
    tokens::{ChangedRule, EncodeOptions, Encoding, Segment},
};
use veridiff_engine::reading::attribution::{AttributedFn, Denominator, Fold};
use veridiff_text::{named, prompt::Template, sample::Task};

/// Which tokens of a text are targets (specification, section 6, question 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Targets {
    /// All that the tokenizer gives: for an encoder-decoder with the special tokens around the text, else without an end.
    #[default]
    All,
    /// Without the special tokens around an encoder-decoder's text, which are read all the same.
    NoSpecial,
    /// All, and a decoder-only model's token for the end behind them; an encoder-decoder's text has one already.
    AppendEos,
}

named!(Targets, "choice of targets", "all" => All, "no-special" => NoSpecial, "append-eos" => AppendEos);

/// What is computed, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The features that are computed.
    pub features: FeatureSet,
    /// The scalar that attribution explains.
    pub attributed_fn: AttributedFn,
    /// How a gradient vector becomes a number.
    pub fold: Fold,
    /// Whether each column of the matrix is divided by its L1 sum.
    pub normalize: bool,
    /// The prompt; where absent by the sample's task, for an encoder-decoder the one it was trained on.
    pub template: Option<Template>,
    /// Which tokens the means are over.
    pub targets: Targets,
    /// What an encoder-decoder's normalised columns are divided by.
    pub denominator: Denominator,
    /// How the attribution to earlier tokens of the text is aggregated.
    pub target_rule: TargetRule,
    /// Token budget and token rules.
    pub encode: EncodeOptions,
    /// Bytes that the process may use, on a GPU those of the device; no bound where absent.
    pub max_memory: Option<u64>,
}

impl Default for Settings {
    /// The core paper's: probability, L2, normalised, the built-in prompt of the task.
    fn default() -> Self {
        Settings {
            features: FeatureSet::default(),
            attributed_fn: AttributedFn::Probability,
            fold: Fold::L2,
            normalize: true,
            template: None,
            targets: Targets::default(),
            denominator: Denominator::default(),
            target_rule: TargetRule::default(),
            encode: EncodeOptions::default(),
            max_memory: None,
        }
    }
}

impl Settings {
    /// Which tokens of the response the means are over.
    pub(crate) fn counted(&self, encoding: &Encoding) -> Vec<bool> {
        let of_response = encoding.segments[encoding.n_prompt..].iter();
        of_response.map(|&segment| !(self.targets == Targets::NoSpecial && segment == Segment::Special)).collect()
    }

    /// The settings that a table's metadata say it was computed with; what they do not say is as by default. A prompt is known by its
    /// hash: one that is not built in must be given again.
    pub fn of_provenance(metadata: &BTreeMap<String, String>) -> Settings {
        let said = |key: &str| metadata.get(key).map(String::as_str);
        fn parsed<T: FromStr>(said: Option<&str>, default: T) -> T {
            said.and_then(|value| value.parse().ok()).unwrap_or(default)
        }
        let default = Settings::default();
        let built_in = said("template").and_then(|name| Template::builtin(name).ok());
        Settings {
            attributed_fn: parsed(said("attributed_fn"), default.attributed_fn),
            fold: parsed(said("fold"), default.fold),
            normalize: parsed(said("normalize"), default.normalize),
            template: built_in.filter(|template| said("template_sha256") == Some(&template.hash())),
            targets: parsed(said("targets"), default.targets),
            denominator: parsed(said("denominator"), default.denominator),
            target_rule: TargetRule {
                start_row: parsed(said("start_row"), default.target_rule.start_row),
                first_target: parsed(said("first_target"), default.target_rule.first_target),
            },
            encode: EncodeOptions {
                max_tokens: said("max_tokens").and_then(|n| n.parse().ok()),
                parse_special: parsed(said("parse_special"), default.encode.parse_special),
                message_prefix: parsed(said("message_prefix"), default.encode.message_prefix),
                ..default.encode
            },
            ..default
        }
    }

    /// The settings as the metadata of a table.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        let templates: Vec<Template> = match &self.template {
            Some(template) => vec![template.clone()],
            None => Task::ALL.into_iter().map(Template::for_task).collect(),
        };
        let join = |of: fn(&Template) -> String| templates.iter().map(of).collect::<Vec<_>>().join(",");
        let mut provenance: BTreeMap<String, String> = [
            ("program", "veridiff".to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("features", self.features.names().collect::<Vec<_>>().join(",")),
            ("template", join(|t| t.name().to_owned())),
            ("template_sha256", join(Template::hash)),
            ("max_tokens", self.encode.max_tokens.map_or("model".to_owned(), |n| n.to_string())),
            ("parse_special", self.encode.parse_special.to_string()),
            ("targets", self.targets.to_string()),
            ("changed_rule", changed_rule(self.encode.changed)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        if self.encode.message_prefix {
            provenance.insert("message_prefix".into(), "true".into());
        }
        let needs = self.features.needs();
        if needs.attention {
            provenance.insert(attention::GROUPS_KEY.into(), attention::groups());
        }
        if needs.hidden {
            provenance.insert(hidden::LAYERS_KEY.into(), hidden::depths());
        }
        if needs.gradients {
            provenance.insert("attribution_method".into(), "input_x_gradient".into());
            provenance.insert("attributed_fn".into(), self.attributed_fn.to_string());
            provenance.insert("fold".into(), self.fold.to_string());
            provenance.insert("normalize".into(), self.normalize.to_string());
            provenance.insert("denominator".into(), self.denominator.to_string());
            provenance.insert("start_row".into(), self.target_rule.start_row.to_string());
            provenance.insert("first_target".into(), self.target_rule.first_target.to_string());
            provenance.insert("scope".into(), "prompt; columns ending in _diff: diff".into());
            // how many targets go together follows from it, and with that the rounding of their gradients
            if let Some(bytes) = self.max_memory {
                provenance.insert("max_memory".into(), bytes.to_string());
            }
        }
        provenance
    }
}

/// The rule's name in metadata.
fn changed_rule(rule: ChangedRule) -> String {
    if rule == ChangedRule::default() { "default".to_owned() } else { format!("{rule:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_metadata_say_is_what_was_set() {
        let default = Settings::default();
        let back = |settings: &Settings| Settings::of_provenance(&settings.provenance()).provenance();
        let same = |settings: Settings| {
            // of which features they are follows from a table's columns
            let of =
                Settings { features: settings.features.clone(), ..Settings::of_provenance(&settings.provenance()) };
            assert_eq!(of.provenance(), settings.provenance());
        };
        assert_eq!(back(&default), default.provenance());
        same(Settings {
            attributed_fn: AttributedFn::Logit,
            fold: Fold::Dot,
            normalize: false,
            template: Some(Template::builtin("raw").unwrap()),
            targets: Targets::AppendEos,
            denominator: Denominator::Source,
            encode: EncodeOptions {
                max_tokens: Some(300),
                parse_special: true,
                message_prefix: true,
                ..EncodeOptions::default()
            },
            ..Settings::default()
        });
        // a prompt that only has the name of a built-in one
        let mut other =
            Settings { template: Some(Template::builtin("raw").unwrap()), ..Settings::default() }.provenance();
        other.insert("template_sha256".into(), "0".into());
        assert!(Settings::of_provenance(&other).template.is_none());
        assert_eq!(Settings::of_provenance(&BTreeMap::new()).provenance(), default.provenance());
    }
}
