//! What generators wrote: JSON lines, the tag files of the benchmark's own tools, and lines that name a pull request by its commit.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use veridiff_text::choice::did_you_mean;

use super::dataset::{CommentSide, Dataset, clean_path, files_of, id_of};
use crate::{SuiteError, lines};

/// The longest note that is kept, in bytes; what is longer is cut.
const MAX_NOTE: usize = 10 << 20;

/// A comment that somebody wrote and nobody has judged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prediction {
    /// The pull request, and a hash of what stands where.
    pub id: String,
    /// Its pull request.
    pub pr: String,
    /// The file that it is on.
    pub path: String,
    /// The side that it is on.
    pub side: CommentSide,
    /// Its first and last line, from 1; without them it lies nowhere and matches nothing.
    pub lines: Option<(u64, u64)>,
    /// What it says.
    pub text: String,
    /// Who wrote it.
    pub generator: String,
    /// Its place in the file: nothing but the published evaluators depends on it.
    #[serde(default)]
    pub place: usize,
    /// Whether its lines stood in the wrong order where they were read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
    /// What kind of problem it raises, if a judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What one has to read to judge it, if a judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What had to be set right in predictions, or was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Faults {
    /// About pull requests that the references do not have: left out.
    pub unknown_pr: usize,
    /// Without a word: left out.
    pub blank: usize,
    /// Without lines, or with line 0: they match nothing.
    pub unlocated: usize,
    /// Lines reversed: sorted.
    pub reversed: usize,
    /// Without a side: taken for the right one.
    pub no_side: usize,
    /// Paths that lead nowhere: they match nothing.
    pub bad_path: usize,
    /// Longer than any comment: cut.
    pub cut: usize,
}

impl Faults {
    /// What to tell of them, in words.
    pub fn notes(&self) -> Vec<String> {
        let of = [
            (self.unknown_pr, "are about pull requests without references, and are left out"),
            (self.blank, "are blank, and are left out"),
            (self.unlocated, "have no lines, and match nothing"),
            (self.reversed, "had their lines reversed"),
            (self.no_side, "name no side, and are taken to be on the right one"),
            (self.bad_path, "have a path that leads nowhere, and match nothing"),
            (self.cut, "were cut"),
        ];
        of.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} predictions {what}")).collect()
    }
}

/// A prediction as it is written.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    id: Option<String>,
    pr: Option<String>,
    instance_id: Option<String>,
    path: Option<String>,
    side: Option<String>,
    from_line: Option<i64>,
    to_line: Option<i64>,
    line: Option<i64>,
    #[serde(alias = "note", alias = "body")]
    text: Option<String>,
    generator: Option<String>,
}

/// Reads predictions: a file of JSON lines, or a folder with `comments_NAME_N.txt` for each pull request. They are in the order of
/// their ids, so that no order of the input plays a part.
///
/// # Errors
/// [`SuiteError`] for a file that cannot be read, or of which no line is about a pull request that there is.
pub fn read(path: &Path, dataset: &Dataset) -> Result<(Vec<Prediction>, Faults), SuiteError> {
    let generator = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let raws = if path.is_dir() { tag_files(path, dataset)? } else { lines::read::<Raw>(path)? };
    let known = dataset.places();
    let (mut found, mut faults, mut first_unknown) = (Vec::new(), Faults::default(), None);
    for (place, raw) in raws.into_iter().enumerate() {
        let named = raw.pr.clone().or_else(|| of_instance(raw.instance_id.as_deref()?, dataset));
        let Some(pr) = named.as_deref().filter(|pr| known.contains_key(pr)) else {
            first_unknown = first_unknown.or(named).or(raw.instance_id);
            faults.unknown_pr += 1;
            continue;
        };
        if let Some(prediction) = prediction(raw, pr, &generator, &mut faults) {
            found.push(Prediction { place, ..prediction });
        }
    }
    if found.is_empty() && faults.unknown_pr > 0 {
        let named = first_unknown.unwrap_or_else(|| "nothing".into());
        let why = format!(
            "no prediction of `{}` is about a pull request with references; the first names `{named}`",
            path.display()
        );
        let near = did_you_mean(&named, known.keys().copied());
        return Err(SuiteError::mismatch(
            why,
            near.unwrap_or_else(|| "pull requests are named owner/name#number".into()),
        ));
    }
    found.sort_by(|a, b| (&a.generator, &a.id).cmp(&(&b.generator, &b.id)));
    distinct(&mut found);
    Ok((found, faults))
}

/// Gives `-2`, `-3`, … to those that are the same in all.
fn distinct(found: &mut [Prediction]) {
    let mut times: BTreeMap<(String, String), usize> = BTreeMap::new();
    for prediction in found {
        let n = times.entry((prediction.generator.clone(), prediction.id.clone())).and_modify(|n| *n += 1).or_insert(1);
        if *n > 1 {
            prediction.id = format!("{}-{n}", prediction.id);
        }
    }
}

fn prediction(raw: Raw, pr: &str, generator: &str, faults: &mut Faults) -> Option<Prediction> {
    let mut text = raw.text.unwrap_or_default();
    if text.trim().is_empty() {
        faults.blank += 1;
        return None;
    }
    if text.len() > MAX_NOTE {
        let end = (0..=MAX_NOTE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        faults.cut += 1;
    }
    let side = raw.side.as_deref().and_then(CommentSide::of);
    faults.no_side += usize::from(side.is_none());
    let side = side.unwrap_or(CommentSide::Right);
    let path = clean_path(raw.path.as_deref().unwrap_or_default());
    faults.bad_path += usize::from(path.is_err());
    let to = raw.to_line.or(raw.line).or(raw.from_line);
    let from = raw.from_line.or(raw.line).or(to);
    let lines = from.zip(to).filter(|(from, to)| *from > 0 && *to > 0).map(|(from, to)| (from as u64, to as u64));
    faults.unlocated += usize::from(lines.is_none());
    let reversed = lines.is_some_and(|(from, to)| from > to);
    faults.reversed += usize::from(reversed);
    let lines = lines.map(|(from, to)| (from.min(to), from.max(to))).filter(|_| path.is_ok());
    let path = path.unwrap_or_default();
    let (from, to) = lines.unwrap_or_default();
    let id = raw.id.unwrap_or_else(|| id_of(pr, &path, side, from, to, &text));
    let generator = raw.generator.unwrap_or_else(|| generator.to_owned());
    Some(Prediction { id, pr: pr.to_owned(), path, side, lines, text, generator, reversed, ..Prediction::default() })
}

/// The pull request of `owner__name@7hex`, whose digits are those of one of its commits.
fn of_instance(instance: &str, dataset: &Dataset) -> Option<String> {
    let (name, commit) = instance.rsplit_once('@')?;
    let repo = name.replacen("__", "/", 1);
    let is_it = |pr: &&super::dataset::PullRequest| {
        pr.repo == repo && commit.len() >= 7 && (pr.target.starts_with(commit) || pr.source.starts_with(commit))
    };
    dataset.prs.iter().find(is_it).map(|pr| pr.pr.clone())
}

/// The tag files of a folder, each for the pull request that its name says; a file that is missing is a pull request without comments.
fn tag_files(folder: &Path, dataset: &Dataset) -> Result<Vec<Raw>, SuiteError> {
    let names: BTreeMap<String, &str> = dataset
        .prs
        .iter()
        .filter_map(|pr| {
            let (_, name) = pr.repo.split_once('/')?;
            let (_, number) = pr.pr.rsplit_once('#')?;
            Some((format!("comments_{name}_{number}.txt"), pr.pr.as_str()))
        })
        .collect();
    let generator = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut raws = Vec::new();
    for path in files_of(folder, "txt")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pr = names.get(&name).map(|pr| pr.to_string());
        for note in tags(&text_of(&path)?) {
            raws.push(Raw {
                pr: pr.clone().or_else(|| Some(name.clone())),
                generator: Some(generator.clone()),
                ..note
            });
        }
    }
    Ok(raws)
}

fn text_of(path: &Path) -> Result<String, SuiteError> {
    let bytes = std::fs::read(path).map_err(|source| SuiteError::Read { path: path.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The comments of a tag file: `<path>`, `<side>`, `<from>`, `<to>` and `<note>`, parted by `<notesplit />`.
fn tags(text: &str) -> Vec<Raw> {
    let parts = text.split("<notesplit />").filter(|part| !part.trim().is_empty());
    let raw = |part: &str| Raw {
        path: tag(part, "path").map(str::to_owned),
        side: tag(part, "side").map(str::to_owned),
        from_line: tag(part, "from").and_then(|line| line.parse().ok()),
        to_line: tag(part, "to").and_then(|line| line.parse().ok()),
        text: tag(part, "note").map(str::to_owned),
        ..Raw::default()
    };
    parts.map(raw).collect()
}

/// What stands between a tag and its end, in whatever case, blanks around it left out.
pub(crate) fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    // case is folded for ASCII alone, so that bytes stay where they are
    let low = text.to_ascii_lowercase();
    let start = low.find(&format!("<{name}>"))? + name.len() + 2;
    let end = low[start..].find(&format!("</{name}>"))? + start;
    Some(text[start..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        let pr = super::super::dataset::PullRequest {
            pr: "o/n#7".into(),
            repo: "o/n".into(),
            target: "0123456789abcdef0123456789abcdef01234567".into(),
            ..Default::default()
        };
        Dataset { prs: vec![pr], ..Dataset::default() }
    }

    #[test]
    fn every_form_gives_the_same_comments_and_faults_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.jsonl");
        let text = r#"
{"pr":"o/n#7","path":"./a.c","side":"RIGHT","from_line":9,"to_line":4,"text":"x"}
{"instance_id":"o__n@0123456","path":"a.c","line":3,"note":"y"}
{"pr":"o/n#7","path":"a.c","from_line":0,"to_line":0,"side":"left","text":"z"}
{"pr":"o/n#7","path":"../a.c","from_line":1,"side":"left","text":"w"}
{"pr":"o/n#8","path":"a.c","text":"other"}
{"pr":"o/n#7","path":"a.c","text":"  "}"#;
        std::fs::write(&path, text).unwrap();
        let (found, faults) = read(&path, &dataset()).unwrap();
        let want = Faults { unknown_pr: 1, blank: 1, unlocated: 1, reversed: 1, no_side: 1, bad_path: 1, cut: 0 };
        assert_eq!(faults, want);
        assert_eq!(faults.notes().len(), 6);
        let of = |text: &str| found.iter().find(|p| p.text == text).unwrap();
        assert_eq!((of("x").lines, &*of("x").path, of("x").side), (Some((4, 9)), "a.c", CommentSide::Right));
        assert_eq!((of("y").lines, of("z").lines, of("w").lines), (Some((3, 3)), None, None));
        assert!(found.iter().all(|p| p.generator == "bot"));

        let tags = folder.path().join("agent");
        std::fs::create_dir(&tags).unwrap();
        let note =
            "<PATH>a.c</path>\n<side>right</side><from>4</from><to>9</to>\n<note>\nx\n</note>\n<notesplit />\n<end />";
        std::fs::write(tags.join("comments_n_7.txt"), note).unwrap();
        let (found, _) = read(&tags, &dataset()).unwrap();
        assert_eq!(
            (found.len(), found[0].lines, &*found[0].text, &*found[0].generator),
            (1, Some((4, 9)), "x", "agent")
        );
    }

    #[test]
    fn a_pull_request_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bot.jsonl");
        std::fs::write(&path, "{\"pr\":\"o/n#8\",\"path\":\"a\",\"text\":\"x\"}\n").unwrap();
        let error = read(&path, &dataset()).unwrap_err();
        assert!(error.to_string().contains("o/n#8"), "{error}");
        assert!(veridiff_text::hint::Hint::hint(&error).unwrap().contains("o/n#7"));
    }
}
