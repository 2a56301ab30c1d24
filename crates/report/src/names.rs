//! How features are named in tables and pictures.

/// The scorer that all these feature names end in, if it is one.
pub(crate) fn common_scorer<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut scorers = names.map(|name| name.split_once('@').map(|(_, scorer)| scorer));
    let first = scorers.next()??;
    scorers.all(|scorer| scorer == Some(first)).then_some(first)
}

/// A feature's name without the scorer that the title names.
pub(crate) fn short<'a>(name: &'a str, scorer: Option<&str>) -> &'a str {
    scorer.and_then(|scorer| name.strip_suffix(scorer)?.strip_suffix('@')).unwrap_or(name)
}

/// Whether two features are one measure under two scorers: then they have one unit and can be compared row by row.
pub(crate) fn is_one_measure(x: &str, y: &str) -> bool {
    let measure = |name: &str| name.split_once('@').map(|(measure, _)| measure.to_owned());
    measure(x).is_some() && measure(x) == measure(y)
}

/// A part of a file's name from a column's name: letters, digits, `_` and `-`, at most 60.
pub(crate) fn slug(column: &str) -> String {
    let kept = column.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' });
    kept.take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_scorer_is_taken_out_of_the_names() {
        let names = ["logprob@m", "entropy@m"];
        assert_eq!(common_scorer(names.into_iter()), Some("m"));
        assert_eq!(common_scorer(["a@m", "a@n"].into_iter()), None);
        assert_eq!(common_scorer(["a@m", "bleu4"].into_iter()), None);
        assert_eq!(short("logprob@m", Some("m")), "logprob");
        assert_eq!(short("logprob@m", None), "logprob@m");
    }
}
