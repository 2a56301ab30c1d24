//! The detectors that ship with the program, by what they judge. They need no training data.

use std::path::Path;

use crate::Detector;
use veridiff_text::sample::Task;

/// A detector that ships.
struct Shipped {
    name: &'static str,
    task: Task,
    content: &'static str,
}

const SHIPPED: &[Shipped] = &[
    Shipped { name: "review", task: Task::Review, content: include_str!("../../../../detectors/review.json") },
    Shipped { name: "truth", task: Task::Commit, content: include_str!("../../../../detectors/truth.json") },
    // behind `truth`, which judges where none is named: it finds less, and needs no model
    Shipped { name: "commit", task: Task::Commit, content: include_str!("../../../../detectors/commit.json") },
    // it finds more than `truth`, by a model of eleven times the size
    Shipped { name: "deep", task: Task::Commit, content: include_str!("../../../../detectors/deep.json") },
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

/// The one for texts of a task.
pub fn default_for(task: Task) -> Detector {
    of_task(task).read()
}

/// The name of the one for texts of a task.
pub fn default_name(task: Task) -> &'static str {
    of_task(task).name
}

fn of_task(task: Task) -> &'static Shipped {
    SHIPPED.iter().find(|shipped| shipped.task == task).expect("a test finds one for every task")
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
            assert!(default_for(task).training.n_rows > 0);
        }
        assert!(find("no-such").is_none());
    }
}
