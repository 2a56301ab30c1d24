//! Under which licence a project stands, by the file that says so.

use veridiff_git::Snapshot;

/// Names of the files that are read, in this order, in any letters; with any ending.
const FILES: [&str; 6] = ["license", "licence", "mit-license", "copying", "unlicense", "license-mit"];

/// Words by which a licence is known, the more exact before the others: all of them must be there.
const LICENCES: [(&str, &[&str]); 12] = [
    ("not permissive", &["gnu", "general public license"]),
    ("not permissive", &["mozilla public license"]),
    ("not permissive", &["community license agreement"]),
    ("not permissive", &["reciprocal public license"]),
    ("Apache-2.0", &["apache license", "version 2.0"]),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "neither the name"]),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "may not be used to endorse"]),
    ("BSD-2-Clause", &["redistribution and use in source and binary forms"]),
    ("MIT", &["permission is hereby granted, free of charge"]),
    ("ISC", &["permission to use, copy, modify, and/or distribute this software"]),
    ("curl", &["permission to use, copy, modify, and distribute this software"]),
    ("Unlicense", &["this is free and unencumbered software"]),
];

/// The licence of a tree as SPDX calls it, if it is one that lets everyone use and pass on the texts.
pub fn licence_of(tree: &Snapshot) -> Option<&'static str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for path in tree.paths().ok()?.filter(|path| !path.contains('/')) {
        let lower = path.to_lowercase();
        let stem = lower.split('.').next().unwrap_or(&lower);
        if let Some(rank) = FILES.iter().position(|file| stem == *file || stem.starts_with(&format!("{file}-"))) {
            found.push((rank, path));
        }
    }
    found.sort();
    let read = |path: &str| tree.file(path).ok().flatten().and_then(|text| named(&text));
    let names: Vec<&str> = found.into_iter().filter_map(|(_, path)| read(path)).collect();
    names.first().copied().filter(|_| !names.contains(&"not permissive"))
}

/// The licence that a text is.
fn named(text: &str) -> Option<&'static str> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    LICENCES.iter().find(|(_, marks)| marks.iter().all(|mark| words.contains(mark))).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_known_by_their_words() {
        assert_eq!(named("MIT License\n\nPermission is hereby\ngranted, free of charge, to"), Some("MIT"));
        assert_eq!(named("GNU LESSER GENERAL PUBLIC LICENSE"), Some("not permissive"));
        assert_eq!(named("GNU GENERAL PUBLIC LICENSE Version 2"), Some("not permissive"));
        let bsd = "Redistribution and use in source and binary forms, with … 3. Neither the name of";
        assert_eq!(named(bsd), Some("BSD-3-Clause"));
        assert_eq!(named("All rights reserved."), None);
    }
}
