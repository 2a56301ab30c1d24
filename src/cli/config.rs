//! `veridiff.toml`: what a team sets once for all who work in a repository.
//!
//! A key is the name of an option of `check`, and its value becomes the option's default, there and in every other verb that has the
//! option: so the command line wins, a value is refused as the option refuses it, and what a key means is what the option's help says.
//! To add one, add a line to [`KEYS`]; `docs/config.md` is written from it.

use std::{
    env, fs,
    ops::Range,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, parser::ValueSource};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use veridiff_detector::shipped;
use veridiff_text::choice::did_you_mean;

use crate::cli::{
    args::change::{NO_DETECTOR, detector_called},
    terminal::UsageError,
};

/// What the file is called.
pub const FILE: &str = "veridiff.toml";

/// The table whose keys hold for the commit gate (`check --hook`).
pub const HOOK: &str = "hook";

/// A key.
pub struct Key {
    /// Its name, which is that of the option.
    pub name: &'static str,
    /// Whether it may be a path, which is then looked for beside the file.
    is_path: bool,
    /// Whether the commit gate has its own, under [`HOOK`].
    pub is_of_hook: bool,
}

const fn key(name: &'static str, is_path: bool, is_of_hook: bool) -> Key {
    Key { name, is_path, is_of_hook }
}

/// Every key, in the order of the documentation.
pub const KEYS: &[Key] = &[
    key("detector", true, true),
    key("fail-on", false, true),
    key("select", false, true),
    key("ignore", false, true),
    key("skip", false, true),
    key("task", false, false),
    key("format", false, false),
    key("model", true, false),
    key("device", false, false),
    key("dtype", false, false),
    key("threads", false, false),
    key("max-memory", false, false),
    key("offline", false, false),
    key("template", true, false),
];

/// What of the general keys the commit gate does not take over: it blocks less, and asks no model, unless its own table says so, and
/// what it says is for the person who commits.
const NOT_FOR_HOOK: [&str; 3] = ["detector", "fail-on", "format"];

/// Verbs whose options of the same name mean something else: the default for them is not a team's to choose.
const LEFT_ALONE: [(&str, &str); 6] = [
    ("doctor", "model"),
    ("demo", "model"),
    ("eval", "format"),
    ("eval", "detector"),
    ("agree", "format"),
    ("prevalence", "format"),
];

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something in it cannot be used.
    #[error("`{}` line {line}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line at fault, from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
        /// How to mend it.
        hint: String,
    },
}

impl ConfigError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Read { .. } => Some("check the path of --config".to_owned()),
            ConfigError::Content { hint, .. } => Some(hint.clone()),
        }
    }
}

/// What a file sets.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    text: String,
}

/// A key with its values, and where it stands.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    name: &'static str,
    values: Vec<String>,
    at: Range<usize>,
}

impl Config {
    /// The file that holds for a run: the one asked for, else the first from the working folder upwards to the root of its repository.
    /// Outside of a repository only the working folder counts.
    ///
    /// # Errors
    /// [`ConfigError::Read`] if there is one that cannot be read.
    pub fn find(arguments: &ArgMatches) -> Result<Option<Config>, ConfigError> {
        let asked = arguments.get_one::<PathBuf>("config").cloned();
        let path = match asked {
            Some(path) => path,
            None if arguments.get_flag("isolated") => return Ok(None),
            None => match env::current_dir().ok().and_then(|folder| found_from(&folder)) {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        let text = fs::read_to_string(&path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        Ok(Some(Config { path, text }))
    }

    /// The program with what the file sets as defaults of its options. `arguments` are what was given on the command line.
    ///
    /// # Errors
    /// [`ConfigError::Content`] for an unknown key, and for a value that its option does not take.
    pub fn into_defaults(self, mut command: Command, arguments: &ArgMatches) -> Result<Command, ConfigError> {
        let (general, of_hook) = self.settings()?;
        // keys are options of `check`, also in a program that has no such verb
        let of_check = crate::cli::verbs::command();
        for setting in general.iter().chain(&of_hook) {
            self.check(&of_check, setting)?;
        }
        let is_hook = arguments
            .subcommand_matches("check")
            .is_some_and(|check| check.value_source("hook") == Some(ValueSource::CommandLine));
        let mut chosen = general;
        if is_hook {
            chosen.retain(|setting| !NOT_FOR_HOOK.contains(&setting.name));
            chosen.retain(|setting| of_hook.iter().all(|own| own.name != setting.name));
            chosen.extend(of_hook);
        }
        let is_left_alone = |verb: &str, name: &str| LEFT_ALONE.contains(&(verb, name));
        let runs = arguments.subcommand_name().and_then(|verb| command.find_subcommand(verb));
        for setting in &chosen {
            let takes = |verb: &&Command| verb.get_arguments().any(|arg| arg.get_long() == Some(setting.name));
            if runs.filter(takes).is_some_and(|verb| !is_left_alone(verb.get_name(), setting.name)) {
                self.check_file(setting)?;
            }
        }
        for Setting { name, values, .. } in chosen {
            let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
            for verb in verbs {
                let is_left_alone = is_left_alone(&verb, name);
                command = command.mut_subcommand(verb, |verb| {
                    let id =
                        verb.get_arguments().find(|arg| arg.get_long() == Some(name)).map(|arg| arg.get_id().clone());
                    match id.filter(|_| !is_left_alone) {
                        Some(id) => verb.mut_arg(id.as_str(), |arg| arg.default_values(values.clone())),
                        None => verb,
                    }
                });
            }
        }
        Ok(command)
    }

    /// What the file sets for all, and for the commit gate.
    fn settings(&self) -> Result<(Vec<Setting>, Vec<Setting>), ConfigError> {
        let document = DeTable::parse(&self.text).map_err(|error| {
            let problem = error.message().lines().collect::<Vec<_>>().join(", ");
            self.wrong(error.span().unwrap_or_default(), problem, "write `key = value` lines (docs/config.md)")
        })?;
        let (mut general, mut of_hook) = (Vec::new(), Vec::new());
        for (name, value) in document.get_ref() {
            match value.get_ref().as_table() {
                Some(table) if name.get_ref() == HOOK => {
                    for (name, value) in table {
                        let known = KEYS.iter().filter(|key| key.is_of_hook);
                        of_hook.push(self.setting(&name.span(), name.get_ref(), value, &known.collect::<Vec<_>>())?);
                    }
                }
                Some(_) if KEYS.iter().all(|key| key.name != name.get_ref()) => {
                    let hint = did_you_mean(name.get_ref(), [HOOK])
                        .unwrap_or_else(|| format!("the one table is [{HOOK}]; keys for every verb stand above it"));
                    return Err(self.wrong(name.span(), format!("unknown table `[{}]`", name.get_ref()), hint));
                }
                _ => {
                    let known: Vec<&Key> = KEYS.iter().collect();
                    general.push(self.setting(&name.span(), name.get_ref(), value, &known)?);
                }
            }
        }
        Ok((general, of_hook))
    }

    fn setting(
        &self,
        at: &Range<usize>,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        known: &[&Key],
    ) -> Result<Setting, ConfigError> {
        let Some(key) = known.iter().find(|key| key.name == name) else {
            let names = || known.iter().map(|key| key.name);
            let hint = did_you_mean(&name.replace('_', "-"), names())
                .unwrap_or_else(|| format!("there are: {}", names().collect::<Vec<_>>().join(", ")));
            return Err(self.wrong(at.clone(), format!("unknown key `{name}`"), hint));
        };
        let scalar = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(self.beside(key, text)),
            DeValue::Integer(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(yes) => Some(yes.to_string()),
            _ => None,
        };
        let values = match value.get_ref() {
            DeValue::Array(values) => values.iter().map(|value| scalar(value.get_ref())).collect(),
            value => scalar(value).map(|value| vec![value]),
        };
        let values: Vec<String> = values.ok_or_else(|| {
            let problem = format!("`{name}` is a {}", value.get_ref().type_str());
            self.wrong(value.span(), problem, "give text, a number, true or false, or a list of them")
        })?;
        Ok(Setting { name: key.name, values, at: value.span() })
    }

    /// A path beside the file, if there is something; else the value as it is.
    fn beside(&self, key: &Key, value: &str) -> String {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        // what stands before is a name for a model
        let (name, source) =
            value.split_once('=').map_or(("", value), |(_, path)| (&value[..value.len() - path.len()], path));
        let beside = folder.join(source);
        // as on the command line, a detector that ships comes before a folder that is called so
        let ships = key.name == "detector" && (value == NO_DETECTOR || shipped::names().contains(&value));
        let is_there = key.is_path && !source.is_empty() && !ships && beside.exists();
        if is_there { format!("{name}{}", beside.display()) } else { value.to_owned() }
    }

    /// Whether the option takes the values, by the words in which it refuses them.
    fn check(&self, command: &Command, setting: &Setting) -> Result<(), ConfigError> {
        let is_flag = |values: &[String]| matches!(values, [value] if value == "true" || value == "false");
        let check = command.find_subcommand("check").expect("a verb of the program");
        let option =
            check.get_arguments().find(|arg| arg.get_long() == Some(setting.name)).expect("an option of check");
        if !option.get_action().takes_values() {
            let problem = format!("`{}` is `{}`", setting.name, setting.values.join(", "));
            let refused = || self.wrong(setting.at.clone(), problem, "give true or false");
            return is_flag(&setting.values).then_some(()).ok_or_else(refused);
        }
        let values = setting.values.iter().map(|value| format!("--{}={value}", setting.name));
        let line = ["veridiff".to_owned(), "check".to_owned()].into_iter().chain(values);
        if let Err(error) = command.clone().try_get_matches_from(line) {
            let told = error.to_string();
            let told = told.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            let told = told.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            let (problem, guess) = told
                .split_once("; did you mean")
                .map_or((&*told, None), |(problem, guess)| (problem, Some(format!("did you mean{guess}"))));
            let hint = guess.unwrap_or_else(|| "docs/config.md says what each key takes".to_owned());
            return Err(self.wrong(setting.at.clone(), problem, hint));
        }
        Ok(())
    }

    /// Whether there is what a key names, which its option looks for only when a verb runs.
    fn check_file(&self, setting: &Setting) -> Result<(), ConfigError> {
        let Some(value) = setting.values.first() else { return Ok(()) };
        let problem = match setting.name {
            "detector" if value != NO_DETECTOR => detector_called(value).err().map(|error| {
                let hint = error.downcast_ref::<UsageError>().map(|error| error.hint.clone());
                (format!("{error:#}"), hint)
            }),
            "template" if !Path::new(value).exists() => Some((format!("there is no file `{value}`"), None)),
            _ => None,
        };
        match problem {
            None => Ok(()),
            Some((problem, hint)) => {
                let hint = hint.unwrap_or_else(|| format!("a path is one beside `{}`", self.path.display()));
                Err(self.wrong(setting.at.clone(), problem, hint))
            }
        }
    }

    fn wrong(&self, at: Range<usize>, problem: impl Into<String>, hint: impl Into<String>) -> ConfigError {
        let line = 1 + self.text.as_bytes().iter().take(at.start).filter(|byte| **byte == b'\n').count();
        ConfigError::Content { path: self.path.clone(), line, problem: problem.into(), hint: hint.into() }
    }
}

/// The file in a folder, or in one above it within the same repository.
fn found_from(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    let within = folder.ancestors().take_while(|folder| folder.starts_with(root));
    within.map(|folder| folder.join(FILE)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::verbs::command;

    fn config(text: &str) -> Config {
        Config { path: PathBuf::from("at/veridiff.toml"), text: text.to_owned() }
    }

    /// The matches of a verb under a file.
    fn under(text: &str, line: &str) -> ArgMatches {
        let line: Vec<&str> = line.split(' ').collect();
        let given = command().try_get_matches_from(&line).unwrap();
        let matches = config(text).into_defaults(command(), &given).unwrap().try_get_matches_from(&line).unwrap();
        matches.subcommand().unwrap().1.clone()
    }

    fn values(matches: &ArgMatches, id: &str) -> Vec<String> {
        let raw = matches.get_raw(id).into_iter().flatten();
        raw.map(|value| value.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_a_file_sets_holds_until_the_command_line_says_otherwise() {
        let text =
            "fail-on = \"VD003\"\nselect = [\"VD001\", \"VD003\"]\noffline = true\nthreads = 2\nformat = \"sarif\"\n";
        let check = under(text, "veridiff check HEAD");
        assert_eq!(values(&check, "fail_on"), ["VD003"]);
        assert_eq!(values(&check, "select"), ["VD001", "VD003"]);
        assert!(check.get_flag("offline"));
        let check = under(text, "veridiff check HEAD --fail-on abstain --select VD002");
        assert_eq!(
            (values(&check, "fail_on"), values(&check, "select")),
            (vec!["abstain".into()], vec!["VD002".into()])
        );
        // an option that excludes another is not in its way where it is only a default
        assert!(under(text, "veridiff check HEAD --json").get_flag("json"));
        // the same option of another verb, if it means the same
        assert_eq!(values(&under(text, "veridiff score --input -"), "threads"), ["2"]);
        assert_eq!(values(&under(text, "veridiff eval --input t.csv"), "format"), ["text"]);
    }

    #[test]
    fn the_commit_gate_has_keys_of_its_own() {
        let text = "fail-on = \"abstain\"\ndetector = \"commit\"\nignore = [\"VD001\"]\n";
        let gate = "veridiff check --hook commit-msg FILE";
        let check = under(text, gate);
        assert_eq!(values(&check, "ignore"), ["VD001"]);
        assert_eq!((values(&check, "fail_on"), values(&check, "detector")), (vec![], vec![]));
        let own = format!("{text}[hook]\nfail-on = \"unsupported\"\nignore = [\"VD002\"]\n");
        let check = under(&own, gate);
        assert_eq!(
            (values(&check, "fail_on"), values(&check, "ignore")),
            (vec!["unsupported".into()], vec!["VD002".into()])
        );
        assert_eq!(values(&under(&own, "veridiff check HEAD"), "fail_on"), ["abstain"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_line_and_a_guess() {
        let refused = |text: &str| {
            let given = command().try_get_matches_from(["veridiff", "check"]).unwrap();
            let error = config(text).into_defaults(command(), &given).unwrap_err();
            (error.to_string(), error.hint().unwrap())
        };
        let at = |line: usize, rest: &str| format!("`at/veridiff.toml` line {line}: {rest}");
        let guess = |name: &str| format!("did you mean `{name}`?");
        assert_eq!(refused("# ours\nfail_on = \"abstain\""), (at(2, "unknown key `fail_on`"), guess("fail-on")));
        assert_eq!(refused("[hook]\nfailon = \"abstain\""), (at(2, "unknown key `failon`"), guess("fail-on")));
        assert!(refused("[hook]\ntask = \"review\"").1.starts_with("there are: detector, fail-on, select"));
        assert_eq!(refused("\n[hok]\nx = 1"), (at(2, "unknown table `[hok]`"), guess("hook")));
        assert!(refused("[checks]\nx = 1").1.starts_with("the one table is [hook]"));
        // what only a verb that runs would look at
        let (error, hint) = refused("select = [\"VD001\"]\nignore = [\"VD003\", \"directon\"]");
        assert!(error.starts_with(&at(2, "invalid value 'directon' for '--ignore")), "{error}");
        assert_eq!(hint, guess("direction"));
        let (error, hint) = refused("detector = \"reveiw\"");
        assert!(error.starts_with(&at(1, "`reveiw` is neither a shipped detector")), "{error}");
        assert_eq!(hint, guess("review"));
        assert!(refused("\nthreads = 0").0.ends_with("at least one is needed"));
        assert!(refused("threads = \"all\"").0.contains("give a number"));
        assert!(refused("template = \"no.txt\"").0.ends_with("there is no file `no.txt`"));
        // a verb that asks no detector may be what makes the file
        under("detector = \"ours.json\"", "veridiff fit --input t.csv --output ours.json");
        let (error, _) = refused("\n\ndevice = \"gpu\"");
        assert!(error.starts_with(&at(3, "invalid value 'gpu' for '--device")), "{error}");
        assert!(refused("offline = \"yes\"").1.contains("true or false"));
        assert!(refused("format = 1.5").0.contains("`format` is a float"));
        assert!(refused("format = \"sariff\"").0.contains("invalid value 'sariff'"));
        assert!(refused("a = 1\nb = = 2").0.starts_with(&at(2, "")));
    }

    #[test]
    fn every_key_is_an_option_of_check() {
        let program = command();
        let check = program.find_subcommand("check").unwrap();
        for key in KEYS {
            assert!(check.get_arguments().any(|arg| arg.get_long() == Some(key.name)), "{}", key.name);
        }
    }

    #[test]
    fn a_file_is_looked_for_upwards_within_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("repo/.git")).unwrap();
        fs::create_dir_all(path("repo/a/b")).unwrap();
        fs::write(path(FILE), "").unwrap();
        assert_eq!(found_from(&path("repo/a/b")), None, "not above the repository");
        fs::write(path("repo/veridiff.toml"), "").unwrap();
        assert_eq!(found_from(&path("repo/a/b")), Some(path("repo/veridiff.toml")));
        fs::write(path("repo/a/veridiff.toml"), "").unwrap();
        assert_eq!(found_from(&path("repo/a/b")), Some(path("repo/a/veridiff.toml")), "the nearest");
        // outside of a repository
        assert_eq!(found_from(folder.path()), Some(path(FILE)));
        fs::create_dir(path("other")).unwrap();
        assert_eq!(found_from(&path("other")), None);
    }

    #[test]
    fn a_path_is_one_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::write(folder.path().join("mine.json"), "{}").unwrap();
        let config =
            Config { path, text: "detector = \"mine.json\"\nmodel = [\"a=mine.json\", \"smollm2-135m\"]".into() };
        let (settings, _) = config.settings().unwrap();
        let there = folder.path().join("mine.json").display().to_string();
        let of = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap().values.clone();
        assert_eq!(of("detector"), std::slice::from_ref(&there));
        assert_eq!(of("model"), [format!("a={there}"), "smollm2-135m".to_owned()]);
    }
}
