//! Settings, features and models that go by one name.

use crate::{families::reference::bleu::Bleu, settings::Settings};
use veridiff_engine::reading::attribution::{AttributedFn, Fold};

/// What one name stands for. What a user gives beside it wins.
#[derive(Debug)]
pub struct Preset {
    /// The name that `--preset` chooses it by.
    pub name: &'static str,
    /// What the preset computes, in a line for a person.
    pub meaning: &'static str,
    /// The scalar that attribution explains.
    pub attributed_fn: AttributedFn,
    /// How a gradient vector becomes a number.
    pub fold: Fold,
    /// Whether each column of the attribution matrix is divided by its L1 sum.
    pub normalize: bool,
    /// Which columns a table has; none for a preset that is about attribution alone.
    pub columns: Option<Columns>,
}

/// Features, and the models that they come from.
#[derive(Debug)]
pub struct Columns {
    /// Features or families, by name.
    pub features: &'static [&'static str],
    /// Scorers, by the ids of their cards.
    pub models: &'static [&'static str],
    /// Encoders, by the ids of their cards.
    pub encoders: &'static [&'static str],
    /// Classifiers, by the ids of their cards.
    pub classifiers: &'static [&'static str],
    /// The variant of BLEU-4 that its column holds.
    pub bleu: Bleu,
}

/// Every preset, the default first.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "paper",
        meaning: "attribution as in the core paper: to the probability, by the L2 norm, normalised",
        attributed_fn: AttributedFn::Probability,
        fold: Fold::L2,
        normalize: true,
        columns: None,
    },
    Preset {
        name: "raw",
        meaning: "attribution that adds up: to the log-probability, by the dot product, not normalised",
        attributed_fn: AttributedFn::LogProb,
        fold: Fold::Dot,
        normalize: false,
        columns: None,
    },
    Preset {
        name: "paper-26",
        meaning: "the core paper's 26 metrics: 7 of each of three scorers, 3 similarities, BLEU-4 and entailment",
        attributed_fn: AttributedFn::Probability,
        fold: Fold::L2,
        normalize: true,
        columns: Some(Columns {
            features: &[
                "logprob",
                "logit",
                "entropy",
                "attr_source",
                "attr_target",
                "attr_changed",
                "attr_unchanged",
                "similarity",
                "bleu4",
                "nli_entailment",
            ],
            models: &["llama-3.1-8b-instruct", "qwen2.5-7b-instruct", "cct5"],
            encoders: &["codebert", "codet5p-220m-bimodal", "codet5p-770m"],
            classifiers: &["nli-deberta-v3-base"],
            bleu: Bleu::CodeReviewer,
        }),
    },
];

/// The names of all presets, in the order of the documentation.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// A name that no preset has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset `{name}`; one of {}", names().collect::<Vec<_>>().join(", "))]
pub struct UnknownPreset {
    /// The name as it was asked for.
    pub name: String,
}

/// The preset called `name`.
///
/// # Errors
/// [`UnknownPreset`], with the names there are.
pub fn find(name: &str) -> Result<&'static Preset, UnknownPreset> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| UnknownPreset { name: name.to_owned() })
}

impl Preset {
    /// The settings that a user's own are applied to: the preset's for attribution, the defaults for the rest.
    pub fn settings(&self) -> Settings {
        let Preset { attributed_fn, fold, normalize, .. } = *self;
        Settings { attributed_fn, fold, normalize, ..Settings::default() }
    }
}

/// The models to use: the preset's, each replaced by the `NAME=SOURCE` given for its name; if anything else is given,
/// what is given and nothing of the preset's.
pub fn models(preset: &[&str], given: &[String]) -> Vec<String> {
    let name = |spec: &String| spec.split_once('=').map(|(name, _)| name.to_owned());
    let replaces = |spec: &String| name(spec).is_some_and(|name| preset.contains(&name.as_str()));
    if !given.iter().all(replaces) {
        return given.to_vec();
    }
    let chosen = |card: &&str| given.iter().rev().find(|spec| name(spec).as_deref() == Some(*card)).cloned();
    preset.iter().map(|card| chosen(card).unwrap_or_else(|| (*card).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue::FeatureSet;
    use crate::families::family::SCORER;
    use veridiff_engine::files::cards::{self, Role};

    #[test]
    fn presets_name_what_there_is() {
        for columns in PRESETS.iter().filter_map(|preset| preset.columns.as_ref()) {
            FeatureSet::parse(columns.features).unwrap();
            for (ids, role) in [
                (columns.models, Role::Scorer),
                (columns.encoders, Role::Encoder),
                (columns.classifiers, Role::Classifier),
            ] {
                for id in ids {
                    assert_eq!(cards::find(id).unwrap().unwrap().role, role, "{id}");
                }
            }
        }
    }

    #[test]
    fn the_papers_set_has_26() {
        let paper = find("paper-26").unwrap().columns.as_ref().unwrap();
        let features = FeatureSet::parse(paper.features).unwrap();
        assert_eq!(features.names_from(SCORER).count() * paper.models.len() + paper.encoders.len() + 1 + 1, 26);
        let error = find("paper-27").unwrap_err().to_string();
        assert_eq!(error, "unknown preset `paper-27`; one of paper, raw, paper-26");
    }

    #[test]
    fn the_papers_attribution_is_the_default() {
        let (paper, default) = (find("paper").unwrap().settings(), Settings::default());
        assert_eq!(paper.provenance(), default.provenance());
        let raw = find("raw").unwrap().settings();
        assert_eq!((raw.attributed_fn, raw.fold, raw.normalize), (AttributedFn::LogProb, Fold::Dot, false));
    }

    #[test]
    fn what_is_given_replaces_its_namesake_or_everything() {
        let given = |specs: &[&str]| specs.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let preset = ["a", "b"];
        assert_eq!(models(&preset, &[]), ["a", "b"]);
        assert_eq!(models(&preset, &given(&["b=dir"])), ["a", "b=dir"]);
        assert_eq!(models(&preset, &given(&["b=dir", "c"])), ["b=dir", "c"]);
        assert_eq!(models(&preset, &given(&["c=dir"])), ["c=dir"]);
        assert_eq!(models(&preset, &given(&["a"])), ["a"]);
    }
}
