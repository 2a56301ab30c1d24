//! What a run would ask, without asking it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    backend::{Abilities, Backend, GivenText, Probabilities, Reply, Request},
    failure::{Failure, Kind},
};

/// The requests of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// How many there are.
    pub calls: u64,
    /// Bytes of their messages.
    pub n_bytes: u64,
    /// Tokens that may be written at most.
    pub most_output: u64,
    /// One of them: the one with the fewest bytes, of several the first by its letters.
    pub example: Request,
}

/// Requests by their steps.
#[derive(Debug, Default)]
pub struct Plan(Mutex<BTreeMap<String, PlannedStep>>);

impl Plan {
    fn steps_now(&self) -> MutexGuard<'_, BTreeMap<String, PlannedStep>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked so far.
    pub fn steps(&self) -> BTreeMap<String, PlannedStep> {
        self.steps_now().clone()
    }

    fn add(&self, request: &Request) {
        let said = |request: &Request| -> (usize, Vec<String>) {
            (request.n_bytes(), request.messages.iter().map(|message| message.content.clone()).collect())
        };
        let mut steps = self.steps_now();
        let step = steps.entry(request.step.clone()).or_insert_with(|| PlannedStep {
            calls: 0,
            n_bytes: 0,
            most_output: 0,
            example: request.clone(),
        });
        step.calls += 1;
        step.n_bytes += request.n_bytes() as u64;
        step.most_output += u64::from(request.max_output);
        // whichever thread comes first, the same one is shown
        if request.n_bytes() <= step.example.n_bytes() && said(request) < said(&step.example) {
            step.example = request.clone();
        }
    }
}

/// A backend that answers nothing and notes what it is asked.
#[derive(Debug)]
pub struct Planner(pub Arc<Plan>);

impl Planner {
    fn noted<T>(&self, request: &Request) -> Result<T, Failure> {
        self.0.add(request);
        Err(Failure::new(Kind::Stopped, "requests are only counted"))
    }
}

impl Backend for Planner {
    fn identity(&self) -> BTreeMap<String, String> {
        [("backend".to_owned(), "plan".to_owned())].into()
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        self.noted(request)
    }

    fn choose(&self, request: &Request, _: &str, _: &[String]) -> Result<Probabilities, Failure> {
        self.noted(request)
    }

    fn log_probs(&self, prompt: &str, _: &str) -> Result<GivenText, Failure> {
        self.noted(&Request::of_user(prompt, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_their_steps_in_any_order() {
        let ask = |order: [&str; 3]| {
            let plan = Arc::new(Plan::default());
            let planner = Planner(plan.clone());
            for text in order {
                let request = Request { step: "one".into(), ..Request::of_user(text, 10) };
                assert_eq!(planner.complete(&request).unwrap_err().kind, Kind::Stopped);
            }
            assert!(planner.choose(&Request::of_user("??", 1), "", &[]).is_err());
            plan.steps()
        };
        let steps = ask(["b", "a", "ccc"]);
        assert_eq!(steps, ask(["ccc", "a", "b"]));
        let one = &steps["one"];
        assert_eq!((one.calls, one.n_bytes, one.most_output), (3, 5, 30));
        assert_eq!(one.example.messages[0].content, "a");
        assert_eq!(steps[""].calls, 1);
    }
}
