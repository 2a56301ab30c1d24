//! How often each outcome is, by generator: the core paper's table 3.

use serde::Serialize;

use super::{Outcome, SettledSample, Settlement};
use veridiff_detector::{Interval, proportion_interval};
use veridiff_text::sample::Task;

/// How many of some samples something holds for, as a share of them with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// How many samples it holds for.
    pub n: usize,
    /// `n` over all samples, 0 to 1; null of no samples.
    pub share: Option<f64>,
    /// 95% by Wilson's method, for independent samples.
    pub interval: Option<Interval>,
}

impl Share {
    fn of(n: usize, whole: usize) -> Share {
        Share { n, share: (whole > 0).then(|| n as f64 / whole as f64), interval: proportion_interval(n, whole) }
    }
}

/// The outcomes of one generator's texts, or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorPrevalence {
    /// The generator; null for texts of none that is known. Absent where all are together.
    #[serde(skip_serializing_if = "Who::is_all")]
    pub generator: Who,
    /// Samples with a settled outcome.
    pub n: usize,
    /// One entry for each of [`Outcome::ALL`].
    pub types: Vec<TypeShare>,
    /// The share of samples that have any of the five types of hallucination.
    pub hallucination: Share,
}

/// The system whose texts are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Who {
    /// This generator's, or those of none that is known.
    Generator(Option<String>),
    /// The texts of all systems together.
    All,
}

impl Who {
    fn is_all(&self) -> bool {
        *self == Who::All
    }

    /// The system's name as it heads a column.
    pub fn name(&self) -> &str {
        match self {
            Who::Generator(name) => name.as_deref().unwrap_or("(none)"),
            Who::All => "all",
        }
    }
}

/// How often one outcome of the tree is found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TypeShare {
    /// The heading under which the core paper lists the outcome.
    pub category: &'static str,
    /// The outcome that is counted.
    #[serde(rename = "type")]
    pub outcome: Outcome,
    /// How many samples have the outcome, as a share of all of them.
    #[serde(flatten)]
    pub share: Share,
}

/// The outcomes of one task's texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskPrevalence {
    /// The task's name: `review` or `commit`.
    pub task: &'static str,
    /// One entry for each generator, sorted by name.
    pub generators: Vec<GeneratorPrevalence>,
    /// All generators together, each sample counting once.
    pub all: GeneratorPrevalence,
    /// Samples left out because the annotators differ.
    pub n_disputed: usize,
}

/// Counts outcomes, for every task that has samples.
pub fn prevalence(samples: &[SettledSample]) -> Vec<TaskPrevalence> {
    let of_task = |task: Task| {
        let samples: Vec<&SettledSample> = samples.iter().filter(|sample| sample.task == task).collect();
        let outcomes: Vec<(&Option<String>, Outcome)> = samples
            .iter()
            .filter_map(|sample| match sample.settlement {
                Settlement::Settled(outcome) => Some((&sample.generator, outcome)),
                Settlement::TypeDisputed { .. } | Settlement::Disputed { .. } => None,
            })
            .collect();
        let mut generators: Vec<&Option<String>> = samples.iter().map(|sample| &sample.generator).collect();
        generators.sort_unstable();
        generators.dedup();
        let of_generator = |generator: &Option<String>| {
            let own = outcomes.iter().filter(|(of, _)| *of == generator).map(|(_, outcome)| *outcome);
            shares(Who::Generator(generator.clone()), &own.collect::<Vec<_>>())
        };
        let all: Vec<Outcome> = outcomes.iter().map(|(_, outcome)| *outcome).collect();
        (!samples.is_empty()).then(|| TaskPrevalence {
            task: task.name(),
            generators: generators.into_iter().map(of_generator).collect(),
            all: shares(Who::All, &all),
            n_disputed: samples.len() - outcomes.len(),
        })
    };
    Task::ALL.into_iter().filter_map(of_task).collect()
}

fn shares(generator: Who, outcomes: &[Outcome]) -> GeneratorPrevalence {
    let n = outcomes.len();
    let share = |keep: &dyn Fn(Outcome) -> bool| Share::of(outcomes.iter().filter(|o| keep(**o)).count(), n);
    let of = |outcome: Outcome| TypeShare {
        category: outcome.category().name(),
        outcome,
        share: share(&|other| other == outcome),
    };
    let hallucination = share(&|outcome| outcome.label() == Some(true));
    GeneratorPrevalence { generator, n, types: Outcome::ALL.map(of).to_vec(), hallucination }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(id: usize, task: Task, generator: Option<&str>, settlement: Settlement) -> SettledSample {
        let generator = generator.map(str::to_owned);
        SettledSample { id: id.to_string(), task, generator, texts: String::new(), settlement, answers: Vec::new() }
    }

    #[test]
    fn shares_add_up_and_disputes_are_left_out() {
        use Outcome::*;
        let mut samples: Vec<SettledSample> = [Others, Others, Informative, Unsure]
            .into_iter()
            .enumerate()
            .map(|(i, outcome)| sample(i, Task::Review, Some("b"), Settlement::Settled(outcome)))
            .collect();
        samples.push(sample(9, Task::Review, Some("a"), Settlement::Disputed { types: vec![Unsure, Others] }));
        samples.push(sample(10, Task::Commit, None, Settlement::Settled(LogicInconsistency)));
        let got = prevalence(&samples);
        assert_eq!(
            got.iter().map(|task| (task.task, task.all.n, task.n_disputed)).collect::<Vec<_>>(),
            [("review", 4, 1), ("commit", 1, 0)]
        );
        let names: Vec<(&str, usize)> = got[0].generators.iter().map(|g| (g.generator.name(), g.n)).collect();
        assert_eq!(names, [("a", 0), ("b", 4)]);
        let all = &got[0].all;
        assert_eq!((all.hallucination.n, all.hallucination.share), (2, Some(0.5)));
        assert_eq!(all.types.iter().map(|t| t.share.n).sum::<usize>(), 4);
        assert_eq!(got[0].generators[0].hallucination, Share { n: 0, share: None, interval: None });
        let json = serde_json::to_value(&got[1]).unwrap();
        assert_eq!(json["generators"][0]["generator"], serde_json::Value::Null);
        assert_eq!(json["generators"][0]["types"][5]["type"], "logic inconsistency");
        assert!(json["all"].get("generator").is_none(), "{json}");
    }
}
