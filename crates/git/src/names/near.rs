//! Names that resemble one.

/// The closest names, best first, without the name itself.
pub(super) fn closest<'a>(names: impl Iterator<Item = &'a str>, name: &str, count: usize) -> Vec<&'a str> {
    let wanted = plain(name);
    let letters = wanted.chars().count();
    if letters == 0 {
        return Vec::new();
    }
    // A letter in four may differ, and at most three.
    let bound = (letters / 4).min(3);
    // Numbers resemble names by accident only, and data have many of them.
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut near: Vec<(usize, usize, &str)> = names
        .filter(|known| *known != name && is_number(known) == is_number(name))
        .filter(|known| known.len().abs_diff(name.len()) <= 4 * bound + 8)
        .filter_map(|known| {
            let known_plain = plain(known);
            if known_plain.chars().count().abs_diff(letters) > bound {
                return None;
            }
            let distance = strsim::osa_distance(&wanted, &known_plain);
            (distance <= bound).then(|| (distance, strsim::osa_distance(name, known), known))
        })
        .collect();
    near.sort_unstable();
    near.truncate(count);
    near.into_iter().map(|(_, _, known)| known).collect()
}

/// Without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '$' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_separators_before_letters() {
        let names = ["max_sizes", "maxSize", "max_size", "MIN_SIZE", "unrelated", "MAX_SIZE", "mx"];
        assert_eq!(closest(names.into_iter(), "MAX_SIZE", 2), ["maxSize", "max_size"]);
        assert_eq!(closest(names.into_iter(), "MAX_SIZE", 9), ["maxSize", "max_size", "max_sizes"]);
        assert!(closest(names.into_iter(), "id", 3).is_empty());
        assert!(closest(names.into_iter(), "_", 3).is_empty());
    }
}
