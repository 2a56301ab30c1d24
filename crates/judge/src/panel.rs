//! Several judgements of one text together.

use std::{fmt, str::FromStr};

/// How members decide together whether a text is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// More than half of all members say so, and all have judged; half and half abstains.
    #[default]
    Majority,
    /// At least so many members say so; an absent one says nothing. Where so many say so and so many the contrary, or neither, it
    /// abstains.
    Quorum(usize),
    /// The mean of the scores is over one half, and all have judged: HalluJudge's ensemble, as its numbers have it.
    Mean,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Majority => f.write_str("majority"),
            Rule::Quorum(n) => write!(f, "{n}"),
            Rule::Mean => f.write_str("mean"),
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "majority" => Ok(Rule::Majority),
            "mean" => Ok(Rule::Mean),
            _ => s
                .parse()
                .map(Rule::Quorum)
                .map_err(|_| format!("`{s}` is neither majority, mean nor a number of votes")),
        }
    }
}

/// What a member says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Its score, 0 to 4.
    pub score: f64,
    /// Whether it flags the text.
    pub is_flagged: bool,
}

/// What a panel says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Panel {
    /// The mean of the scores; none unless all have judged.
    pub mean: Option<f64>,
    /// The highest score; none unless all have judged.
    pub max: Option<f64>,
    /// How many flag the text; none unless all have judged.
    pub votes: Option<usize>,
    /// Whether the panel flags it; none if it abstains.
    pub is_flagged: Option<bool>,
}

impl Panel {
    /// The panel of some members, of which some may not have judged.
    pub fn of(members: &[Option<Member>], rule: Rule) -> Panel {
        let judged: Vec<Member> = members.iter().flatten().copied().collect();
        let is_whole = judged.len() == members.len() && !judged.is_empty();
        let scores = judged.iter().map(|member| member.score);
        let mean = is_whole.then(|| scores.clone().sum::<f64>() / judged.len() as f64);
        let yes = judged.iter().filter(|member| member.is_flagged).count();
        let no = judged.len() - yes;
        let is_flagged = match rule {
            Rule::Mean => mean.map(|mean| mean > 0.5),
            Rule::Majority => (is_whole && yes != no).then_some(yes > no),
            Rule::Quorum(n) => ((yes >= n) != (no >= n)).then_some(yes >= n),
        };
        Panel { mean, max: is_whole.then(|| scores.fold(0.0, f64::max)), votes: is_whole.then_some(yes), is_flagged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(scores: &[Option<u8>], rule: Rule) -> Panel {
        let member = |score: u8| Member { score: score.into(), is_flagged: score >= 1 };
        Panel::of(&scores.iter().map(|score| score.map(member)).collect::<Vec<_>>(), rule)
    }

    #[test]
    fn the_mean_of_four_as_the_papers_numbers_have_it() {
        let of = |scores: [u8; 4]| panel(&scores.map(Some), Rule::Mean);
        assert_eq!(of([3, 0, 0, 0]).is_flagged, Some(true), "0.75, although one of four flags");
        assert_eq!(of([1, 1, 0, 0]).is_flagged, Some(false), "0.5, although two of four flag");
        assert_eq!(of([1, 1, 1, 0]).is_flagged, Some(true));
        assert_eq!(
            (of([3, 0, 0, 1]).mean, of([3, 0, 0, 1]).max, of([3, 0, 0, 1]).votes),
            (Some(1.0), Some(3.0), Some(2))
        );
    }

    #[test]
    fn a_panel_that_lacks_a_member_or_is_divided_abstains() {
        let nothing = Panel { mean: None, max: None, votes: None, is_flagged: None };
        for rule in [Rule::Majority, Rule::Mean] {
            assert_eq!(panel(&[Some(4), Some(4), None], rule), nothing);
        }
        assert_eq!(panel(&[Some(4), Some(4), Some(0), Some(0)], Rule::Majority).is_flagged, None);
        assert_eq!(panel(&[Some(4), Some(0), Some(0)], Rule::Majority).is_flagged, Some(false));
        assert_eq!(panel(&[], Rule::Majority), nothing);
    }

    #[test]
    fn a_quorum_counts_the_absent_as_silent() {
        let of = |scores: &[Option<u8>], n| panel(scores, Rule::Quorum(n)).is_flagged;
        assert_eq!(of(&[Some(4), Some(4), None, None], 2), Some(true));
        assert_eq!(of(&[Some(4), None, None, None], 2), None);
        assert_eq!(of(&[Some(0), Some(0), Some(1), None], 2), Some(false));
        assert_eq!(of(&[Some(0), Some(0), Some(1), Some(1)], 2), None, "a tie");
        assert_eq!("2".parse(), Ok(Rule::Quorum(2)));
        assert!("most".parse::<Rule>().is_err());
    }
}
