//! The detectors that ship with the program, by what they judge. They need no training data.

use std::path::Path;

use super::Detector;
use crate::sample::Task;

/// A detector that ships.
struct Shipped {
    name: &'static str,
    task: Task,
    /// Whether it needs attribution.
    is_full: bool,
    content: &'static str,
}

const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "review",
        task: Task::Review,
        is_full: false,
        content: include_str!("../../detectors/review.json"),
    },
    Shipped {
        name: "commit",
        task: Task::Commit,
        is_full: false,
        content: include_str!("../../detectors/commit.json"),
    },
];

impl Shipped {
    fn read(&self) -> Detector {
        let path = Path::new(self.name);
        Detector::from_json(self.content, path).expect("a test reads every detector that ships")
    }
}

/// Names of the detectors that ship.
pub fn names() -> Vec<&'static str> {
    SHIPPED.iter().map(|shipped| shipped.name).collect()
}

/// The detector called `name`, if one ships.
pub fn find(name: &str) -> Option<Detector> {
    SHIPPED.iter().find(|shipped| shipped.name == name).map(Shipped::read)
}

/// The one for texts of a task: with attribution if `full` and there is such a one, else without.
pub fn default_for(task: Task, full: bool) -> Detector {
    let of_task = || SHIPPED.iter().filter(|shipped| shipped.task == task);
    let chosen = of_task().find(|shipped| shipped.is_full == full).or_else(|| of_task().next());
    chosen.expect("a test finds one for every task").read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detector_that_ships_is_whole_and_every_task_has_one() {
        assert_eq!(names().len(), SHIPPED.len());
        for name in names() {
            assert!(!find(name).unwrap().features.is_empty(), "{name}");
        }
        for task in Task::ALL {
            for full in [false, true] {
                assert!(default_for(task, full).training.n_rows > 0);
            }
        }
        assert!(find("no-such").is_none());
    }
}
