//! Named sets of features and models.

use crate::families::reference::bleu::Bleu;

/// What one name stands for. What a user gives beside it wins.
#[derive(Debug)]
pub struct Preset {
    /// The name a user types.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Features, by name.
    pub features: &'static [&'static str],
    /// Scorers, by card.
    pub models: &'static [&'static str],
    /// Encoders, by card.
    pub encoders: &'static [&'static str],
    /// Classifiers, by card.
    pub classifiers: &'static [&'static str],
    /// Which BLEU-4.
    pub bleu: Bleu,
}

/// Every preset of features and models. (`paper` and `raw` are settings of attribution only.)
pub const PRESETS: &[Preset] = &[Preset {
    name: "paper-26",
    meaning: "the core paper's 26 metrics: 7 of each of three scorers, 3 similarities, BLEU-4 and entailment",
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
}];

/// The preset called `name`, if there is one.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
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
    use crate::families::catalogue::{FeatureSet, SCORER};
    use veridiff_engine::files::cards::{self, Role};

    #[test]
    fn presets_name_what_there_is() {
        for preset in PRESETS {
            FeatureSet::parse(preset.features).unwrap();
            for (ids, role) in [
                (preset.models, Role::Scorer),
                (preset.encoders, Role::Encoder),
                (preset.classifiers, Role::Classifier),
            ] {
                for id in ids {
                    assert_eq!(cards::find(id).unwrap().unwrap().role, role, "{id}");
                }
            }
        }
    }

    #[test]
    fn the_papers_set_has_26() {
        let paper = find("paper-26").unwrap();
        let features = FeatureSet::parse(paper.features).unwrap();
        assert_eq!(features.names_from(SCORER).count() * paper.models.len() + paper.encoders.len() + 1 + 1, 26);
        assert!(find("paper-27").is_none());
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
