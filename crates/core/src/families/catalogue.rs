//! Every feature there is, and those that a run computes.
//!
//! A feature is one number of a sample, or one list of them. Its column is `<feature>@<model>`, where the model is the scorer, the encoder or the
//! classifier that it comes from, or `<feature>` alone if it comes from the texts. Every family is one file beside this one: names,
//! units, meaning, what its columns hang on, what it needs of a scorer, and how it is computed.

use std::sync::LazyLock;

use veridiff_table::catalogue::{Catalogue, Entry, FamilyEntry, feature_of, model_of};
use veridiff_text::choice::{did_you_mean, matches};

use super::{
    FAMILIES, adapter, facts,
    family::{Compute, Family, Feature, Needs, SCORER, TEXT},
    form, grounding, uncertainty,
};
use crate::measurement::Measurement;
use veridiff_facts::case::Case;

/// Every family with its features, in the order of the columns.
static FEATURES: LazyLock<Vec<(&'static Family, Vec<Feature>)>> =
    LazyLock::new(|| FAMILIES.iter().map(|family| (*family, (family.features)())).collect());

/// Every feature there is, in the order of the columns.
fn all_features() -> impl Iterator<Item = &'static Feature> {
    FEATURES.iter().flat_map(|(_, features)| features)
}

/// What every table's feature columns are, for those who read tables.
pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let entry = |feature: &Feature| Entry {
        name: feature.name,
        unit: feature.unit,
        meaning: feature.meaning,
        has_model: feature.has_model(),
        is_list: feature.is_list,
        hangs_on: feature.hangs_on,
    };
    let of = |(family, features): &(&Family, Vec<Feature>)| FamilyEntry {
        name: family.name,
        needs_reference: family.needs_reference,
        entries: features.iter().map(entry).collect(),
    };
    Catalogue::new(FEATURES.iter().map(of).collect())
});

/// The features of a family that a run computes; there is at least one.
#[derive(Debug, Clone)]
struct Chosen {
    family: &'static Family,
    /// Each with its place among the family's features, and so among the values that the family computes.
    features: Vec<(usize, Feature)>,
}

/// The features that a run computes, in the order of the columns.
#[derive(Debug, Clone)]
pub struct FeatureSet(Vec<Chosen>);

impl Default for FeatureSet {
    /// The core paper's features of a scorer.
    fn default() -> Self {
        FeatureSet::of(|family, _| family.is_default)
    }
}

impl FeatureSet {
    /// What serves best for its cost: the scores of one forward pass, and what diff and text say without a model.
    pub fn recommended() -> Self {
        let families = [&uncertainty::FAMILY, &grounding::FAMILY, &facts::FAMILY, &form::FAMILY];
        FeatureSet::of(|family, _| families.iter().any(|recommended| recommended.name == family.name))
    }

    fn of(keep: impl Fn(&Family, &Feature) -> bool) -> Self {
        let of_family = |(family, features): &(&'static Family, Vec<Feature>)| {
            let features = features.iter().copied().enumerate().filter(|(_, feature)| keep(family, feature)).collect();
            Chosen { family, features }
        };
        FeatureSet(FEATURES.iter().map(of_family).filter(|chosen| !chosen.features.is_empty()).collect())
    }

    /// The features that `names` choose, in any order: families, single features, or patterns of features of scorers and texts, in
    /// which `*` is any run of letters.
    ///
    /// # Errors
    /// The first name that none has, with the list of known ones.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownFeature> {
        let chooses = |name: &str, family: &Family, feature: &Feature| {
            let is_of_pattern = || [SCORER, TEXT].contains(&feature.source) && matches(name, feature.name);
            if name.contains('*') { is_of_pattern() } else { name == family.name || name == feature.name }
        };
        for name in names.iter().map(AsRef::as_ref) {
            let mut all = FEATURES.iter().flat_map(|(family, features)| features.iter().map(move |one| (*family, one)));
            if !all.any(|(family, feature)| chooses(name, family, feature)) {
                return Err(UnknownFeature { name: name.chars().take(LONGEST_QUOTE).collect() });
            }
        }
        let is_chosen =
            |family: &Family, feature: &Feature| names.iter().any(|name| chooses(name.as_ref(), family, feature));
        Ok(FeatureSet::of(is_chosen))
    }

    /// All that diff and text give without a model.
    pub fn plain() -> Self {
        FeatureSet::of(|_, feature| feature.source == TEXT)
    }

    /// Whether any of them comes from a kind of source.
    pub fn needs_source(&self, source: &str) -> bool {
        self.names_from(source).next().is_some()
    }

    /// The names of those that come from a kind of source.
    pub fn names_from<'a>(&'a self, source: &'a str) -> impl Iterator<Item = &'static str> + 'a {
        self.features().filter(move |feature| feature.source == source).map(|feature| feature.name)
    }

    /// Whether any of them needs gradients.
    pub fn needs_attribution(&self) -> bool {
        self.needs().gradients
    }

    /// Whether any of them is of a family.
    pub fn has(&self, family: &Family) -> bool {
        self.0.iter().any(|chosen| chosen.family.name == family.name)
    }

    /// What they need of a scorer, all together.
    pub fn needs(&self) -> Needs {
        let of = |chosen: &Chosen| match chosen.family.compute {
            Compute::Reading { needs, .. } | Compute::Lists { needs, .. } => {
                needs(&chosen.features.iter().map(|(_, feature)| feature.name).collect::<Vec<_>>())
            }
            Compute::Text(_) | Compute::Source => Needs::default(),
        };
        self.0.iter().map(of).fold(Needs::default(), Needs::and)
    }

    /// Whether the model itself reads a sample for them: not where all that they want of a scorer is what its adapter answers.
    pub fn needs_likelihood(&self) -> bool {
        let is_of_model = |chosen: &Chosen| match chosen.family.compute {
            Compute::Reading { .. } | Compute::Lists { .. } => chosen.family.name != adapter::FAMILY.name,
            Compute::Text(_) | Compute::Source => false,
        };
        !self.has(&adapter::FAMILY) || self.0.iter().any(is_of_model)
    }

    /// Names and values of a scorer's features of a case; `None` where it has none.
    pub fn values(&self, measurement: &Measurement) -> Vec<(&'static str, Option<f64>)> {
        self.computed(|family| match family.compute {
            Compute::Reading { measure, .. } => measure(measurement),
            Compute::Lists { .. } | Compute::Text(_) | Compute::Source => Vec::new(),
        })
    }

    /// Names and values of a scorer's features of a case that are lists.
    pub fn lists(&self, measurement: &Measurement) -> Vec<(&'static str, Vec<f64>)> {
        self.computed(|family| match family.compute {
            Compute::Lists { measure, .. } => measure(measurement),
            Compute::Reading { .. } | Compute::Text(_) | Compute::Source => Vec::new(),
        })
    }

    /// The first of them that is a list, which not every table can hold.
    pub fn first_list(&self) -> Option<&'static str> {
        self.features().find(|feature| feature.is_list).map(|feature| feature.name)
    }

    /// Names and values of those that diff and text give without a model.
    pub fn plain_values(&self, case: &Case) -> Vec<(&'static str, f64)> {
        self.computed(|family| match family.compute {
            Compute::Text(measure) => measure(case),
            Compute::Reading { .. } | Compute::Lists { .. } | Compute::Source => Vec::new(),
        })
    }

    /// The chosen ones among what `compute` gives for each family: a value for each of its features, or none at all.
    fn computed<V: Clone>(&self, compute: impl Fn(&Family) -> Vec<V>) -> Vec<(&'static str, V)> {
        let mut values = Vec::new();
        for Chosen { family, features } in &self.0 {
            let of_family = compute(family);
            let value = |(place, feature): &(usize, Feature)| Some((feature.name, of_family.get(*place)?.clone()));
            values.extend(features.iter().filter_map(value));
        }
        values
    }

    fn features(&self) -> impl Iterator<Item = &Feature> {
        self.0.iter().flat_map(|chosen| &chosen.features).map(|(_, feature)| feature)
    }

    /// The numbers among these columns of a table that the scorer `model` gives.
    pub fn of_scorer<S: AsRef<str>>(columns: &[S], model: &str) -> Self {
        let of_model = |column: &&str| model_of(column) == Some(model);
        let names: Vec<&str> = columns.iter().map(AsRef::as_ref).filter(of_model).map(feature_of).collect();
        FeatureSet::of(|_, feature| feature.source == SCORER && !feature.is_list && names.contains(&feature.name))
    }

    /// These and those.
    pub fn and(&self, those: &FeatureSet) -> FeatureSet {
        FeatureSet::of(|_, feature| self.names().chain(those.names()).any(|name| name == feature.name))
    }

    /// These and every feature of another family.
    pub fn with(&self, family: &Family) -> FeatureSet {
        let mine = |feature: &Feature| self.names().any(|mine| mine == feature.name);
        FeatureSet::of(|of, feature| of.name == family.name || mine(feature))
    }

    /// All of these but the one of that name.
    pub fn without(&self, name: &str) -> FeatureSet {
        FeatureSet::of(|_, feature| feature.name != name && self.names().any(|mine| mine == feature.name))
    }

    /// Their names, in the order of the columns.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.features().map(|feature| feature.name)
    }
}

/// Letters of a name that nothing has which are repeated to whoever sent it.
const LONGEST_QUOTE: usize = 80;

/// A feature name that is in no family.
#[derive(Debug, thiserror::Error)]
#[error("unknown feature `{name}`")]
pub struct UnknownFeature {
    /// The name as it was asked for.
    pub name: String,
}

impl UnknownFeature {
    /// What was probably meant; else the families, and where the features are listed.
    pub fn hint(&self) -> String {
        let families: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        let features = all_features().map(|feature| feature.name);
        did_you_mean(&self.name, families.iter().copied().chain(features)).unwrap_or_else(|| {
            format!("give families ({}) or single features of them (docs/tables.md)", families.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use veridiff_detector::SettingKeys;

    use super::*;
    use crate::families::{
        family::REFERENCES,
        reference::{self, BLEU4, NLI_ENTAILMENT},
        similarity::{self, ENCODER},
    };
    use crate::side::PromptSide;

    #[test]
    fn families_and_names_choose_in_column_order() {
        let set = FeatureSet::parse(&["attr_changed", "uncertainty"]).unwrap();
        assert_eq!(set.names().collect::<Vec<_>>(), ["logprob", "logit", "probability", "entropy", "attr_changed"]);
        assert!(set.needs_attribution());
        assert!(!FeatureSet::parse(&["uncertainty"]).unwrap().needs_attribution());
        let old = FeatureSet::parse(&["logprob", "contrast_old_*"]).unwrap();
        assert!(old.names().count() == 11 && old.names().skip(1).all(|name| name.starts_with("contrast_old_")));
        assert_eq!(old.needs().sides, [PromptSide::Old]);
        // a pattern is of features, not of families, and of those of scorers and texts
        assert!(FeatureSet::parse(&["*on*"]).unwrap().names().all(|name| name.contains("on")));
        assert!(!FeatureSet::parse(&["*"]).unwrap().needs_source(REFERENCES));
        assert!(FeatureSet::parse(&["contrast_older_*"]).is_err() && FeatureSet::parse(&["bleu*"]).is_err());
        let error = FeatureSet::parse(&["entropi"]).unwrap_err();
        assert_eq!(
            (error.to_string(), error.hint()),
            ("unknown feature `entropi`".into(), "did you mean `entropy`?".into())
        );
        let error = FeatureSet::parse(&["speed"]).unwrap_err();
        assert!(error.hint().starts_with("give families (uncertainty, attribution,"), "{}", error.hint());
    }

    #[test]
    fn the_default_is_what_a_scorer_gives_and_families_can_be_added() {
        let scorer = FeatureSet::default();
        assert!(scorer.needs_source(SCORER) && !scorer.needs_source(ENCODER) && !scorer.needs_source(TEXT));
        let all = scorer.with(&reference::FAMILY).with(&similarity::FAMILY);
        let core = ["uncertainty", "attribution", "similarity", "reference"];
        assert_eq!(all.names().collect::<Vec<_>>(), FeatureSet::parse(&core).unwrap().names().collect::<Vec<_>>());
        assert_eq!(all.names_from(SCORER).collect::<Vec<_>>(), scorer.names().collect::<Vec<_>>());
        let columns =
            ["contrast_old_most@m", "ground_words", "bleu4", "unknown@m", "attr_changed@other", "hidden_mean@m[3]"];
        let of_detector = FeatureSet::of_scorer(&columns, "m");
        assert_eq!(scorer.and(&of_detector).names().last(), Some("contrast_old_most"));
        assert_eq!(of_detector.names().count(), 1);
        let bleu = FeatureSet::parse(&["reference"]).unwrap().without(NLI_ENTAILMENT);
        assert_eq!(bleu.names().collect::<Vec<_>>(), [BLEU4]);
        assert!(bleu.needs_source(REFERENCES) && !bleu.needs_source(SCORER));
        assert!(CATALOGUE.is_plain_feature(BLEU4) && !CATALOGUE.is_plain_feature("logprob"));
    }

    #[test]
    fn families_say_what_they_need() {
        let needs = |names: &[&str]| FeatureSet::parse(names).unwrap().needs();
        assert_eq!(needs(&["uncertainty", "grounding", "similarity"]), Needs::default());
        assert_eq!(needs(&["shape_rank"]), Needs { ranks: true, ..Needs::default() });
        assert_eq!(needs(&["lines_top"]), Needs { gradients: true, ..Needs::default() });
        let sides = [PromptSide::NoDiff, PromptSide::Old].to_vec();
        assert_eq!(needs(&["contrast_old_logit", "contrast_none_gain"]), Needs { sides, ..Needs::default() });
        assert_eq!(needs(&["contrast"]).sides, PromptSide::ALL);
        assert_eq!(needs(&["attention_text"]), Needs { attention: true, ..Needs::default() });
        assert_eq!(needs(&["hidden"]), Needs { hidden: true, ..Needs::default() });
    }

    /// A detector must not take a table whose numbers mean something else.
    #[test]
    fn every_feature_hangs_on_what_makes_its_column() {
        let keys = |column: &str| SettingKeys::of([column], &CATALOGUE).meaning;
        let has = |column: &str, key: &str| keys(column).contains(&key.to_owned());
        for column in ["logprob@m", "shape_margin@m", "contrast_none_logprob@m", "lines_entropy@m", "attr_source@m"] {
            assert!(has(column, "weights@m") && has(column, "template_sha256") && has(column, "own_template@m"));
            let by_gradients = column.starts_with("lines_") || column.starts_with("attr_");
            assert_eq!(has(column, "first_target"), by_gradients, "{column}");
            assert!(!has(column, "grounding"), "{column}");
        }
        assert_eq!(keys("ground_words"), ["grounding"]);
        assert_eq!(keys("form_words"), ["grounding"]);
        assert_eq!(keys("similarity@e"), ["weights@e", "pooling@e"]);
        // probabilities and raw logits of one classifier, and the variants of BLEU-4, are different numbers
        assert_eq!(keys("nli_entailment@c"), ["weights@c", "score@c"]);
        assert_eq!(keys("bleu4"), ["bleu4"]);
        for feature in all_features() {
            assert!(!feature.hangs_on.is_empty(), "{} hangs on nothing", feature.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<&str> = all_features().map(|feature| feature.name).collect();
        names.extend(FAMILIES.iter().map(|family| family.name).filter(|name| *name != "similarity"));
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
    }
}
