//! Newton's method with steps that are halved until they help.

/// How often a step is halved before it is given up: less than a billionth of it is left then.
const MAX_HALVINGS: i32 = 30;

/// A smooth function with one best point, as Newton's method sees it.
pub(crate) trait Objective {
    /// Weights, and what is known at them.
    type Point;

    /// A change of the weights, and what is known of it.
    type Step;

    /// Why the method ends before its steps are used up.
    type End;

    /// Newton's step from a point, or why there is none to take.
    fn step(&self, at: &Self::Point) -> Result<Self::Step, Self::End>;

    /// The point that lies this fraction, up to 1, of a step further, if it is better.
    fn better(&self, at: &Self::Point, step: &Self::Step, fraction: f64) -> Option<Self::Point>;

    /// Whether the point that a step led to is near enough to the best one.
    fn arrived(&self, step: &Self::Step) -> Option<Self::End>;
}

/// Where Newton's method ended, and how.
pub(crate) struct Ended<O: Objective> {
    /// The best point it saw.
    pub(crate) point: O::Point,
    /// The last step that there was.
    pub(crate) step: Option<O::Step>,
    /// How many steps were taken.
    pub(crate) n_steps: usize,
    /// None when the steps were used up, or when no fraction of the last one helped.
    pub(crate) end: Option<O::End>,
}

/// Takes at most `max_steps` steps from `point`.
pub(crate) fn newton<O: Objective>(objective: &O, mut point: O::Point, max_steps: usize) -> Ended<O> {
    let (mut last, mut n_steps) = (None, 0);
    let mut end = None;
    while n_steps < max_steps && end.is_none() {
        let step = match objective.step(&point) {
            Ok(step) => last.insert(step),
            Err(why) => {
                end = Some(why);
                break;
            }
        };
        let mut fractions = (0..MAX_HALVINGS).map(|halvings| 0.5f64.powi(halvings));
        let Some(better) = fractions.find_map(|fraction| objective.better(&point, step, fraction)) else { break };
        point = better;
        n_steps += 1;
        end = objective.arrived(step);
    }
    Ended { point, step: last, n_steps, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x − ln x, whose best point is 1 and whose Newton step from far below or above leaves its domain.
    struct Valley {
        min_gradient: f64,
    }

    impl Valley {
        fn loss(x: f64) -> f64 {
            if x > 0.0 { x - x.ln() } else { f64::INFINITY }
        }
    }

    impl Objective for Valley {
        type Point = f64;
        type Step = f64;
        type End = &'static str;

        fn step(&self, at: &f64) -> Result<f64, &'static str> {
            let gradient = 1.0 - 1.0 / at;
            if gradient.abs() < self.min_gradient { Err("flat") } else { Ok(-gradient * at * at) }
        }

        fn better(&self, at: &f64, step: &f64, fraction: f64) -> Option<f64> {
            let there = at + fraction * step;
            (Self::loss(there) < Self::loss(*at)).then_some(there)
        }

        fn arrived(&self, step: &f64) -> Option<&'static str> {
            (step.abs() < 1e-6).then_some("arrived")
        }
    }

    #[test]
    fn steps_that_overshoot_are_halved_and_the_end_is_told() {
        // from 5 the whole step leads to −15
        let ended = newton(&Valley { min_gradient: 1e-3 }, 5.0, 50);
        assert_eq!(ended.end, Some("flat"));
        assert!((ended.point - 1.0).abs() < 1e-3 && ended.step.is_some());
        // a gradient of 0 is never reached, so either the step is small or nothing is better any more
        let ended = newton(&Valley { min_gradient: 0.0 }, 5.0, 50);
        assert!((ended.point - 1.0).abs() < 1e-6 && ended.n_steps < 15, "{} in {}", ended.point, ended.n_steps);
        let ended = newton(&Valley { min_gradient: 0.0 }, 5.0, 2);
        assert_eq!((ended.n_steps, ended.end), (2, None));
    }
}
