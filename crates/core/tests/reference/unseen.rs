//! How probable a text is without its change, against the side without a diff that a sample's measurement has.

use std::path::PathBuf;

use candle_core::{DType, Device};
use veridiff_core::{families::catalogue::FeatureSet, scorer::Scorer, settings::Settings, side::PromptSide};
use veridiff_engine::files::source::{ResolveOptions, resolve};
use veridiff_text::{prompt::Template, sample::Task};

#[test]
fn it_is_the_side_without_a_diff_of_any_sample() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "fixtures", "llama_tied"].iter().collect();
    let files = resolve(&folder.display().to_string(), &ResolveOptions::default()).unwrap();
    let scorer = Scorer::load(&files, DType::F32, &Device::Cpu).unwrap();
    let features = FeatureSet::parse(&["contrast_none_logprob"]).unwrap();
    let template = Template::new("short", "Change: {diff}\nText:\n").unwrap();
    let settings = Settings { features, template: Some(template), ..Settings::default() };
    let unseen = scorer.unseen(Task::Commit, &settings).unwrap();
    for (diff, text) in [("@@ -1 +1 @@\n-a\n+b\n", "Add the reader"), ("@@ -1 +1,2 @@\n c\n+d\n", "Remove a limit")] {
        let measured = scorer.measure(diff, text, Task::Commit, &settings).unwrap();
        let [(PromptSide::NoDiff, scores)] = &measured.sides[..] else { panic!("{:?}", measured.sides) };
        let mean = scores.logprob.iter().sum::<f64>() / scores.logprob.len() as f64;
        // the same run of the same ids
        assert_eq!(unseen.log_prob(text).unwrap(), mean, "{text}");
    }
    assert!(unseen.log_prob("").is_err());
}
