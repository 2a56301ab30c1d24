//! Which samples to annotate: how many for a margin of error, and a seeded draw.
//!
//! Every sample has a place in an order that follows from the seed, its group (diff) and its place among the texts of that
//! group alone. A draw takes the first of that order. So the same input and options give every annotator the same samples, and
//! where each generator has one text a diff, `--by generator` draws texts of the same diffs from each, as the core paper does
//! (section 4.1).

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use sha2::{Digest, Sha256};
use statrs::function::erf::erf_inv;

use super::AnnotationError;
use veridiff_text::sample::Sample;

/// The number of samples of a population at which a share is known within ± `margin` with this `confidence` (both 0 to 1,
/// exclusive), whatever the share: Cochran's n₀ = z² / (4 margin²), corrected for a finite population of `population`
/// by n₀ / (1 + (n₀ − 1) / population), rounded up.
pub fn sample_size(population: usize, confidence: f64, margin: f64) -> usize {
    let z = std::f64::consts::SQRT_2 * erf_inv(confidence);
    let unlimited = (z / (2.0 * margin)).powi(2);
    let size = unlimited / (1.0 + (unlimited - 1.0) / population as f64);
    (size.ceil() as usize).min(population)
}

/// How many samples are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// As many as the margin of error needs; see [`sample_size`].
    Margin {
        /// How sure the estimate is to be within the margin: above 0 and below 1.
        confidence: f64,
        /// How far off an estimated share may be: above 0 and below 1.
        margin: f64,
    },
    /// This many, or all if there are fewer.
    Count(usize),
    /// All samples are drawn, in the order of the seed.
    All,
}

impl Size {
    fn of(self, population: usize) -> usize {
        match self {
            Size::Margin { confidence, margin } => sample_size(population, confidence, margin),
            Size::Count(count) => count.min(population),
            Size::All => population,
        }
    }
}

/// How many samples are drawn, by which column they are divided, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// How many samples are drawn.
    pub size: Size,
    /// A column whose values share the number in proportion to their rows.
    pub by: Option<String>,
    /// The number is meant for each value of that column, not for all together.
    pub each: bool,
    /// The seed that the order of the samples follows from.
    pub seed: u64,
    /// 1-based: each round goes on in the order where the one before, if it was as large, ended.
    pub round: u32,
}

/// The samples of one value of the column drawn by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stratum {
    /// The value; `None` where there is none, or no column.
    pub value: Option<String>,
    /// How many samples the input has of it.
    pub population: usize,
    /// How many of them were drawn.
    pub drawn: usize,
}

/// The samples that were drawn, and how many of each stratum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// Positions of the samples, in the order to annotate them; texts of one diff that were drawn alike follow one another.
    pub rows: Vec<usize>,
    /// One entry for each value of the column, sorted by value.
    pub strata: Vec<Stratum>,
}

/// Draws samples.
///
/// # Errors
/// [`AnnotationError::Share`] for a confidence or margin that is not between 0 and 1; [`AnnotationError::Column`] for a column
/// that no sample has; [`AnnotationError::RoundPastEnd`] where earlier rounds took everything; [`AnnotationError::NoSamples`].
pub fn draw(samples: &[Sample], draw: &Draw) -> Result<Drawn, AnnotationError> {
    if let Size::Margin { confidence, margin } = draw.size {
        for (what, value) in [("confidence", confidence), ("margin", margin)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(AnnotationError::Share { what, value });
            }
        }
    }
    if samples.is_empty() || draw.size == Size::Count(0) {
        return Err(AnnotationError::NoSamples);
    }
    let values = strata(samples, draw.by.as_deref())?;
    let mut rows_of: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    values.iter().enumerate().for_each(|(row, value)| rows_of.entry(value.as_deref()).or_default().push(row));
    let keys = keys(samples, &values, draw.seed);

    let populations: Vec<usize> = rows_of.values().map(Vec::len).collect();
    let sizes = if draw.each {
        populations.iter().map(|&population| draw.size.of(population)).collect()
    } else {
        shares(draw.size.of(samples.len()), &populations)
    };
    let (mut rows, mut strata) = (Vec::new(), Vec::new());
    for ((value, mut members), size) in rows_of.into_iter().zip(sizes) {
        members.sort_by_key(|&row| keys[row]);
        let earlier = size.saturating_mul(draw.round.saturating_sub(1) as usize);
        let drawn: Vec<usize> = members.iter().copied().skip(earlier).take(size).collect();
        strata.push(Stratum { value: value.map(str::to_owned), population: members.len(), drawn: drawn.len() });
        rows.extend(drawn);
    }
    if rows.is_empty() {
        return Err(AnnotationError::RoundPastEnd { round: draw.round, n_samples: samples.len() });
    }
    // who wrote a text must not show in the order of those on one diff
    rows.sort_by_key(|&row| (keys[row], digest(draw.seed, &[&samples[row].id])));
    Ok(Drawn { rows, strata })
}

/// For every sample its value in the column, as text.
fn strata(samples: &[Sample], column: Option<&str>) -> Result<Vec<Option<String>>, AnnotationError> {
    let Some(column) = column else { return Ok(vec![None; samples.len()]) };
    let values: Vec<Option<Value>> = samples.iter().map(|sample| sample.to_row().get(column).cloned()).collect();
    if values.iter().all(Option::is_none) {
        let mut known: Vec<String> =
            samples.iter().flat_map(|s| s.to_row().keys().cloned().collect::<Vec<_>>()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(AnnotationError::Column { column: column.to_owned(), known });
    }
    let text = |value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    Ok(values.into_iter().map(|value| value.and_then(text)).collect())
}

/// Each sample's place in the order: the hash of the seed, its group, and its number among its stratum's texts of that group.
fn keys(samples: &[Sample], strata: &[Option<String>], seed: u64) -> Vec<[u8; 32]> {
    let mut seen: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    let mut keys = Vec::with_capacity(samples.len());
    for (sample, stratum) in samples.iter().zip(strata) {
        let number = seen.entry((&sample.group, stratum.as_deref())).or_default();
        *number += 1;
        keys.push(digest(seed, &[&sample.group, &number.to_string()]));
    }
    keys
}

fn digest(seed: u64, parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// `total` divided in proportion to `populations` by largest remainders; every population gets at least one.
fn shares(total: usize, populations: &[usize]) -> Vec<usize> {
    let whole: usize = populations.iter().sum();
    let quota = |population: usize| total as f64 * population as f64 / whole as f64;
    let mut shares: Vec<usize> = populations.iter().map(|&population| quota(population) as usize).collect();
    let mut order: Vec<usize> = (0..populations.len()).collect();
    order.sort_by(|&a, &b| quota(populations[b]).fract().total_cmp(&quota(populations[a]).fract()));
    let left = total.saturating_sub(shares.iter().sum());
    order.iter().take(left).for_each(|&stratum| shares[stratum] += 1);
    shares.iter().zip(populations).map(|(&share, &population)| share.max(1).min(population)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// `n_diffs` diffs with a text of each generator.
    fn samples(n_diffs: usize, generators: &[&str]) -> Vec<Sample> {
        let sample = |diff: usize, generator: &str| Sample {
            generator: Some(generator.to_owned()),
            ..Sample::new(&format!("{diff}-{generator}"), &format!("+{diff}"), "t")
        };
        (0..n_diffs).flat_map(|diff| generators.iter().map(move |generator| sample(diff, generator))).collect()
    }

    fn of(size: Size) -> Draw {
        Draw { size, by: None, each: false, seed: 0, round: 1 }
    }

    #[test]
    fn sizes_equal_the_published_ones() {
        // Krejcie and Morgan 1970, table 1 (95%, 5 points)
        for (population, size) in [(100, 80), (1_000, 278), (10_000, 370), (1_000_000, 384)] {
            assert_eq!(sample_size(population, 0.95, 0.05), size, "{population}");
        }
        // the core paper's 264 of 10,000 samples (section 4.1: 90%, 5 points)
        assert_eq!(sample_size(10_000, 0.90, 0.05), 264);
        assert_eq!(sample_size(1, 0.95, 0.05), 1);
        assert_eq!(sample_size(10, 0.99, 0.001), 10);
    }

    #[test]
    fn the_same_seed_draws_the_same_and_more_of_it_keeps_what_there_was() {
        let samples = samples(40, &["a", "b"]);
        let rows = |size, seed| draw(&samples, &Draw { seed, ..of(Size::Count(size)) }).unwrap().rows;
        assert_eq!(rows(10, 1), rows(10, 1));
        assert_ne!(rows(10, 1), rows(10, 2));
        let [few, many] = [10, 30].map(|size| rows(size, 1).into_iter().collect::<BTreeSet<_>>());
        assert_eq!((few.len(), many.len()), (10, 30), "each once");
        assert!(few.is_subset(&many));
        assert_eq!(draw(&samples, &of(Size::All)).unwrap().rows.len(), 80);
    }

    #[test]
    fn every_sample_is_as_likely_as_any_other() {
        let samples = samples(10, &["a", "b", "c"]);
        let mut times = vec![0; samples.len()];
        for seed in 0..2000 {
            draw(&samples, &Draw { seed, ..of(Size::Count(6)) }).unwrap().rows.iter().for_each(|&row| times[row] += 1);
        }
        // binomial with mean 400 and sd 18: five of them
        assert!(times.iter().all(|n| (310..=490).contains(n)), "{times:?}");
    }

    #[test]
    fn generators_share_a_draw_in_proportion_and_are_drawn_on_the_same_diffs() {
        let generators = ["a", "b", "c"];
        let all = samples(50, &generators);
        let by = Draw { by: Some("generator".into()), ..of(Size::Count(30)) };
        let got = draw(&all, &by).unwrap();
        assert_eq!(got.strata.iter().map(|s| s.drawn).collect::<Vec<_>>(), [10, 10, 10]);
        let diffs = |generator: &str| -> BTreeSet<&str> {
            let rows = got.rows.iter().map(|&row| &all[row]);
            rows.filter(|s| s.generator.as_deref() == Some(generator)).map(|s| s.diff.as_str()).collect()
        };
        assert!(diffs("a") == diffs("b") && diffs("b") == diffs("c"));
        for texts in got.rows.chunks(3) {
            assert!(texts.iter().all(|&row| all[row].diff == all[texts[0]].diff), "a diff's texts come together");
        }
        let first = |row: &[usize]| all[row[0]].generator.clone().unwrap();
        assert!(got.rows.chunks(3).map(first).collect::<BTreeSet<_>>().len() > 1, "in no fixed order");

        let each = draw(&all, &Draw { each: true, size: Size::Margin { confidence: 0.9, margin: 0.05 }, ..by.clone() });
        assert_eq!(each.unwrap().strata.iter().map(|s| s.drawn).collect::<Vec<_>>(), [43, 43, 43]);

        // 90 + 9 + 1 rows, ten of them: 9, 0.9 and 0.1, of which none may be zero
        let mut uneven = samples(90, &["a"]);
        uneven.extend(samples(9, &["b"]));
        uneven.push(Sample::new("x", "+x", "t"));
        let got = draw(&uneven, &Draw { size: Size::Count(10), ..by }).unwrap();
        let strata: Vec<_> = got.strata.iter().map(|s| (s.value.as_deref(), s.population, s.drawn)).collect();
        assert_eq!(strata, [(None, 1, 1), (Some("a"), 90, 9), (Some("b"), 9, 1)]);
    }

    #[test]
    fn rounds_of_one_size_share_no_sample_and_end() {
        let samples = samples(25, &["a"]);
        let round = |round| draw(&samples, &Draw { round, ..of(Size::Count(10)) }).map(|drawn| drawn.rows);
        let rounds: Vec<usize> = (1..=3).flat_map(|n| round(n).unwrap()).collect();
        assert_eq!(rounds.iter().collect::<BTreeSet<_>>().len(), 25);
        assert!(matches!(round(4), Err(AnnotationError::RoundPastEnd { round: 4, n_samples: 25 })));
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let samples = samples(2, &["a"]);
        let error = draw(&samples, &Draw { by: Some("lang".into()), ..of(Size::All) }).unwrap_err();
        let AnnotationError::Column { column, known } = error else { panic!("{error}") };
        assert!(column == "lang" && known.contains(&"language".into()), "{known:?}");
        let size = Size::Margin { confidence: 95.0, margin: 0.05 };
        assert!(matches!(draw(&samples, &of(size)), Err(AnnotationError::Share { what: "confidence", .. })));
        assert!(matches!(draw(&[], &of(Size::All)), Err(AnnotationError::NoSamples)));
    }
}
