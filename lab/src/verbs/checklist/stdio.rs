//! Reviews that are paid while a trainer writes them: a line in, a line out, in order.

use std::{
    collections::{BTreeMap, HashMap},
    io::BufRead,
    sync::{Mutex, PoisonError, mpsc},
};

use serde::Deserialize;
use serde_json::{Value, json};

use veridiff::cli::terminal::offer;
use veridiff_suites::checklist::{
    Material, Metric, Review,
    judge::Judge,
    judged::JudgedReview,
    reward::{Preset, RewardSpec, reward},
};

/// Lines that are read before those before them are answered, for each request that may be open.
const AHEAD: usize = 4;

/// A review that is to be paid.
#[derive(Deserialize)]
struct Line {
    case: String,
    completion: String,
}

/// Answers every line of stdin until it ends, so many at once; gives how many there were, and how many of them are paid null.
///
/// # Errors
/// Stdin or stdout is broken.
pub fn serve(
    material: &Material,
    judge: &Judge<'_>,
    spec: &RewardSpec,
    concurrency: usize,
) -> anyhow::Result<(usize, usize)> {
    let lists: HashMap<&str, usize> =
        material.lists.iter().enumerate().map(|(place, list)| (list.case.as_str(), place)).collect();
    let one = |line: &[u8]| -> Value {
        paid(line, &lists, material, judge, spec).unwrap_or_else(|error| json!({ "total": null, "error": error }))
    };
    let (to_work, work) = mpsc::sync_channel::<(usize, Vec<u8>)>(AHEAD * concurrency);
    let (to_say, answers) = mpsc::channel::<(usize, Value)>();
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        for _ in 0..concurrency.max(1) {
            let (work, to_say, one) = (&work, to_say.clone(), &one);
            scope.spawn(move || {
                loop {
                    let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((place, line)) = next else { break };
                    if to_say.send((place, one(&line))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(to_say);
        let read = scope.spawn(move || -> std::io::Result<()> {
            for (place, line) in std::io::stdin().lock().split(b'\n').enumerate() {
                if to_work.send((place, line?)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let (mut n, mut n_missing, mut waiting) = (0, 0, BTreeMap::new());
        for (place, answer) in answers {
            waiting.insert(place, answer);
            while let Some(answer) = waiting.remove(&n) {
                n += 1;
                n_missing += usize::from(answer["total"].is_null());
                offer(&format!("{answer}\n"))?;
            }
        }
        read.join().expect("reading lines does not panic")?;
        Ok((n, n_missing))
    })
}

/// What one line is paid.
fn paid(
    line: &[u8],
    lists: &HashMap<&str, usize>,
    material: &Material,
    judge: &Judge<'_>,
    spec: &RewardSpec,
) -> Result<Value, String> {
    let Line { case, completion } = serde_json::from_slice(line)
        .map_err(|error| format!("the line is not {{\"case\", \"completion\"}}: {error}"))?;
    let Some(place) = lists.get(case.as_str()).copied() else {
        let near = veridiff_text::choice::did_you_mean(&case, lists.keys().copied()).unwrap_or_default();
        return Err(format!("there is no checklist of the case `{case}`. {near}").trim_end().to_owned());
    };
    let list = &material.lists[place];
    let known = material.case(place).map_err(|error| veridiff_text::chain::one_line(&error))?;
    let review = Review { id: case.clone(), case, generator: "policy".to_owned(), text: completion };
    let metrics: &[Metric] = match spec.preset {
        Preset::Paper => &[Metric::Paper],
        Preset::Rating => &[Metric::Rating],
        // what quotes show of items says of claims that they are supported
        Preset::Strict => &[Metric::Items, Metric::Claims],
    };
    let verdicts: Vec<_> =
        metrics.iter().map(|metric| judge.verdict(*metric, 0, list, &review, known.as_ref())).collect();
    let mut judged = JudgedReview::new(list, &review, known.as_ref());
    verdicts.iter().for_each(|verdict| judged.add(verdict));
    let mut answer = json!(reward(spec, &judged));
    answer["case"] = review.case.as_str().into();
    let errors: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict.error.as_deref()).collect();
    if !errors.is_empty() {
        answer["error"] = errors.join("; ").into();
    }
    Ok(answer)
}
