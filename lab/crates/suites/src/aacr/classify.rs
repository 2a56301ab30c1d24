//! What kind of problem a comment raises, and what one has to read to judge it, asked of a judge: nobody has said it of what a generator
//! wrote.

use std::collections::BTreeSet;

use veridiff_judge::{backend::Request, recorder::Recorder};

use super::{dataset::Dataset, predictions::Prediction};
use crate::ask::{Prompts, ask};

/// A judge that is asked for the kind of each comment.
#[derive(Debug)]
pub struct Classifier<'a> {
    /// What answers, and where its replies are kept.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// The kinds that the references have.
    pub categories: Vec<String>,
    /// What the references say has to be read.
    pub contexts: Vec<String>,
}

impl<'a> Classifier<'a> {
    /// For comments beside these references.
    pub fn new(recorder: &'a Recorder, prompts: &'a Prompts, dataset: &Dataset) -> Classifier<'a> {
        let named = |of: fn(&super::dataset::Comment) -> &str| -> Vec<String> {
            let all: BTreeSet<&str> = dataset.comments.iter().map(of).filter(|name| !name.is_empty()).collect();
            all.into_iter().map(str::to_owned).collect()
        };
        Classifier {
            recorder,
            prompts,
            categories: named(|comment| &comment.category),
            contexts: named(|comment| &comment.context),
        }
    }

    /// The comment with its kinds; none where the answer names not exactly one of them.
    pub fn classified(&self, prediction: Prediction) -> Prediction {
        let category = self.of("category", &self.categories, &prediction.text);
        let context = self.of("context", &self.contexts, &prediction.text);
        Prediction { category, context, ..prediction }
    }

    fn of(&self, step: &str, names: &[String], text: &str) -> Option<String> {
        let template = self.prompts.step(step);
        let content = template.fill(&[("names", &names.join("\n")), ("comment", text)]);
        let read =
            |answer: &str| named_in(answer, names).ok_or_else(|| "the answer names not exactly one kind".to_owned());
        let request = Request { step: step.to_owned(), ..Request::of_user(content, template.max_output) };
        (names.len() > 1)
            .then(|| ask(self.recorder, &request, |reply| read(&reply.content)).ok())?
            .map(|(name, _)| name)
    }
}

/// The only name that an answer has, in whatever case, behind any thinking.
fn named_in(answer: &str, names: &[String]) -> Option<String> {
    let said = answer.rsplit("</think>").next().unwrap_or(answer).to_lowercase();
    let mut found = names.iter().filter(|name| said.contains(&name.to_lowercase()));
    found.next().filter(|_| found.next().is_none()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_only_name_in_it() {
        let names = ["Code Defect", "Performance"].map(str::to_owned);
        for (answer, want) in [
            ("Code Defect", Some("Code Defect")),
            ("**performance**.", Some("Performance")),
            ("<think>Performance?</think>It is a code defect", Some("Code Defect")),
            ("Code Defect or Performance", None),
            ("Style", None),
        ] {
            assert_eq!(named_in(answer, &names).as_deref(), want, "{answer}");
        }
    }
}
