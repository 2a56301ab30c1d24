//! Which samples of an input a run is over.

use std::{
    collections::{BTreeMap, HashSet},
    str::FromStr,
};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::Result;
use veridiff_detector::{WhereClause, filter_table};
use veridiff_table::{ID_COLUMN, Row, Table};
use veridiff_text::sample::Sample;

/// One of several equal parts of an input: every n-th sample from the first, second, … on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// The part `index` of `of`, both counted from 1; `None` unless `1 <= index <= of`.
    pub fn new(index: usize, of: usize) -> Option<Shard> {
        (1 <= index && index <= of).then_some(Shard { index, of })
    }

    /// Whether what stands at a place, counted from 0, belongs to the part.
    pub fn has(&self, place: usize) -> bool {
        place % self.of == self.index - 1
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts = s.split_once('/').and_then(|(i, n)| Shard::new(i.parse().ok()?, n.parse().ok()?));
        parts.ok_or_else(|| format!("`{s}` is not I/N with 1 <= I <= N, such as 2/8"))
    }
}

/// Which samples of an input: each rule is applied to what the one before it left. The default takes all.
#[derive(Debug, Clone, Default)]
pub struct SampleChoice {
    /// The clauses that must hold of a sample's keys, all of them.
    pub clauses: Vec<WhereClause>,
    /// So many samples at random, drawn with [`SampleChoice::seed`], in the order of the input.
    pub n_random: Option<usize>,
    /// The seed that a draw of `n_random` samples follows from.
    pub seed: u64,
    /// At most so many, the first of them.
    pub limit: Option<usize>,
    /// The part of the chosen samples that this run computes; all of them if there is none.
    pub shard: Option<Shard>,
}

impl SampleChoice {
    /// The samples that are chosen, with their places, in the order of the input.
    ///
    /// # Errors
    /// A clause names a key that no sample has, or a value that none of them has.
    pub fn choose(&self, mut samples: Vec<(usize, Sample)>) -> Result<Vec<(usize, Sample)>> {
        if !self.clauses.is_empty() {
            samples = self.filtered(samples)?;
        }
        if let Some(n) = self.n_random {
            samples.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
            samples.truncate(n);
            samples.sort_by_key(|(place, _)| *place);
        }
        samples.truncate(self.limit.unwrap_or(usize::MAX));
        if let Some(shard) = self.shard {
            let mine = samples.into_iter().enumerate().filter(|(i, _)| shard.has(*i));
            samples = mine.map(|(_, sample)| sample).collect();
        }
        Ok(samples)
    }

    /// The samples of which every clause holds. Ids are distinct, as [`veridiff_text::sample::Samples`] makes them.
    fn filtered(&self, samples: Vec<(usize, Sample)>) -> Result<Vec<(usize, Sample)>> {
        let rows: Vec<Row> = samples.iter().map(|(_, sample)| sample.to_row()).collect();
        let table = Table::from_rows(&rows, &BTreeMap::new())?;
        let kept = filter_table(table, &self.clauses)?;
        let kept: HashSet<String> = kept.strings(ID_COLUMN)?.into_iter().flatten().collect();
        Ok(samples.into_iter().filter(|(_, sample)| kept.contains(&sample.id)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(n: usize) -> Vec<(usize, Sample)> {
        let sample = |i: usize| {
            let language = Some(["rust", "go"][i % 2].to_owned());
            (i, Sample { language, ..Sample::new(&i.to_string(), "+x", "t") })
        };
        (0..n).map(sample).collect()
    }

    fn places(choice: &SampleChoice, n: usize) -> Vec<usize> {
        choice.choose(samples(n)).unwrap().into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn rules_follow_one_another_and_the_order_is_the_inputs() {
        let rust = vec!["language=rust".parse::<WhereClause>().unwrap()];
        let clauses = SampleChoice { clauses: rust.clone(), ..SampleChoice::default() };
        assert_eq!(places(&clauses, 9), [0, 2, 4, 6, 8]);
        assert_eq!(places(&SampleChoice { limit: Some(3), ..clauses.clone() }, 9), [0, 2, 4]);
        let second = SampleChoice { shard: Shard::new(2, 2), ..clauses.clone() };
        assert_eq!(places(&second, 9), [2, 6]);
        let random = SampleChoice { n_random: Some(4), seed: 7, ..SampleChoice::default() };
        let drawn = places(&random, 50);
        assert!(drawn.len() == 4 && drawn.is_sorted() && drawn == places(&random, 50), "{drawn:?}");
        assert_ne!(drawn, places(&SampleChoice { seed: 8, ..random }, 50));
        let unknown = SampleChoice { clauses: vec!["colour=red".parse().unwrap()], ..SampleChoice::default() };
        assert!(unknown.choose(samples(3)).unwrap_err().to_string().contains("colour"));
    }

    #[test]
    fn shards_are_read_and_others_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for bad in ["0/2", "3/2", "1", "a/b", "1/0"] {
            assert!(bad.parse::<Shard>().unwrap_err().contains(bad));
        }
    }
}
