//! What the files of sentence-transformers beside an encoder say of how a text becomes a vector.

use std::path::Path;

use serde_json::Value;

use super::{Pooling, config::Json};
use crate::ModelError;

/// How a folder's authors make vectors; all of it unknown where they have not said it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sentence {
    /// The pooling.
    pub pooling: Option<Pooling>,
    /// Whether vectors are scaled to unit length.
    pub unit: bool,
    /// Most tokens of a text, special ones included.
    pub max_tokens: Option<usize>,
}

impl Sentence {
    /// Reads `modules.json` and what it names; a folder without it says nothing.
    ///
    /// # Errors
    /// [`ModelError::Read`] and [`ModelError::Json`]; [`ModelError::Field`] for a module or a pooling that is not supported.
    pub fn read(folder: &Path) -> Result<Sentence, ModelError> {
        let path = folder.join("modules.json");
        if !path.is_file() {
            return Ok(Sentence::default());
        }
        let modules = Json::read(&path)?;
        let not_supported = |problem: String| Err(ModelError::field(&path, "type", problem));
        let mut sentence = Sentence::default();
        for module in modules.value().as_array().into_iter().flatten() {
            let kind = module["type"].as_str().unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => sentence.max_tokens = max_tokens(folder)?,
                "Pooling" => {
                    let inner = module["path"].as_str().unwrap_or_default();
                    if inner.contains(['/', '\\', ':']) || inner == ".." {
                        let problem = format!("names the folder `{}`, expected one beside it", inner.escape_debug());
                        return Err(ModelError::field(&path, "path", problem));
                    }
                    sentence.pooling = Some(pooling(&folder.join(inner).join("config.json"))?);
                }
                "Normalize" => sentence.unit = true,
                _ => {
                    let problem = "supported are `Transformer`, `Pooling` and `Normalize`";
                    return not_supported(format!("is `{}`, {problem}", kind.escape_debug()));
                }
            }
        }
        Ok(sentence)
    }
}

/// The limit of `sentence_bert_config.json`, if there is one.
fn max_tokens(folder: &Path) -> Result<Option<usize>, ModelError> {
    let path = folder.join("sentence_bert_config.json");
    if !path.is_file() {
        return Ok(None);
    }
    let config = Json::read(&path)?;
    let most = &config.value()["max_seq_length"];
    // Two special tokens and one more are the least that is of use.
    match most.as_u64() {
        Some(n) if n >= 3 => Ok(usize::try_from(n).ok()),
        None if most.is_null() => Ok(None),
        _ => Err(ModelError::field(&path, "max_seq_length", format!("is {most}, expected 3 or more"))),
    }
}

/// The one pooling that a config.json of a pooling module turns on.
fn pooling(path: &Path) -> Result<Pooling, ModelError> {
    const MODES: [(&str, Pooling); 2] =
        [("pooling_mode_cls_token", Pooling::First), ("pooling_mode_mean_tokens", Pooling::Mean)];
    let config = Json::read(path)?;
    // Later files have one name in place of the switches.
    match config.value()["pooling_mode"].as_str() {
        Some("cls") => return Ok(Pooling::First),
        Some("mean") => return Ok(Pooling::Mean),
        Some(other) => {
            let problem = format!("is `{}`, supported are `cls` and `mean`", other.escape_debug());
            return Err(ModelError::field(path, "pooling_mode", problem));
        }
        None => {}
    }
    let is_on = |value: &Value| value.as_bool() == Some(true);
    let on: Vec<&String> = config
        .value()
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| name.starts_with("pooling_mode_") && is_on(value))
        .map(|(name, _)| name)
        .collect();
    match (on.as_slice(), MODES.iter().find(|(name, _)| on.first().is_some_and(|on| on == name))) {
        ([_], Some((_, pooling))) => Ok(*pooling),
        _ => {
            let [(first, _), (mean, _)] = MODES;
            let on = on.iter().map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ");
            let problem = format!("turns on {on}; supported is one of `{first}` and `{mean}`");
            Err(ModelError::field(path, "pooling_mode_…", problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files of that text.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    const MODULES: &str = r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;

    #[test]
    fn what_the_authors_say_is_read() {
        let of = |config: &str, most: &str| {
            let files =
                [("modules.json", MODULES), ("1_Pooling/config.json", config), ("sentence_bert_config.json", most)];
            Sentence::read(folder(&files).path())
        };
        let mean = r#"{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}"#;
        let want = Sentence { pooling: Some(Pooling::Mean), unit: true, max_tokens: Some(256) };
        assert_eq!(of(mean, r#"{"max_seq_length": 256}"#).unwrap(), want);
        assert_eq!(of(mean, r#"{"max_seq_length": null}"#).unwrap(), Sentence { max_tokens: None, ..want });
        let first = r#"{"pooling_mode_cls_token": true}"#;
        assert_eq!(of(first, "{}").unwrap().pooling, Some(Pooling::First));
        assert_eq!(of(r#"{"pooling_mode": "cls"}"#, "{}").unwrap().pooling, Some(Pooling::First));
        for (config, most, told) in [
            (r#"{"pooling_mode_max_tokens": true}"#, "{}", "`pooling_mode_max_tokens`"),
            (r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}"#, "{}", "one of"),
            ("{}", "{}", "supported is one of"),
            (r#"{"pooling_mode": "lasttoken"}"#, "{}", "`lasttoken`"),
            (mean, r#"{"max_seq_length": 2}"#, "3 or more"),
            (mean, r#"{"max_seq_length": "all"}"#, "3 or more"),
        ] {
            let error = of(config, most).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert_eq!(Sentence::read(folder(&[]).path()).unwrap(), Sentence::default());
        let plain = folder(&[("modules.json", &MODULES.replace("1_Pooling", "../x"))]);
        assert!(Sentence::read(plain.path()).unwrap_err().to_string().contains("beside it"));
        let dense = folder(&[("modules.json", &MODULES.replace("models.Transformer", "models.Dense"))]);
        assert!(Sentence::read(dense.path()).unwrap_err().to_string().contains("Dense"));
    }
}
