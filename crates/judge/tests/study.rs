//! Studies on scripted replies in one process: cut off before any of their requests, and what they cost.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use veridiff_core::{
    families::catalogue::FeatureSet,
    run::{
        score::{Begin, ScoreRun},
        source::ColumnSource,
    },
    settings::Settings as ScoreSettings,
};
use veridiff_judge::{
    backend::{Abilities, Backend, Reply, Request, scripted::Scripted},
    cost::{Prices, Purse},
    failure::Failure,
    judge::{Judge, Settings},
    prompts::{PromptSet, Strategy},
    recorder::Recorder,
    source::JudgeSource,
    store::Store,
};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

const TABLE: &str = "t.parquet";
const JOURNAL: &str = "t.parquet.journal.jsonl";
const REPLIES: &str = "t.parquet.replies.jsonl";

fn scripted(folder: &Path, rules: &[Value]) -> Scripted {
    let path = folder.join("script.jsonl");
    fs::write(&path, rules.iter().map(|rule| format!("{rule}\n")).collect::<String>()).unwrap();
    Scripted::read(&path).unwrap()
}

fn usage(input: u64, cached_input: u64, output: u64, reasoning: u64) -> Value {
    json!({ "input": input, "cached_input": cached_input, "output": output, "reasoning": reasoning })
}

fn no_features() -> ScoreSettings {
    ScoreSettings { features: FeatureSet::parse::<&str>(&[]).unwrap(), ..ScoreSettings::default() }
}

/// A script that notes what it is asked, and before it answers copies the study's files as a kill would leave them now.
struct Witness {
    script: Scripted,
    study: PathBuf,
    copies: Option<PathBuf>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Backend for Witness {
    fn identity(&self) -> BTreeMap<String, String> {
        self.script.identity()
    }

    fn abilities(&self) -> Abilities {
        self.script.abilities()
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        let mut asked = self.asked.lock().unwrap();
        if let Some(copies) = &self.copies {
            let copy = copies.join(asked.len().to_string());
            fs::create_dir(&copy).unwrap();
            for name in [JOURNAL, REPLIES] {
                fs::copy(self.study.join(name), copy.join(name)).unwrap();
            }
        }
        asked.push(request.key("complete", &self.identity()));
        self.script.complete(request)
    }
}

/// Four texts by two strategies, twice each; some replies are not readable or too short at first, and one does not say its tokens.
fn study(folder: &Path, copies: Option<&Path>) -> Vec<String> {
    let verdict = json!({ "content": r#"{"explanation": "so", "answer": 2}"#, "usage": usage(100, 40, 10, 4) });
    let cut = json!({ "content": r#"{"explanation": "#, "finish": "length", "usage": usage(100, 0, 10, 0) });
    let script = scripted(
        folder,
        &[
            json!({ "all": ["Number 1 ", "branch_a"], "replies": ["I would say three.", verdict] }),
            json!({ "all": ["Number 2 "], "replies": [cut, "none", verdict] }),
            json!({ "replies": [verdict] }),
        ],
    );
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let copies = copies.map(Path::to_owned);
    let witness = Box::new(Witness { script, study: folder.to_owned(), copies, asked: asked.clone() });
    let store = Arc::new(Store::open(&folder.join(REPLIES)).unwrap());
    let prices: Prices = toml::from_str("input = 2\ncached_input = 0.5\noutput = 12").unwrap();
    let recorder = Recorder::new("j", witness, store, Purse::new(Some(prices), None).unwrap()).unwrap();
    let settings = Settings {
        strategies: vec![Strategy::Direct, Strategy::Tree],
        repeats: 2,
        temperature: 0.7,
        ..Settings::default()
    };
    let judge = Arc::new(Judge::new(recorder, PromptSet::builtin(), settings).unwrap());
    let sample =
        |i: usize| Sample::new(&format!("s{i}"), "@@ -1 +1 @@\n-x = 1\n+x = 2\n", &format!("Number {i} it is."));
    let samples = (0..4).map(|i| (i, sample(i))).collect();
    let run = ScoreRun::new(samples, vec![Box::new(JudgeSource::new(judge, 1))], no_features(), None);
    assert_eq!(run.write(&folder.join(TABLE), Begin::Resume, &mut ()).unwrap().n_failed, 0);
    std::mem::take(&mut asked.lock().unwrap())
}

/// Cut off before each of its requests, a study asks for the rest alone, and its table is the unbroken one's to the byte.
#[test]
fn a_study_cut_off_before_any_request_asks_for_the_rest_alone() {
    let (whole, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let asked = study(whole.path(), Some(copies.path()));
    // 16, one more for each of two, and two more for each of four
    assert_eq!(asked.len(), 26);
    let table = fs::read(whole.path().join(TABLE)).unwrap();
    for k in 0..asked.len() {
        let left = copies.path().join(k.to_string());
        // and while its last reply was written, which was of no row yet
        let torn = copies.path().join(format!("{k}-torn"));
        fs::create_dir(&torn).unwrap();
        let replies = fs::read(left.join(REPLIES)).unwrap();
        let last = replies[..replies.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        fs::write(torn.join(REPLIES), &replies[..(last + replies.len()) / 2]).unwrap();

        assert_eq!(study(&left, None), asked[k..], "{k}");
        assert_eq!(study(&torn, None), asked[k.saturating_sub(1)..], "{k}, torn");
        for folder in [left, torn] {
            assert!(fs::read(folder.join(TABLE)).unwrap() == table, "{k}: another table in {}", folder.display());
        }
    }
    // when all is answered, nothing is asked
    fs::remove_file(whole.path().join(TABLE)).unwrap();
    assert!(study(whole.path(), None).is_empty());
    assert!(fs::read(whole.path().join(TABLE)).unwrap() == table);
}

/// The columns of one sample whose replies are these, by these prices.
fn columns(replies: &[Value], prices: Option<&str>) -> Row {
    let folder = tempfile::tempdir().unwrap();
    let script = Box::new(scripted(folder.path(), &[json!({ "replies": replies })]));
    let purse = Purse::new(prices.map(|prices| toml::from_str(prices).unwrap()), None).unwrap();
    let recorder = Recorder::new("j", script, Arc::new(Store::in_memory()), purse).unwrap();
    let judge = Arc::new(Judge::new(recorder, PromptSet::builtin(), Settings::default()).unwrap());
    let sample = Sample::new("a", "@@ -1 +1 @@\n-x = 1\n+x = 2\n", "`x` is 2 now.");
    let mut row = Row::new();
    let mut done = |_, part| {
        row = part;
        ControlFlow::Continue(())
    };
    JudgeSource::new(judge, 1).columns(&[&sample], &no_features(), &mut done).unwrap();
    row
}

#[test]
fn attempts_that_failed_are_paid_for_and_what_is_not_known_is_no_zero() {
    const PRICES: &str = "input = 2\ncached_input = 0.5\noutput = 12";
    let bad = json!({ "content": "three", "usage": usage(1000, 400, 90, 64) });
    let good = json!({ "content": r#"{"answer": 3}"#, "usage": usage(1100, 1000, 20, 0) });
    let refused = json!({ "content": "", "refusal": "no", "usage": usage(10, 0, 5, 0) });
    let [silent, unread] = [r#"{"answer": 3}"#, "three"].map(|content| json!(content));
    // 600 fresh, 400 cached, 90 out, in which reasoning is: 1200 + 200 + 1080 millionths; then 200 + 500 + 240
    let cases = [
        ("a retry", vec![&bad, &good], Some(PRICES), json!(0.00342), json!([2, 2100, 1400, 110, 64])),
        ("three bad ones", vec![&bad], Some(PRICES), json!(0.00744), json!([3, 3000, 1200, 270, 192])),
        ("a refusal", vec![&refused], Some(PRICES), json!(0.00008), json!([1, 10, 0, 5, 0])),
        (
            "cached at the price of input",
            vec![&bad, &good],
            Some("input = 2\noutput = 12"),
            json!(0.00552),
            json!([2, 2100, 1400, 110, 64]),
        ),
        ("free", vec![&bad, &good], Some("input = 0\noutput = 0"), json!(0.0), json!([2, 2100, 1400, 110, 64])),
        ("no price", vec![&bad, &good], None, Value::Null, json!([2, 2100, 1400, 110, 64])),
        ("one that does not say", vec![&bad, &silent], Some(PRICES), Value::Null, json!([2, null, null, null, null])),
        (
            "one before that does not say",
            vec![&unread, &good],
            Some(PRICES),
            Value::Null,
            json!([2, null, null, null, null]),
        ),
    ];
    for (what, replies, prices, cost, counts) in cases {
        let replies: Vec<Value> = replies.into_iter().cloned().collect();
        let row = columns(&replies, prices);
        let of = |column: &str| row[&format!("{column}@j")].clone();
        let said = ["n_judge_replies", "n_judge_in", "n_judge_cached", "n_judge_out", "n_judge_reasoning"].map(of);
        assert_eq!((of("judge_cost"), json!(said)), (cost, counts), "{what}");
    }
}
